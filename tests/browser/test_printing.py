"""A run on paper, and its report as one file."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service


def test_a_printed_run_has_its_content_and_no_controls(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("run", f"runs/{kept.run}")
    expect(page.get_by_role("table", name="Flows")).to_be_visible()
    page.emulate_media(media="print", color_scheme="dark")
    expect(page.get_by_role("navigation", name="Pages")).to_be_hidden()
    expect(page.get_by_role("button").locator("visible=true")).to_have_count(0)
    expect(page.get_by_role("table", name="Flows")).to_be_visible()
    expect(page.get_by_role("figure", name="Congestion window")).to_be_visible()
    # Dark text on paper, also of a reader with the dark theme.
    colour = page.evaluate("getComputedStyle(document.body).color")
    assert max(map(int, re.findall(r"\d+", colour)[:3])) < 100, colour


def test_the_report_of_a_run_is_one_file(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("read", f"runs/{kept.run}")
    href = page.get_by_role("link", name="Report", exact=True).get_attribute("href")
    assert href is not None and href.endswith(f"{ROOT}/runs/{kept.run}/report")
    answer = page.request.get(f"{kept.url}{href}")
    assert answer.ok and kept.run in answer.text()
    assert not re.search(r"""(src|href)=["']?(https?:|/)""", answer.text())
