"""The palette: pages, actions, runs, experiments, figures and congestion controls by their names, without a mouse."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, Page, expect

from tests.browser.axe import breaches
from tests.browser.visitor import PHONE, Visitor
from tests.support.service import ROOT, Service

NAME = "Search and commands"
BUTTON = "Search Ctrl K"


def palette(page: Page) -> Locator:
    return page.get_by_role("dialog", name=NAME)


def chosen(page: Page) -> Locator:
    return palette(page).locator('[role="option"][aria-selected="true"]')


def test_keys_alone_lead_everywhere(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("run", "runs")
    button = page.get_by_role("button", name=BUTTON)
    button.focus()
    page.keyboard.press("Enter")
    field = palette(page).get_by_role("combobox", name=NAME)
    expect(field).to_be_focused()
    expect(palette(page).get_by_role("group").first).to_have_accessible_name("Pages")
    expect(palette(page).get_by_role("group", name="Actions of this view")).to_contain_text("Select all that match")
    visitor.pictures("palette")
    assert breaches(page) == []
    page.keyboard.press("End")
    last = palette(page).get_by_role("option").last
    expect(last).to_have_attribute("aria-selected", "true")
    expect(field).to_have_attribute("aria-activedescendant", str(last.get_attribute("id")))
    page.keyboard.press("Home")
    page.keyboard.press("ArrowDown")
    expect(chosen(page)).to_contain_text("Launch")
    page.keyboard.press("Escape")
    expect(palette(page)).to_have_count(0)
    expect(button).to_be_focused()

    # By another word than its name.
    _choose(page, "machines", "Hosts")
    expect(page).to_have_url(re.compile("#/lab/hosts$"))
    _choose(page, "fig4 recovery", "agilesd fig4")
    expect(page).to_have_url(re.compile("#/papers/agilesd/fig4$"))
    _choose(page, "htcp", "htcp")
    expect(page).to_have_url(re.compile("#/lab/modules"))
    expect(page.locator('[data-shown="true"]')).to_contain_text("htcp")
    _choose(page, "rtt-sweep", "rtt-sweep")
    expect(page.get_by_role("textbox", name="Experiment as YAML")).to_contain_text("rtt-sweep")
    # While another field has the focus, too.
    page.get_by_label("Duration").click()
    _choose(page, kept.run[:10], "quick")
    expect(page).to_have_url(re.compile(f"#/runs/{kept.run}$"))
    expect(page.get_by_role("heading", name=re.compile("quick"), level=1)).to_be_visible()
    _choose(page, "logarithmic", "Logarithmic axes")
    expect(page).to_have_url(re.compile("log=1"))
    expect(page.get_by_role("heading", name=re.compile("quick"), level=1)).to_be_visible()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_contain_text(NAME)
    page.keyboard.press("Escape")

    # What was chosen comes first, after a reload, too.
    page.reload()
    expect(page.get_by_role("heading", name=re.compile("quick"), level=1)).to_be_visible()
    page.keyboard.press("Control+k")
    recent = palette(page).get_by_role("group", name="Recent").get_by_role("option")
    expect(recent).to_contain_text(["Logarithmic axes", "quick", "rtt-sweep", "htcp", "agilesd fig4"])
    visitor.pictures("palette-recent")


def test_a_text_that_changes_is_not_searched(visitor: Visitor, kept: Service) -> None:
    page = visitor.enters("read", "")
    expect(page.get_by_role("navigation", name="Pages")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if f"{ROOT}/runs?text=" in request.url else None)
    # Letters that are typed before the palette is there are not lost.
    with page.expect_request(re.compile(r"text=quick(\+|%20)rtt%3D40ms&limit=5$")):
        page.keyboard.press("Control+k")
        page.keyboard.type("quick rtt=40ms", delay=10)
    runs = palette(page).get_by_role("group", name="Runs", exact=True).get_by_role("option")
    expect(runs.first).to_be_visible()
    assert 1 <= len(runs.all()) <= 6
    assert len(asked) <= 3, asked
    page.keyboard.press("Control+a")
    page.keyboard.type("日本 \u202e nothing")
    expect(palette(page)).to_contain_text("Nothing has all of these words.")
    page.keyboard.press("Enter")
    expect(palette(page)).to_be_visible()


def test_a_phone_has_an_icon_and_a_shared_link_has_no_palette(browser: Browser, phone: Visitor, kept: Service) -> None:
    page = phone.enters("read", f"runs/{kept.run}")
    page.get_by_role("button", name=BUTTON).tap()
    field = palette(page).get_by_role("combobox")
    expect(field).to_be_focused()
    field.fill("tokens")
    # The scope read does not see this part of the lab.
    expect(palette(page).get_by_role("option", name=re.compile("^Tokens"))).to_have_count(0)
    field.fill("queue")
    phone.pictures("palette-phone")
    assert breaches(page) == []
    palette(page).get_by_role("option", name=re.compile("^Queue")).tap()
    expect(page).to_have_url(re.compile("#/lab/queue$"))
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE["width"]

    with kept.client("run") as client:
        token = client.post(f"{ROOT}/shares", json={"runs": [kept.run], "days": 1}).json()["token"]
    with Visitor.comes(browser, kept) as guest:
        guest.opens(f"runs/{kept.run}?token={token}")
        expect(guest.page.get_by_role("heading", level=1)).to_contain_text("quick")
        expect(guest.page.get_by_role("button", name=BUTTON)).to_have_count(0)
        guest.page.keyboard.press("Control+k")
        expect(palette(guest.page)).to_have_count(0)


def _choose(page: Page, text: str, name: str) -> None:
    """Open the palette by its keys, and take the first option that a text finds, which has this name."""
    page.keyboard.press("Control+k")
    expect(palette(page)).to_be_visible()
    page.keyboard.type(text)
    expect(chosen(page)).to_contain_text(name)
    page.keyboard.press("Enter")
    expect(palette(page)).to_have_count(0)
