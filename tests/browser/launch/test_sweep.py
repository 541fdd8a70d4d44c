"""Sweeps in Launch: fields found by a search, values filled in, and one spelling for a number."""

from __future__ import annotations

import re

import yaml
from playwright.sync_api import Page, expect

from tests.browser.launch.steps import SHORT, button, draft, launched, replace_text
from tests.browser.visitor import Visitor
from tests.support.service import Service


def test_sweep_is_built_and_launched(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    replace_text(page, SHORT.replace("duration: 4 s", "duration: 4 s\nrepeats: 2"))
    adding = page.get_by_role("combobox", name="Add a field to the sweep")
    # A field is found by its name and by its description, with keys.
    adding.fill("round trip")
    options = page.get_by_role("listbox", name="Add a field to the sweep").get_by_role("option")
    expect(options.filter(has_text="path.rtt")).to_be_visible()
    expect(page.get_by_role("group", name="Flow two").get_by_role("option")).not_to_have_count(0)
    visitor.pictures("launch-sweep-fields")
    adding.fill("path.rtt")
    adding.press("ArrowDown")
    adding.press("ArrowUp")
    adding.press("Enter")
    rtts = page.get_by_label(re.compile("^path.rtt"))
    expect(rtts).to_have_value("20 ms")
    rtts.fill("10 ms, fast")
    expect(rtts).to_have_attribute("aria-invalid", "true")
    rtts.fill("10 ms, 30")
    page.locator("section").get_by_role("button", name="Use 30 ms").click()
    expect(rtts).to_have_value("10 ms, 30 ms")
    page.get_by_role("button", name="Generate values of path.rtt").click()
    values = page.get_by_role("group", name="Values of path.rtt")
    values.get_by_label("To").fill("1000")
    values.get_by_label("Values").fill("3")
    values.get_by_text("Log").click()
    expect(values.get_by_text("10 ms, 100 ms, 1000 ms")).to_be_visible()
    values.get_by_label("From").fill("0")
    expect(values.get_by_text("Logarithmic steps begin and end above 0.")).to_be_visible()
    visitor.pictures("launch-sweep-values")
    values.get_by_label("From").fill("10")
    values.get_by_label("To").fill("20")
    values.get_by_label("Values").fill("2")
    values.get_by_role("button", name="Fill in 2 values").click()
    expect(rtts).to_have_value("10 ms, 20 ms")
    adding.fill("two congestion")
    adding.press("Enter")
    page.get_by_label(re.compile("^flows.two.cc")).fill("reno, vegas")
    expect(page.get_by_text("2 × 2 = 4 points, 8 runs")).to_be_visible()
    visitor.pictures("launch-sweep")
    expect(button(page)).to_have_text(re.compile("Launch 8 runs"))
    button(page).click()
    found = launched(page, service)
    assert (found["status"], len(found["runs"])) == ("done", 8)
    assert found["spec"]["sweep"] == {"path.rtt": ["10 ms", "20 ms"], "flows.two.cc": ["reno", "vegas"]}


def test_swept_number_has_one_spelling(at_launch: Page, visitor: Visitor, service: Service) -> None:
    page = at_launch
    text = SHORT.replace("fq_codel", "droptail").replace("4 s", "3 s")
    replace_text(page, text)
    adding = page.get_by_role("combobox", name="Add a field to the sweep")
    adding.fill("path.loss")
    adding.press("Enter")
    page.get_by_label(re.compile("^path.loss")).fill("1e-5, 1e-4")
    assert "path.loss: [1e-5, 1e-4]" in draft(page)
    # As numbers these are 1e-05 and 0.0001 in Python.
    expect(button(page)).to_have_text(re.compile("Launch 2 runs"))
    button(page).click()
    found = launched(page, service)
    expect(page.get_by_role("cell", name="1e-5", exact=True)).to_be_visible()
    visitor.opens(f"runs/{found['runs'][0].rpartition('/')[2]}")
    expect(page).to_have_title(re.compile("loss 1e-5"))
    numbers = yaml.safe_load(text) | {"experiment": "as-numbers", "sweep": {"path.loss": [1.0e-5, 1.0e-4]}}
    other = service.wait(service.submit({"spec": numbers})["id"])
    visitor.opens(f"compare?show=map&experiment={other['id']}")
    heads = page.get_by_role("columnheader").or_(page.get_by_role("rowheader"))
    expect(heads.filter(has_text="1e-4")).to_have_count(1)
    expect(heads.filter(has_text="1e-5")).to_have_count(1)
    visitor.opens("runs?q=loss%3D1e-5")
    for name in ("short", "as-numbers"):
        expect(page.get_by_role("link", name=name, exact=True)).to_have_count(1)
    expect(page.get_by_text("loss 1e-5")).to_have_count(2)
