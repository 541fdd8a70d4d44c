"""Compare: two runs overlaid and compared, and a sweep as a heat map with links to its runs."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.test_watch import values
from tests.browser.visitor import Visitor
from tests.support.service import Service

PAIRS: dict[str, Any] = {
    "experiment": "pairs",
    "path": {"bandwidth": "20 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "first", "cc": "reno"}, {"name": "second", "cc": "reno"}],
    "duration": "5 s",
    "sample": "100 ms",
    "repeats": 3,
    "sweep": {"flows.first.cc": ["reno", "cubic"], "flows.second.cc": ["reno", "bbr"]},
}


@pytest.fixture(scope="module")
def pairs(service: Service) -> dict[str, Any]:
    """Four points with three runs each: more than are drawn at once."""
    ended = service.wait(service.submit({"spec": PAIRS})["id"])
    assert ended["status"] == "done", ended
    return ended


def test_two_runs_are_overlaid_and_compared(visitor: Visitor, pairs: dict[str, Any]) -> None:
    page = visitor.logs_in("read", "compare")
    expect(page.get_by_role("heading", name="Which runs?")).to_be_visible()
    visitor.pictures("compare-empty")
    page.get_by_label("Search").fill("cubic bbr")
    for seed in ("seed 1", "seed 2"):
        page.get_by_role("listitem").filter(has_text=seed).get_by_role("checkbox").first.check()
    expect(values(page, "Congestion window")).to_contain_text("seed 2")
    visitor.pictures("compare-overlay")
    for name, heading in (
        ("Side by side", "seed 1"),
        ("Distributions", "Queue delay"),
        ("Fairness", "Jain’s index over time"),
    ):
        page.get_by_text(name, exact=True).click()
        expect(page.get_by_role("figure", name=heading)).to_be_visible()
        visitor.pictures(f"compare-{name.split()[0].lower()}")
    page.get_by_text("Differences", exact=True).click()
    table = page.get_by_role("table", name="Differences")
    page.get_by_label("Show measures without a difference").check()
    expect(table).to_contain_text("goodput")
    expect(table).to_contain_text("Jain’s index")
    # One pair gives no interval over seeds.
    expect(table).to_contain_text("1 pair: no interval, no verdict")
    expect(table).not_to_contain_text("better")
    visitor.pictures("compare-differences")
    page.get_by_role("button", name="Find the first record that differs").click()
    expect(page.get_by_text(re.compile(r"the traces of \w{20} and \w{20} differ from [\d.]+ s on: "))).to_be_visible()
    expect(page.get_by_role("table", name="Record")).to_contain_text("t_ns")
    # The address contains the whole view.
    page.reload()
    expect(table).to_contain_text("goodput")
    page.go_back()
    expect(page.get_by_role("figure", name="Jain’s index over time")).to_be_visible()


def test_many_runs_are_drawn_eight_at_a_time(visitor: Visitor, pairs: dict[str, Any]) -> None:
    page = visitor.enters("read", f"compare?runs={','.join(href.rpartition('/')[2] for href in pairs['runs'])}")
    chooser = page.get_by_role("region", name="Compared runs")
    status, drawn = chooser.get_by_role("status"), chooser.get_by_role("list").first.get_by_role("link")
    expect(status).to_contain_text("Showing runs 1 to 8 of 12 selected")
    expect(drawn).to_have_count(8)
    colours = drawn.evaluate_all("all => all.map((one) => one.previousElementSibling.style.background)")
    assert len(set(colours)) == 8
    # Each with two flows: twelve in the legend, and the others on request.
    rows = values(page, "Congestion window").get_by_role("row")
    expect(rows).to_have_count(13)
    # Those with the largest maximum, not those that come first.
    for _ in range(2):
        values(page, "Congestion window").get_by_role("button", name="Max").click()
    most = [float(row.split()[-2]) for row in rows.all_inner_texts()[1:]]
    page.get_by_role("figure", name="Congestion window").get_by_role("button", name="Show all 16").click()
    expect(rows).to_have_count(17)
    assert [float(row.split()[-2]) for row in rows.all_inner_texts()[1:13]] == most
    visitor.pictures("compare-many")
    chooser.get_by_role("button", name="Next 4").click()
    expect(status).to_contain_text("Showing runs 9 to 12 of 12")
    expect(drawn).to_have_count(4)
    expect(rows).to_have_count(9)
    page.reload()
    expect(status).to_contain_text("Showing runs 9 to 12 of 12")
    chooser.get_by_role("button", name="Remove ").first.click()
    expect(status).to_contain_text("Showing runs 9 to 11 of 11")
    chooser.get_by_role("button", name="Select others").click()
    expect(page.get_by_role("heading", name="Which runs?")).to_be_visible()
    boxes = chooser.get_by_role("checkbox")
    for at in range(8):
        boxes.nth(at).check()
    expect(drawn).to_have_count(8)
    expect(chooser).to_contain_text("at most 8 are drawn: remove one to add another")
    expect(boxes.nth(8)).to_be_disabled()
    boxes.nth(0).uncheck()
    expect(boxes.nth(8)).to_be_enabled()


def test_experiments_are_compared_with_intervals(visitor: Visitor, pairs: dict[str, Any]) -> None:
    page = visitor.logs_in(
        "read",
        f"compare?show=differences&runs={pairs['runs'][0].rpartition('/')[2]}&a={pairs['id']}&b={pairs['id']}&all=1",
    )
    expect(page.get_by_text("identical: the traces of 12 pairs are identical")).to_be_visible()
    expect(page.get_by_role("table", name="Differences")).to_contain_text("same")


def test_comparison_names_different_inputs(visitor: Visitor, pairs: dict[str, Any], service: Service) -> None:
    page = visitor.page
    far = service.submit({"spec": PAIRS | {"path": {"bandwidth": "20 Mbit/s", "rtt": "80 ms"}, "repeats": 1}})
    assert service.wait(far["id"])["status"] == "done"
    run, other = (one["runs"][0].rpartition("/")[2] for one in (pairs, far))
    visitor.logs_in("read", f"compare?show=differences&runs={run},{other}")
    banner = page.get_by_role("note")
    expect(banner).to_contain_text("The inputs of these runs differ in: rtt (40 ms and 80 ms)")
    page.get_by_text("Overlay", exact=True).click()
    expect(values(page, "RTT")).to_be_visible()
    expect(banner).to_contain_text("The inputs of these runs differ in: rtt (40 ms and 80 ms)")


def test_cell_of_a_heat_map_links_to_its_runs(visitor: Visitor, pairs: dict[str, Any]) -> None:
    page = visitor.logs_in("read", f"experiments/{pairs['id']}")
    page.get_by_role("link", name="Heat map").click()
    heat = page.get_by_role("table", name=re.compile("share of first"))
    cells = heat.get_by_role("button")
    expect(cells).to_have_count(4)
    page.get_by_label("Colour").select_option(label="goodput of second")
    expect(page.get_by_role("table", name=re.compile("goodput of second"))).to_be_visible()
    # Each cell has its number of runs and their spread, all numbers have one unit, and colours may follow the logarithm.
    goodputs = page.get_by_role("table", name=re.compile("goodput of second")).get_by_role("button")
    texts = goodputs.all_inner_texts()
    assert {re.search(r"[A-Za-z]*bit/s", text)[0] for text in texts} == {"Mbit/s"}  # type: ignore[index]
    assert all(re.search(r"± [\d.]+ Mbit/s, n 3$", text) for text in texts), texts
    colours = goodputs.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)")
    page.get_by_label("Log scale").check()
    expect(page).to_have_url(re.compile("log=1"))
    assert goodputs.evaluate_all("all => all.map((one) => getComputedStyle(one).backgroundColor)") != colours
    page.get_by_role("button", name=re.compile("^cubic bbr: ")).click()
    runs = page.get_by_role("table", name="Runs of the cell")
    expect(runs.get_by_role("row")).to_have_count(4)
    visitor.pictures("compare-map")
    page.reload()
    expect(runs.get_by_role("row")).to_have_count(4)
    runs.get_by_role("link").first.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("first.cc cubic, second.cc bbr")
    page.go_back()
    page.get_by_role("link", name="Overlay", exact=True).click()
    expect(values(page, "Congestion window")).to_contain_text("seed 1")


def test_notes_follow_the_result_and_hatch_the_map(visitor: Visitor, service: Service) -> None:
    page = visitor.page
    noted = {
        "experiment": "noted",
        "path": {"bandwidth": "50 Mbit/s", "rtt": "20 ms"},
        "flows": [{"name": "app", "cc": "cubic"}],
        "duration": "20 s",
        "warmup": "5 s",
        "repeats": 2,
        "sweep": {"path.rtt": ["20 ms", "40 ms", "60 ms"], "path.loss": ["0", "1e-4"]},
    }
    made = service.submit({"spec": noted})
    visitor.logs_in("read", f"experiments/{made['id']}")
    expect(page.get_by_text(re.compile(r"of 12 runs ended.*, about .* left"))).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_contain_text("done")
    expect(page.get_by_text(re.compile(r"about .* left"))).to_have_count(0)
    # One line; a kind opens to its points.
    fold = page.get_by_text("1 kind of notes, 2 points")
    box = fold.bounding_box()
    assert box is not None and box["height"] < 40
    fold.click()
    notes = page.get_by_role("list", name="Notes")
    kind = notes.get_by_text(re.compile(r"^path\.loss 1e-4 limits .* \(2 points\)$"))
    point = notes.get_by_text("rtt 60 ms, loss 1e-4", exact=True)
    expect(point).to_be_hidden()
    kind.click()
    expect(point).to_be_visible()
    visitor.pictures("experiment-notes")
    page.get_by_role("link", name="Heat map").click()
    cells = page.get_by_role("table", name=re.compile("goodput of app")).get_by_role("button")
    expect(cells).to_have_count(6)
    names = cells.evaluate_all("all => all.map((one) => [one.ariaLabel, getComputedStyle(one).backgroundImage])")
    hatched = {name for name, picture in names if "gradient" in picture}
    assert hatched == {name for name, _ in names if name.endswith(", with notes")}
    assert len(hatched) == 2 and all(name.startswith("1e-4 ") for name in hatched), names
    cells.filter(has_text="Mbit/s").last.click()
    expect(page.get_by_role("list", name="Notes")).to_contain_text("path.loss 1e-4 limits")


def test_unknown_run_shows_an_error_and_is_removed(visitor: Visitor, service: Service) -> None:
    page = visitor.logs_in("read", f"compare?runs={'0' * 20}")
    expect(page.get_by_role("alert")).to_contain_text("there is no run with this id")
    page.get_by_role("button", name="Remove 00000000").click()
    expect(page.get_by_role("heading", name="Which runs?")).to_be_visible()
