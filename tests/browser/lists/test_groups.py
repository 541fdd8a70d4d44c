"""The list of runs by experiment: means of results, groups that open, selection, orders and filters."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service, served


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """A lab with five runs of one experiment and 22 of another."""
    with served(tmp_path_factory.mktemp("groups") / "home") as running:
        short = ["duration=2 s"]
        for body in (
            {"shipped": "quick", "set": short, "repeats": 3},
            {"shipped": "quick", "set": [*short, "flows.app.cc=reno"], "repeats": 2},
            {"shipped": "quick", "set": [*short, "experiment=other", "path.rtt=10 ms"], "repeats": 22},
        ):
            assert running.wait(running.submit(body)["id"])["status"] == "done"
        yield running


def rows(page: Page) -> Locator:
    return page.get_by_role("table").locator("tr[data-row]")


def test_runs_are_grouped_by_experiment(visitor: Visitor, service: Service) -> None:
    page = visitor.logs_in("run", "runs")
    expect(rows(page)).to_have_count(27)
    page.get_by_label("Group by experiment").check()
    expect(rows(page)).to_have_count(2)
    page.get_by_label("Order").select_option("Most runs first")
    other, quick = rows(page).nth(0), rows(page).nth(1)
    expect(other).to_contain_text("22 runs")
    expect(quick).to_contain_text("5 runs")
    with service.client("read") as client:
        quicks = client.get(f"{ROOT}/runs", params={"experiment": "quick"}).json()["items"]
    loads = [run["utilisation"] for run in quicks]
    mean = quick.get_by_title(re.compile("range from"), exact=False).filter(has_text="%").last
    expect(mean).to_have_text(f"{100 * sum(loads) / len(loads):.4g} %")
    # A group opens by a press and by keys, and its runs are selected like others.
    quick.get_by_role("button", name="quick").click()
    expect(rows(page)).to_have_count(7)
    expect(page).to_have_url(re.compile("opened=quick"))
    for key in ("j", "Enter"):
        page.keyboard.press(key)
    expect(rows(page)).to_have_count(2 + 5 + 21)
    rows(page).nth(1).get_by_role("checkbox").check()
    expect(page.get_by_role("toolbar")).to_contain_text("1 run")
    visitor.pictures("runs-grouped")
    page.reload()
    expect(rows(page)).to_have_count(2 + 5 + 21)
    page.get_by_role("link", name="All 22 runs of other").click()
    expect(rows(page)).to_have_count(22)
    expect(page.get_by_label("Group by experiment")).not_to_be_checked()
    page.go_back()
    # A filter counts for groups too.
    page.get_by_role("combobox", name="CC").select_option("reno")
    expect(rows(page).first).to_contain_text("2 runs")


def test_groups_on_a_phone(phone: Visitor) -> None:
    page = phone.logs_in("run", "runs?group=1&opened=quick&sort=-goodput")
    expect(rows(page)).to_have_count(7)
    expect(rows(page).first.get_by_role("cell", name=re.compile("^Utilisation"))).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    phone.pictures("runs-grouped-phone")
