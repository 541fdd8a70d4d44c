"""The size of the first page's code, compressed; a phone does not load the editor."""

from __future__ import annotations

import gzip
import re

import pytest
from playwright.sync_api import Browser, Page, Response, Route, expect

from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service

# With gzip at its default level; the service sends a smaller encoding to browsers that accept one.
_MOST_BYTES = 350_000
_MOST_BYTES_ON_A_PHONE = 200_000


@pytest.mark.parametrize("view", ["", "launch", "runs", "runs/{run}", "compare", "papers", "lab"])
def test_first_page_stays_within_its_budget(visitor: Visitor, kept: Service, view: str) -> None:
    page = visitor.page
    visitor.enters("admin")
    scripts = _scripts(page)
    visitor.opens(view.format(run=kept.run))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    code = _sizes(scripts)
    assert code
    assert sum(code.values()) < _MOST_BYTES, code


def test_phone_loads_the_editor_only_with_the_text(phone: Visitor) -> None:
    page = phone.page
    phone.enters("run")
    scripts = _scripts(page)
    phone.opens("launch")
    expect(page.get_by_label("Duration")).to_be_visible()
    settle(page)
    code = _sizes(scripts)
    assert sum(code.values()) < _MOST_BYTES_ON_A_PHONE, code
    before = set(code)
    page.get_by_text("Text", exact=True).click()
    expect(page.locator(".cm-editor")).to_be_visible()
    assert any("codemirror" in one for one in {script.url for script in scripts} - before)


def test_a_skeleton_is_shown_before_the_code_arrives(browser: Browser, service: Service) -> None:
    with Visitor.comes(browser, service) as visitor:
        page = visitor.page
        visitor.enters("read")
        held: list[Route] = []

        def hold(route: Route) -> None:
            held.append(route)

        page.route(re.compile(r"/assets/index-.*\.js"), hold)
        page.goto(f"{service.url}/#/runs", wait_until="commit")
        expect(page.get_by_text("Loading Longhaul")).to_be_attached()
        head = page.locator(".early-header")
        expect(head).to_have_css("min-height", "48px")
        height = head.bounding_box()
        assert held
        for route in held:
            route.continue_()
        page.unroute_all()
        expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
        header = page.get_by_role("banner").bounding_box()
        assert height is not None and header is not None and height["height"] == pytest.approx(header["height"], abs=1)


@pytest.mark.parametrize("view", ["", "runs", "runs/{run}", "launch"])
def test_the_first_requests_are_sent_with_the_code_and_only_once(visitor: Visitor, kept: Service, view: str) -> None:
    page = visitor.page
    visitor.enters("read")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(kept.url)))
    visitor.opens(view.format(run=kept.run))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    early = {f"{ROOT}/session"}
    if "{run}" in view:
        own = f"{ROOT}/runs/{kept.run}"
        early |= {own, f"{own}/outline", *(url for url in asked if url.startswith(f"{own}/timelines"))}
        assert len(early) == 4
    if view == "":
        early |= {f"{ROOT}/experiments?limit=8", f"{ROOT}/reproductions"}
    if view == "runs":
        early |= {f"{ROOT}/runs?limit=60&sort=newest&total=true"}
    assert {url: asked.count(url) for url in early} == dict.fromkeys(early, 1)


def _scripts(page: Page) -> list[Response]:
    """The scripts that load from now on. Their bodies are read later: a handler that waits for one is behind the page."""
    scripts: list[Response] = []
    page.on("response", lambda answer: scripts.append(answer) if answer.request.resource_type == "script" else None)
    return scripts


def _sizes(scripts: list[Response]) -> dict[str, int]:
    """Their compressed bytes, by address."""
    return {script.url: len(gzip.compress(script.body(), 6)) for script in scripts}
