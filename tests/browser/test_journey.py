"""A journey through all pages, from the first visit to a link that shows the result to others."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.test_launch import button, launched, replace_text
from tests.browser.visitor import Visitor
from tests.support.service import Service

SEEDS = """experiment: journey
about: CUBIC with BBR, with two seeds.
path: {bandwidth: 20 Mbit/s, rtt: 40 ms, loss: 1e-4}
flows:
  - {name: cubic, cc: cubic}
  - {name: bbr, cc: bbr, start: 1 s}
duration: 8 s
repeats: 2
"""


def test_from_the_first_visit_to_a_link_for_others(browser: Browser, visitor: Visitor, service: Service) -> None:
    page = visitor.page
    visitor.opens()
    visitor.shows_token(service.tokens["run"])
    # The first visitor sees the first steps, later visitors see running work.
    expect(page.get_by_role("main").get_by_role("heading").first).to_be_attached()
    visitor.opens("launch")
    page.get_by_role("button", name="Presets").click()
    presets = page.get_by_role("dialog")
    page.keyboard.type("quick")
    expect(presets.get_by_role("option").first).to_contain_text("quick")
    page.keyboard.press("Enter")
    expect(presets).to_have_count(0)
    button(page).click()
    found = launched(page, service)
    assert (found["name"], found["status"]) == ("quick", "done")
    expect(
        page.get_by_role("figure", name="Congestion window", exact=True).locator("output span").first
    ).to_be_visible()

    visitor.opens("launch")
    replace_text(page, SEEDS)
    expect(page.get_by_role("button", name=re.compile("^Launch 2 runs"))).to_be_enabled()
    button(page).click()
    found = launched(page, service)
    assert (found["name"], found["status"]) == ("journey", "done")
    page.get_by_role("link", name="Longhaul", exact=True).click()
    expect(page.get_by_role("list", name="Latest experiments")).to_contain_text("CUBIC with BBR, with two seeds.")

    visitor.opens("runs?name=journey")
    rows = page.get_by_role("table", name="Runs").locator("tbody tr")
    expect(rows).to_have_count(2)
    page.get_by_label("Select all that match").check()
    page.get_by_role("toolbar").get_by_role("link", name="Compare").click()
    page.get_by_text("Fairness", exact=True).click()
    jain = page.get_by_role("figure", name="Jain’s index over time")
    expect(jain).to_be_visible()
    link = page.url
    assert all(run.rpartition("/")[2] in link for run in found["runs"])

    with Visitor.comes(browser, service) as other:
        other.page.goto(link)
        other.shows_token(service.tokens["read"])
        expect(other.page.get_by_role("figure", name="Jain’s index over time")).to_be_visible()
        assert other.page.url == link
        # The scope read shows no Launch button, and the service refuses the request.
        other.opens("launch")
        expect(other.page.get_by_text("Your token may read but not launch experiments.")).to_be_visible()
        expect(button(other.page)).to_have_count(0)
        assert other.is_answered("POST", "experiments", {"shipped": "quick"}) == 403
