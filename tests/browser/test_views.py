"""Every view is fit for everybody: what axe finds, how it fits a phone and twice the size, and that nothing jumps while it comes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, ViewportSize, expect

from tests.browser.axe import breaches
from tests.browser.views import EMPTY, FULL, furnished, hand_in, settle
from tests.browser.visitor import DESK, PHONE, Visitor
from tests.support.service import Service, served

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
    """A service, what addresses of its views name, who looks at them, and what was read in those that were looked at."""

    service: Service
    names: dict[str, str]
    lookers: list[Looker]
    read: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Looker:
    """Somebody who is logged in, at a desk or with a phone, and knows nothing of what they saw before."""

    visitor: Visitor
    viewport: ViewportSize
    browser: CDPSession

    @classmethod
    @contextlib.contextmanager
    def comes(cls, browser: Browser, service: Service, viewport: ViewportSize, **told: Any) -> Iterator[Looker]:
        with Visitor.comes(browser, service, viewport=viewport, **told) as visitor:
            visitor.enters("admin")
            visitor.page.add_init_script(_WATCH_SHIFTS)
            yield cls(visitor, viewport, visitor.page.context.new_cdp_session(visitor.page))

    def opens(self, view: str) -> Page:
        """As on the first visit: nothing is kept, neither code nor drafts, but who one is."""
        page = self.visitor.page
        page.goto("about:blank")
        page.set_viewport_size(self.viewport)
        self.visitor.chooses("light")
        self.browser.send("Network.clearBrowserCache")
        kept = {"origin": self.visitor.service.url, "storageTypes": "local_storage"}
        self.browser.send("Storage.clearDataForOrigin", kept)
        self.visitor.opens(view)
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        settle(page)
        return page

    def is_content(self) -> None:
        """Nothing went wrong behind the view."""
        faults, self.visitor.faults[:] = list(self.visitor.faults), []
        assert faults == [], faults


@pytest.fixture(scope="module")
def filling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, dict[str, str]]]:
    """A lab of which the runs are computed, beside what is looked at first."""
    with served(tmp_path_factory.mktemp("views") / "home") as service:
        yield service, hand_in(service)


@pytest.fixture(scope="module")
def bare(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, filling: tuple[Service, dict[str, str]]
) -> Iterator[Lab]:
    """One without runs."""
    with served(tmp_path_factory.mktemp("bare") / "home") as service, _lookers(browser, service) as lookers:
        yield Lab(service, {}, lookers)


@pytest.fixture(scope="module")
def full(browser: Browser, filling: tuple[Service, dict[str, str]]) -> Iterator[Lab]:
    """The lab with all of its runs."""
    service, made = filling
    with _lookers(browser, service) as lookers:
        yield Lab(service, furnished(service, made), lookers)


@contextlib.contextmanager
def _lookers(browser: Browser, service: Service) -> Iterator[list[Looker]]:
    with (
        Looker.comes(browser, service, DESK) as at_a_desk,
        Looker.comes(browser, service, PHONE, has_touch=True, is_mobile=True) as with_a_phone,
    ):
        yield [at_a_desk, with_a_phone]


@pytest.mark.parametrize("view", EMPTY)
def test_a_view_of_nothing_is_fit_for_everybody(bare: Lab, view: str) -> None:
    _is_fit(bare, EMPTY[view])


@pytest.mark.parametrize("view", FULL)
def test_a_view_is_too(full: Lab, view: str) -> None:
    _is_fit(full, FULL[view])


def test_what_lies_over_a_page_is_too(browser: Browser, full: Lab) -> None:
    """The sheet of keys, the menu behind the name, and logging in."""
    with Visitor.comes(browser, full.service) as visitor:
        page = visitor.page
        visitor.opens()
        expect(page.get_by_label("Token")).to_be_visible()
        found = breaches(page)
        visitor.shows_token(full.service.tokens["admin"])
        page.get_by_label("first, scope admin").click()
        found += breaches(page)
        page.get_by_role("button", name="Keys").click()
        expect(page.get_by_role("dialog", name="Keys")).to_be_visible()
        found += breaches(page)
        page.keyboard.press("Escape")
        visitor.opens("launch")
        settle(page)
        page.keyboard.press("p")
        expect(page.get_by_role("dialog")).to_be_visible()
        settle(page)
        found += breaches(page)
    assert found == [], _lines(found)


def _is_fit(lab: Lab, view: str) -> None:
    found: list[Any] = []
    for looker in lab.lookers:
        page = looker.opens(view.format(**lab.names))
        found += _shifted(page)
        found += breaches(page)
        looker.visitor.chooses("dark")
        found += breaches(page, "color-contrast")
        found += _too_wide(page, "as it is")
        if looker.viewport == DESK:
            # An address that the page does not understand shows what another one does.
            assert lab.read.setdefault(page.get_by_role("main").inner_text(), view) == view
            page.set_viewport_size(_ZOOMED)
            found += _too_wide(page, "at twice the size")
        looker.is_content()
    assert found == [], _lines(found)


def _shifted(page: Page) -> list[Any]:
    shifts: list[Any] = page.evaluate("window.shifts")
    return shifts if sum(value for value, _ in shifts) > _MOST_SHIFT else []


def _too_wide(page: Page, how: str) -> list[Any]:
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return [f"{how}: {wide} px wide where there are {room}"] if wide > room else []


def _lines(found: list[Any]) -> str:
    return "\n".join(str(one) for one in found)
