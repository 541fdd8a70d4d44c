"""The focus after a change of the page."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.visitor import Visitor
from tests.support.service import Service

_COUNT_FOCUS = "window.focused = []; addEventListener('focusin', (event) => window.focused.push(event.target.tagName));"


def test_the_focus_goes_to_the_heading_and_back_to_the_link(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("admin", "runs")
    run = page.get_by_role("table", name="Runs").get_by_role("link", name="quick").first
    expect(run).to_be_visible()
    # A browser begins at the top of a page that it opens.
    assert page.evaluate("document.activeElement === document.body")
    page.evaluate(_COUNT_FOCUS)
    run.click()
    _is_at_the_heading(page, "quick")
    experiment = page.get_by_role("link", name="Experiment quick")
    experiment.focus()
    page.keyboard.press("Enter")
    _is_at_the_heading(page, "quick")
    page.go_back()
    expect(experiment).to_be_focused()
    page.go_back()
    expect(run).to_be_focused()
    # Once each, so that a screen reader speaks once.
    assert page.evaluate("window.focused") == ["A", "H1", "A", "H1", "A", "A"]
    # The header keeps the focus of its own link until the page has a heading, and gets it back.
    compare = page.get_by_role("navigation", name="Pages").get_by_role("link", name="Compare")
    compare.click()
    _is_at_the_heading(page, "Compare")
    page.keyboard.press("Tab")
    assert page.evaluate("document.querySelector('main').contains(document.activeElement)")
    page.go_back()
    expect(compare).to_be_focused()
    for keys, heading in (("gl", "Launch"), ("gb", "Lab"), ("gh", "Overview of the lab")):
        page.keyboard.press(keys[0])
        page.keyboard.press(keys[1])
        _is_at_the_heading(page, heading)
    visitor.opens("lab/hosts")
    _is_at_the_heading(page, "Lab: Hosts")
    visitor.opens("nowhere")
    _is_at_the_heading(page, "Not Found")
    # Another view of the same page leaves the focus where it is.
    visitor.opens("runs")
    _is_at_the_heading(page, "Runs")
    page.get_by_placeholder("Search").fill("quick")
    expect(page).to_have_url(re.compile("q=quick"))
    assert page.evaluate("document.activeElement.tagName") == "INPUT"


def _is_at_the_heading(page: Page, name: str) -> None:
    heading = page.get_by_role("heading", level=1)
    expect(heading).to_contain_text(name)
    expect(heading).to_be_focused()
