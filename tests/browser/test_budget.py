"""What the first page costs: its code, compressed, and that nobody but the service is asked for it."""

from __future__ import annotations

import gzip

import pytest
from playwright.sync_api import Response, expect

from tests.api.serving import Service
from tests.browser.views import settle
from tests.browser.visitor import Visitor

# Of gzip at its usual level; the service sends what is smaller where a browser takes it.
_MOST_BYTES = 350_000


@pytest.mark.parametrize("view", ["", "launch", "runs", "runs/{run}", "compare", "papers", "lab"])
def test_a_page_that_is_the_first_has_little_code(visitor: Visitor, kept: Service, view: str) -> None:
    page = visitor.page
    code: dict[str, int] = {}

    def came(answer: Response) -> None:
        if answer.request.resource_type == "script":
            code[answer.url] = len(gzip.compress(answer.body(), 6))

    visitor.enters("admin")
    page.on("response", came)
    visitor.opens(view.format(run=kept.run))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    assert code
    assert sum(code.values()) < _MOST_BYTES, code
