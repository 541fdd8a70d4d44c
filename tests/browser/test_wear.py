"""Wear and tear: a service that is away, an upgrade under a page that is open, tabs that nobody sees."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, expect

from tests.browser.test_watch import LONG, front_s, run_of, wait_until
from tests.browser.upgrading import upgradable
from tests.browser.visitor import PATIENCE_MS, Visitor
from tests.support.service import ROOT, Service

_SEEN = """(seen) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => !seen });
    Object.defineProperty(document, "visibilityState", { configurable: true, get: () => (seen ? "visible" : "hidden") });
    document.dispatchEvent(new Event("visibilitychange"));
}"""


def test_a_page_that_is_opened_while_the_service_is_away_comes_when_it_is_back(
    visitor: Visitor, service: Service
) -> None:
    page = visitor.page
    visitor.logs_in("read", "compare")
    with service.away():
        page.get_by_role("link", name="Papers", exact=True).click()
        expect(page.get_by_role("banner").get_by_role("status")).to_contain_text("Service away")
        # Told once, there.
        expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("banner").get_by_role("status")).to_have_text("")
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_page_that_is_older_than_the_service_says_so(browser: Browser, service: Service, tmp_path: Path) -> None:
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
        # The browser says what it asked for in vain.
        visitor.faults[:] = [fault for fault in visitor.faults if "Refused to apply style" not in fault]


def test_a_page_that_nobody_sees_follows_nothing_and_loses_nothing(visitor: Visitor, service: Service) -> None:
    """No tab of this browser is ever out of sight: the page is told so, as a browser tells it."""
    page = visitor.page
    opened: set[Request] = set()
    page.on("request", lambda one: opened.add(one) if one.headers.get("accept") == "text/event-stream" else None)
    page.on("requestfinished", lambda one: opened.discard(one))
    page.on("requestfailed", lambda one: opened.discard(one))
    made = service.submit({"spec": LONG})
    run = run_of(made)
    try:
        visitor.enters("run")
        visitor.opens(f"runs/{run}")
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
        with service.client("run") as client:
            client.post(f"{ROOT}/experiments/{made['id']}/cancel")
    service.wait(made["id"])


def wait_for(page: Page, holds: Callable[[], bool]) -> None:
    """Let the browser go on until it does."""
    until_s = time.monotonic() + PATIENCE_MS / 1000
    while not holds():
        assert time.monotonic() < until_s
        page.wait_for_timeout(50)
