"""A page that is open for long: the service away, an upgrade, hidden tabs."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, expect

from tests.browser.test_watch import LONG, front_s, run_of, wait_until
from tests.browser.upgrading import upgradable
from tests.browser.visitor import PATIENCE_MS, Visitor
from tests.support.service import Service

_SEEN = """(seen) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => !seen });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (seen ? "visible" : "hidden") });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_page_that_is_opened_while_the_service_is_away_loads_when_it_is_back(
    visitor: Visitor, service: Service
) -> None:
    page = visitor.logs_in("read", "compare")
    with service.away():
        page.get_by_role("link", name="Papers", exact=True).click()
        expect(page.get_by_role("banner").get_by_role("status")).to_contain_text("Service away")
        # Only the header reports it.
        expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("banner").get_by_role("status")).to_have_text("")
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_action_while_the_service_is_away_is_reported_once(visitor: Visitor, service: Service) -> None:
    page = visitor.page
    run = run_of(service.submit({"spec": LONG | {"experiment": "unsent"}}))
    visitor.logs_in("admin", f"runs/{run}")
    wait_until(page, 1)
    with service.away():
        expect(page.get_by_role("banner").get_by_role("status")).to_contain_text("Service away")
        top = page.get_by_role("figure", name="Congestion window").bounding_box()
        page.get_by_role("button", name="Cancel").click()
        page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
        expect(page.get_by_text("Not sent.")).to_be_visible()
        expect(
            page.get_by_text(re.compile("service away|cannot be reached|reconnecting", re.IGNORECASE))
        ).to_have_count(1)
        expect(page.get_by_role("alert")).to_have_count(0)
        moved = page.get_by_role("figure", name="Congestion window").bounding_box()
        assert top is not None and moved is not None and moved["y"] - top["y"] < 60
    # Nothing of it is left, and the action can be repeated.
    expect(page.get_by_text("Not sent.")).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")


def test_page_older_than_the_service_offers_to_reload(browser: Browser, service: Service, tmp_path: Path) -> None:
    with upgradable(tmp_path) as other, Visitor.comes(browser, service, at=other.url) as visitor:
        page = visitor.page
        visitor.opens("compare", at=other.url)
        visitor.shows_token(other.token)
        expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
        other.upgrade()
        page.get_by_role("link", name="Papers", exact=True).click()
        expect(page.get_by_role("alert")).to_contain_text("Longhaul was upgraded")
        page.get_by_role("banner").get_by_role("button", name="Longhaul was upgraded: reload").click()
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
        assert page.url.endswith("#/papers")
        # The browser logs the missing file.
        visitor.faults[:] = [fault for fault in visitor.faults if "Refused to apply style" not in fault]


def test_hidden_page_stops_streaming_and_loses_no_samples(visitor: Visitor, service: Service) -> None:
    """Tabs of this browser are never hidden, so the test simulates the browser's events."""
    page = visitor.page
    opened: set[Request] = set()
    page.on("request", lambda one: opened.add(one) if one.headers.get("accept") == "text/event-stream" else None)
    page.on("requestfinished", lambda one: opened.discard(one))
    page.on("requestfailed", lambda one: opened.discard(one))
    made = service.submit({"spec": LONG})
    run = run_of(made)
    try:
        visitor.enters("run", f"runs/{run}")
        wait_until(page, 1.0)
        assert opened
        page.evaluate(_SEEN, False)
        wait_for(page, lambda: not opened)
        before_s = front_s(page)
        page.wait_for_timeout(1000)
        assert (front_s(page), opened) == (before_s, set())
        page.evaluate(_SEEN, True)
        wait_until(page, before_s + 2.0)
        assert opened
    finally:
        service.cancel(made["id"])


def wait_for(page: Page, condition: Callable[[], bool]) -> None:
    """Run the browser until the condition is true."""
    until_s = time.monotonic() + PATIENCE_MS / 1000
    while not condition():
        assert time.monotonic() < until_s
        page.wait_for_timeout(50)
