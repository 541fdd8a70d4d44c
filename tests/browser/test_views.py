"""Every view is fit for everybody: what axe finds, how it fits a phone and twice the size, and that nothing jumps while it comes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, expect

from tests.api.serving import Service, served
from tests.browser.views import EMPTY, FULL, furnish, settle
from tests.browser.visitor import DESK, PHONE, Visitor

_AXE = Path(__file__).resolve().parents[2] / "dashboards/web/node_modules/axe-core/axe.min.js"
_RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
_SERIOUS = ("serious", "critical")
_RUN_AXE = """async (only) => {
    const found = await axe.run(document, { runOnly: only, resultTypes: ["violations"] });
    return found.violations.map(({ id, impact, nodes }) => ({ id, impact, where: nodes.map((node) => node.html.slice(0, 160)) }));
}"""
# Twice the size on a screen of 1280 by 800.
_ZOOMED: ViewportSize = {"width": 640, "height": 400}
_MOST_SHIFT = 0.02
# What moved without anybody having pressed anything.
_WATCH_SHIFTS = """
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const one of list.getEntries()) {
            if (!one.hadRecentInput) window.shifts.push([one.value, one.sources.map((source) => String(source.node?.outerHTML ?? source.node?.nodeName).slice(0, 120))]);
        }
    }).observe({ type: "layout-shift", buffered: true });
"""


@dataclass(frozen=True)
class Lab:
    """A service, what addresses of its views name, and what was read in those that were looked at."""

    service: Service
    names: dict[str, str]
    read: dict[str, str] = field(default_factory=dict)


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A lab with runs."""
    with served(tmp_path_factory.mktemp("views") / "home") as service:
        yield Lab(service, furnish(service))


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """One without."""
    with served(tmp_path_factory.mktemp("bare") / "home") as service:
        yield Lab(service, {})


@pytest.mark.parametrize("view", FULL)
def test_a_view_is_fit_for_everybody(browser: Browser, full: Lab, view: str) -> None:
    _is_fit(browser, full, FULL[view])


@pytest.mark.parametrize("view", EMPTY)
def test_a_view_of_nothing_is_too(browser: Browser, bare: Lab, view: str) -> None:
    _is_fit(browser, bare, EMPTY[view])


def test_what_lies_over_a_page_is_too(browser: Browser, full: Lab) -> None:
    """The sheet of keys, the menu behind the name, and logging in."""
    with Visitor.comes(browser, full.service) as visitor:
        page = visitor.page
        visitor.opens()
        expect(page.get_by_label("Token")).to_be_visible()
        found = _axe(page)
        visitor.shows_token(full.service.tokens["admin"])
        page.get_by_label("first, scope admin").click()
        found += _axe(page)
        page.get_by_role("button", name="Keys").click()
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        found += _axe(page)
        page.keyboard.press("Escape")
        visitor.opens("launch")
        settle(page)
        page.keyboard.press("p")
        expect(page.get_by_role("dialog")).to_be_visible()
        settle(page)
        found += _axe(page)
    assert found == [], _lines(found)


def _is_fit(browser: Browser, lab: Lab, view: str) -> None:
    found: list[Any] = []
    for told in ({"viewport": DESK}, {"viewport": PHONE, "has_touch": True, "is_mobile": True}):
        with Visitor.comes(browser, lab.service, **told) as visitor:
            page = visitor.page
            visitor.enters("admin")
            page.add_init_script(_WATCH_SHIFTS)
            visitor.opens(view.format(**lab.names))
            expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
            settle(page)
            found += _shifted(page)
            found += _axe(page)
            visitor.chooses("dark")
            found += _axe(page, "color-contrast")
            found += _too_wide(page, "as it is")
            if told["viewport"] == DESK:
                # An address that the page does not understand shows what another one does.
                assert lab.read.setdefault(page.get_by_role("main").inner_text(), view) == view
                page.set_viewport_size(_ZOOMED)
                found += _too_wide(page, "at twice the size")
    assert found == [], _lines(found)


def _axe(page: Page, *rules: str) -> list[Any]:
    if not page.evaluate("'axe' in window"):
        # Not as a script of the page, whose policy allows none but its own.
        page.evaluate(f"{_AXE.read_text()}; undefined")
    found: list[Any] = page.evaluate(_RUN_AXE, list(rules or _RULES))
    return [one for one in found if one["impact"] in _SERIOUS]


def _shifted(page: Page) -> list[Any]:
    shifts: list[Any] = page.evaluate("window.shifts")
    return shifts if sum(value for value, _ in shifts) > _MOST_SHIFT else []


def _too_wide(page: Page, how: str) -> list[Any]:
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return [f"{how}: {wide} px wide where there are {room}"] if wide > room else []


def _lines(found: list[Any]) -> str:
    return "\n".join(str(one) for one in found)
