"""What the first page costs: its code, compressed, that nobody but the service is asked for it, and that a phone is not sent the editor."""

from __future__ import annotations

import gzip

import pytest
from playwright.sync_api import Page, Response, expect

from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.service import Service

# Of gzip at its usual level; the service sends what is smaller where a browser takes it.
_MOST_BYTES = 350_000
_MOST_BYTES_ON_A_PHONE = 200_000


@pytest.mark.parametrize("view", ["", "launch", "runs", "runs/{run}", "compare", "papers", "lab"])
def test_a_page_that_is_the_first_has_little_code(visitor: Visitor, kept: Service, view: str) -> None:
    page = visitor.page
    visitor.enters("admin")
    code = _counted(page)
    visitor.opens(view.format(run=kept.run))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    assert code
    assert sum(code.values()) < _MOST_BYTES, code


def test_a_phone_is_sent_the_editor_when_one_turns_to_the_text(passer_by: Visitor) -> None:
    page = passer_by.page
    passer_by.enters("run")
    code = _counted(page)
    passer_by.opens("launch")
    expect(page.get_by_label("Duration")).to_be_visible()
    settle(page)
    assert sum(code.values()) < _MOST_BYTES_ON_A_PHONE, code
    before = set(code)
    page.get_by_text("Text", exact=True).click()
    expect(page.locator(".cm-editor")).to_be_visible()
    assert any("codemirror" in one for one in set(code) - before)


def _counted(page: Page) -> dict[str, int]:
    """From now on: the scripts that come, with their bytes."""
    code: dict[str, int] = {}

    def came(answer: Response) -> None:
        if answer.request.resource_type == "script":
            code[answer.url] = len(gzip.compress(answer.body(), 6))

    page.on("response", came)
    return code
