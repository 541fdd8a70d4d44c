"""The page without a mouse, and with reduced motion."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.views import settle
from tests.browser.visitor import Visitor
from tests.support.service import Service

# The focused element, its position, and whether its focus is visible: an outline round it or round its label.
_FOCUSED = """() => {
    let one = document.activeElement;
    while (one?.shadowRoot?.activeElement) one = one.shadowRoot.activeElement;
    if (one === null || one === document.body) return null;
    const seen = (element) => {
        const style = getComputedStyle(element);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    };
    const { top, left, width, height } = one.getBoundingClientRect();
    return {
        what: one.outerHTML.slice(0, 140),
        seen: seen(one) || (one.closest("label") !== null && seen(one.closest("label"))) || one.closest(".cm-editor") !== null,
        there: width > 0 && height > 0 && left + width > 0 && top + height + scrollY > 0,
        header: one.closest("header") !== null,
    };
}"""
_SLOW = """() => [...document.querySelectorAll("*")].filter((one) => {
    const style = getComputedStyle(one);
    return [style.transitionDuration, style.animationDuration].some((all) => all.split(",").some((s) => parseFloat(s) > 0.001));
}).map((one) => one.outerHTML.slice(0, 120))"""
_STOPS = 40


@pytest.mark.parametrize("view", ["", "launch", "runs", "runs/{run}", "compare", "papers", "lab"])
def test_every_stop_of_the_tab_key_is_visible(visitor: Visitor, kept: Service, view: str) -> None:
    page = visitor.enters("admin", view.format(run=kept.run))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    stops: list[dict[str, Any]] = []
    for _ in range(_STOPS):
        page.keyboard.press("Tab")
        found = page.evaluate(_FOCUSED)
        if found is None or (stops and found["what"] == stops[0]["what"]):
            break
        stops.append(found)
    assert [stop["what"] for stop in stops if not (stop["seen"] and stop["there"])] == []
    # The header comes first, then the page.
    assert "Skip to content" in stops[0]["what"]
    assert [stop["header"] for stop in stops[:7]] == [True] * 7


def test_focus_skips_the_header_and_returns_from_dialogs(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("admin", f"runs/{kept.run}")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Skip to content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    page.keyboard.press("Tab")
    focused = page.evaluate("document.activeElement.outerHTML")
    page.keyboard.press("?")
    sheet = page.get_by_role("dialog", name="Keyboard shortcuts")
    expect(sheet).to_be_visible()
    expect(sheet).to_contain_text("This page")
    # A dialog keeps the focus, and returns it.
    for _ in range(5):
        page.keyboard.press("Tab")
        assert page.evaluate(
            "document.querySelector('dialog').contains(document.activeElement) || document.activeElement === document.body"
        )
    page.keyboard.press("Escape")
    expect(sheet).to_have_count(0)
    assert page.evaluate("document.activeElement.outerHTML") == focused
    page.get_by_label("first, scope admin").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Log out")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Log out")).to_be_hidden()
    expect(page.get_by_label("first, scope admin")).to_be_focused()


def test_keys_lead_from_start_to_a_run(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("admin", "")
    expect(page.get_by_role("list", name="Latest experiments")).to_be_visible()
    _press(page, "g", "r")
    expect(page.get_by_role("table", name="Runs")).to_be_visible()
    _press(page, "j", "Enter")
    expect(page).to_have_url(re.compile("#/runs/[0-9a-f]{20}"))
    _press(page, "g", "h")
    expect(page.get_by_role("list", name="Latest experiments")).to_be_visible()


@pytest.mark.parametrize("view", ["launch", "runs/{run}", "lab"])
def test_reduced_motion_stops_all_animation(visitor: Visitor, kept: Service, view: str) -> None:
    page = visitor.page
    visitor.enters("admin")
    page.emulate_media(reduced_motion="reduce")
    visitor.opens(view.format(run=kept.run))
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    settle(page)
    assert page.evaluate(_SLOW) == []


def _press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)
