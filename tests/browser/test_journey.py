"""Journeys: through all pages, from the first visit to a link that shows the result to others; and of an astronomer who types four numbers."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, expect

from tests.browser.launch.steps import button, launched, replace_text
from tests.browser.visitor import Visitor
from tests.support.service import Service

# Rounds of short runs, several one after the other, on a busy machine.
_RUNS_MS = 180_000
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
    expect(page.get_by_role("table", name="Values of Congestion window")).to_contain_text("packets")

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


def test_four_numbers_give_the_table(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "predict")
    button = page.get_by_role("button", name="Predict", exact=True)
    expect(button).to_be_disabled()
    for label, value in (("Size", "200 MB"), ("Rate", "20 Mbit/s"), ("RTT", "20 ms"), ("Loss", "1e-3")):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_text("More", exact=True).click()
    page.get_by_label("Buffer").fill("1 BDP")
    page.get_by_label("Streams").fill("1,2")
    page.get_by_label("Congestion controls").fill("cubic")
    button.click()
    table = page.get_by_role("table", name="Prediction")
    expect(table.locator("tbody tr")).to_have_count(2, timeout=_RUNS_MS)
    expect(page.get_by_role("heading", name=re.compile("Settings for cubic"))).to_be_visible(timeout=_RUNS_MS)
    expect(table).to_contain_text("steady state")
    expect(page.get_by_text("sysctl -w net.ipv4.tcp_congestion_control=cubic")).to_be_visible()
    visitor.pictures("predict")
    # The numbers are in the address: who opens it sees the answer, without a run.
    page.reload()
    expect(table.locator("tbody tr")).to_have_count(2)


def test_wrong_numbers_are_explained(visitor: Visitor) -> None:
    page = visitor.logs_in("run", "predict")
    for label, value in (("Size", "lots"), ("Rate", "20 Mbit/s"), ("RTT", "20 ms")):
        page.get_by_label(label, exact=True).fill(value)
    page.get_by_role("button", name="Predict", exact=True).click()
    expect(page.get_by_role("alert")).to_contain_text("write it as in 2 TB")


def test_scope_read_sees_what_is_known(visitor: Visitor) -> None:
    visitor.logs_in("read", "predict?size=2%20GB&rate=30%20Mbit/s&rtt=20%20ms&cc=reno")
    expect(visitor.page.get_by_role("heading", name="Not run yet")).to_be_visible()
    asked = {"size": "2 GB", "path": "30 Mbit/s, 20 ms", "cc": ["reno"]}
    assert visitor.is_answered("POST", "predictions", asked) == 403
