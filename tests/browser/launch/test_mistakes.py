"""Mistakes in an experiment: all of them at once, each with its correction, at the field, in the text and beside the button."""

from __future__ import annotations

import re

from playwright.sync_api import Page, expect

from tests.browser.launch.steps import button, data, replace_text
from tests.browser.visitor import Visitor

WRONG = """experiment: Wrong One
path: {bandwidth: 1 Gbits, rtt: 100, buffr: 1 BDP}
flows:
  - {name: one, cc: cubik}
sweep: {path.los: [1 %], flows.one.cc: [reno, bbbr]}
duration: 30
"""


def test_all_mistakes_are_shown_at_once_and_each_is_corrected_with_one_press(at_launch: Page, visitor: Visitor) -> None:
    page = at_launch
    replace_text(page, WRONG)
    errors = page.get_by_role("button", name=re.compile("^8 errors"))
    expect(errors).to_be_visible()
    expect(button(page)).to_be_disabled()
    expect(page.get_by_text("From the last valid text")).to_be_visible()
    visitor.pictures("mistakes")
    # At the fields of the form.
    control = page.get_by_role("group", name="Flow one").get_by_label("Congestion control")
    expect(control).to_have_attribute("aria-invalid", "true")
    page.locator("form, section").get_by_role("button", name="Use cubic").click()
    expect(control).to_have_value("cubic")
    page.locator("section").get_by_role("button", name="Use 30 s").click()
    # Under the lines of the text.
    page.locator(".lh-message").get_by_role("button", name="Use 1 Gbit/s").click()
    page.locator(".lh-message").get_by_role("button", name="Use 100 ms").click()
    # In the list beside the button.
    page.get_by_role("button", name=re.compile("^4 errors")).click()
    listed = page.get_by_role("list", name="Errors")
    expect(listed).to_contain_text("path.buffr")
    visitor.pictures("mistakes-list")
    for suggestion in ("Use buffer", "Use path.loss", "Use bbr"):
        listed.get_by_role("button", name=suggestion).click()
    page.get_by_role("button", name=re.compile("^1 error: experiment:")).click()
    page.locator(".lh-message").get_by_role("button", name="Use wrong-one").click()
    expect(button(page)).to_be_enabled()
    expect(page.get_by_text("From the last valid text")).to_be_hidden()
    assert data(page) == {
        "experiment": "wrong-one",
        "path": {"bandwidth": "1 Gbit/s", "rtt": "100 ms", "buffer": "1 BDP"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "sweep": {"path.loss": ["1 %"], "flows.one.cc": ["reno", "bbr"]},
        "duration": "30 s",
    }


def test_text_that_is_not_yaml_is_answered_with_the_line_and_the_remedy(at_launch: Page, visitor: Visitor) -> None:
    page = at_launch
    replace_text(page, "experiment: x\npath: {bandwidth: 1 Mbit/s\nduration: 1 s\n")
    remedy = "Line 2, column 7: { is not closed. Add } at its end."
    expect(page.locator(".lh-message")).to_have_text([remedy])
    expect(page.get_by_role("button", name=f"1 error: {remedy}")).to_be_visible()
    expect(page.get_by_text("From the last valid text")).to_be_visible()
    visitor.pictures("mistakes-yaml")
