"""Help in Launch: terms of the glossary beside fields and numbers, by mouse, keys and touch."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.visitor import Visitor


def _explains_terms(page: Page, visitor: Visitor, name: str) -> None:
    bdp = page.get_by_text("BDP: bandwidth-delay product: rate times round-trip time", exact=False)
    expect(bdp.first).to_be_hidden()
    page.get_by_role("button", name="About Buffer").first.click()
    expect(bdp.first).to_be_in_viewport(ratio=0.99)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    visitor.pictures(name)
    page.keyboard.press("Escape")
    expect(bdp.first).to_be_hidden()


def test_terms_are_explained_beside_fields_and_numbers(at_launch: Page, visitor: Visitor) -> None:
    page = at_launch
    _explains_terms(page, visitor, "help")
    # With keys the help appears with the focus of the field, without another stop of the Tab key.
    page.get_by_label("Duration").focus()
    page.keyboard.press("Tab")
    expect(page.get_by_label("Warmup")).to_be_focused()
    expect(page.get_by_text("ssthresh or a loss").first).to_be_visible()
    page.get_by_role("button", name="About Slow start").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("note")).to_contain_text("the window doubles in each round trip")
    # A value that is a term is explained too.
    page.get_by_label("Queue", exact=True).select_option("codel")
    page.get_by_role("button", name="Add expectation").click()
    page.get_by_label("Measure").select_option("jain")
    page.get_by_role("button", name="About Measure").click()
    expect(page.get_by_text("Jain's index: how evenly flows share", exact=False)).to_be_visible()


def test_terms_are_explained_on_a_phone(phone: Visitor) -> None:
    phone.logs_in("run", "launch")
    expect(phone.page.get_by_label("Duration")).to_be_visible()
    _explains_terms(phone.page, phone, "help-phone")
