"""Every view: accessibility (axe-core), fit on a phone and at twice the size, and no layout shift while it loads."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from playwright.sync_api import Browser, CDPSession, Page, Route, ViewportSize, expect

from tests.browser.axe import breaches
from tests.browser.views import EMPTY, FULL, settle, submit_all, wait_for_all
from tests.browser.visitor import DESK, PHONE, Visitor
from tests.support.service import Service, served

# Twice the size on a screen of 1280 by 800.
_ZOOMED: ViewportSize = {"width": 640, "height": 400}
_MOST_SHIFT = 0.02
# Layout shifts without user input.
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
    """A service, the names in the addresses of its views, its viewers, and the texts of the views seen so far."""

    service: Service
    names: dict[str, str]
    viewers: list[Viewer]
    seen: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Viewer:
    """A logged-in browser, on a desktop or a phone, without cached data."""

    visitor: Visitor
    viewport: ViewportSize
    browser: CDPSession

    @classmethod
    @contextlib.contextmanager
    def comes(cls, browser: Browser, service: Service, viewport: ViewportSize, **options: Any) -> Iterator[Viewer]:
        with Visitor.comes(browser, service, viewport=viewport, **options) as visitor:
            visitor.enters("admin")
            visitor.page.add_init_script(_WATCH_SHIFTS)
            yield cls(visitor, viewport, visitor.page.context.new_cdp_session(visitor.page))

    def opens(self, view: str) -> Page:
        """Open a view as on the first visit: without cached code and drafts, but with the session."""
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

    def has_no_faults(self) -> None:
        """Check that the console has no errors."""
        faults, self.visitor.faults[:] = list(self.visitor.faults), []
        assert faults == [], faults


@pytest.fixture(scope="module")
def filling(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, dict[str, str]]]:
    """A lab whose runs are simulated while the empty views are tested."""
    with served(tmp_path_factory.mktemp("views") / "home") as service:
        yield service, submit_all(service)


@pytest.fixture(scope="module")
def bare(
    tmp_path_factory: pytest.TempPathFactory, browser: Browser, filling: tuple[Service, dict[str, str]]
) -> Iterator[Lab]:
    """A lab without runs."""
    with served(tmp_path_factory.mktemp("bare") / "home") as service, _viewers(browser, service) as viewers:
        yield Lab(service, {}, viewers)


@pytest.fixture(scope="module")
def full(browser: Browser, filling: tuple[Service, dict[str, str]]) -> Iterator[Lab]:
    """The lab with all of its runs."""
    service, made = filling
    with _viewers(browser, service) as viewers:
        yield Lab(service, wait_for_all(service, made), viewers)


@contextlib.contextmanager
def _viewers(browser: Browser, service: Service) -> Iterator[list[Viewer]]:
    with (
        Viewer.comes(browser, service, DESK) as at_a_desk,
        Viewer.comes(browser, service, PHONE, has_touch=True, is_mobile=True) as with_a_phone,
    ):
        yield [at_a_desk, with_a_phone]


@pytest.mark.parametrize("view", EMPTY)
def test_empty_view_is_accessible_and_stable(bare: Lab, view: str) -> None:
    _check_view(bare, EMPTY[view])


@pytest.mark.parametrize("view", FULL)
def test_full_view_is_accessible_and_stable(full: Lab, view: str) -> None:
    _check_view(full, FULL[view])


@pytest.mark.parametrize("view", ["launch?from=demo", "launch?from=quick"])
def test_a_late_preview_moves_nothing(full: Lab, view: str) -> None:
    """The numbers and the diagram come long after the form, as on a busy service."""
    found = []
    for viewer in full.viewers:
        viewer.visitor.page.route("**/plans/preview", _answer_late)
        found += [(viewer.viewport["width"], *one) for one in _shifted(viewer.opens(view))]
        viewer.visitor.page.unroute("**/plans/preview")
    assert found == [], _lines(found)


def _answer_late(route: Route) -> None:
    time.sleep(1.5)
    route.continue_()


def test_dialogs_and_menus_are_accessible(browser: Browser, full: Lab) -> None:
    """The list of shortcuts, the menu of the user, and the login page."""
    with Visitor.comes(browser, full.service) as visitor:
        page = visitor.page
        visitor.opens()
        expect(page.get_by_label("Token")).to_be_visible()
        found = breaches(page)
        visitor.shows_token(full.service.tokens["admin"])
        page.get_by_label("first, scope admin").click()
        found += breaches(page)
        page.get_by_role("button", name="Keyboard shortcuts").click()
        expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
        found += breaches(page)
        page.keyboard.press("Escape")
        visitor.opens("launch")
        settle(page)
        page.keyboard.press("p")
        expect(page.get_by_role("dialog")).to_be_visible()
        settle(page)
        found += breaches(page)
    assert found == [], _lines(found)


def _check_view(lab: Lab, view: str) -> None:
    found: list[Any] = []
    for viewer in lab.viewers:
        page = viewer.opens(view.format(**lab.names))
        found += _shifted(page)
        found += breaches(page)
        viewer.visitor.chooses("dark")
        found += breaches(page, "color-contrast")
        found += _too_wide(page, "as it is")
        if viewer.viewport == DESK:
            # The page shows another view if it does not know the address, so no two views have the same text.
            assert lab.seen.setdefault(page.get_by_role("main").inner_text(), view) == view
            page.set_viewport_size(_ZOOMED)
            found += _too_wide(page, "at twice the size")
        viewer.has_no_faults()
    assert found == [], _lines(found)


def _shifted(page: Page) -> list[Any]:
    shifts: list[Any] = page.evaluate("window.shifts")
    return shifts if sum(value for value, _ in shifts) > _MOST_SHIFT else []


def _too_wide(page: Page, how: str) -> list[Any]:
    wide, room = page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
    return [f"{how}: {wide} px wide where there are {room}"] if wide > room else []


def _lines(found: list[Any]) -> str:
    return "\n".join(str(one) for one in found)
