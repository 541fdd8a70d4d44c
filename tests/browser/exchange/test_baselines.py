"""Baselines in the page: set on the page of an experiment, refused on a gated branch, listed in the lab."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.axe import breaches
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service


def test_an_experiment_becomes_a_baseline(visitor: Visitor, kept: Service) -> None:
    page = visitor.logs_in("run", f"experiments/{kept.experiment}")
    page.get_by_role("button", name="Baseline", exact=True).click()
    dialog = page.get_by_role("dialog", name="Baseline of quick")
    dialog.get_by_role("button", name="Set").click()
    expect(dialog.get_by_role("alert")).to_contain_text("main is gated")
    assert breaches(page) == []
    dialog.get_by_label("Branch").fill("mine/page")
    dialog.get_by_role("button", name="Set").click()
    expect(dialog.get_by_role("status")).to_have_text("It is the baseline of mine/page now.")
    dialog.get_by_role("link", name="All baselines").click()
    row = page.get_by_role("table", name="Baselines").get_by_role("row").filter(has_text="mine/page")
    expect(row).to_contain_text("runer")
    row.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("quick")
    with kept.client() as client:
        assert client.get(f"{ROOT}/baselines/quick/mine/page").json()["experiment_id"] == kept.experiment
