"""The size of the first page's code, compressed; a phone does not load the editor."""

from __future__ import annotations

import gzip

import pytest
from playwright.sync_api import Page, Response, expect

from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.service import Service

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


def _scripts(page: Page) -> list[Response]:
    """The scripts that load from now on. Their bodies are read later: a handler that waits for one is behind the page."""
    scripts: list[Response] = []
    page.on("response", lambda answer: scripts.append(answer) if answer.request.resource_type == "script" else None)
    return scripts


def _sizes(scripts: list[Response]) -> dict[str, int]:
    """Their compressed bytes, by address."""
    return {script.url: len(gzip.compress(script.body(), 6)) for script in scripts}
