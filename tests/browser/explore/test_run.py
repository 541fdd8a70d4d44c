"""A run explored: its moments with the pointer of the charts, phase plots, states, sequence, and how full the queue was."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.browser.axe import breaches
from tests.browser.explore.conftest import Explored
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service

_IN_LIST = """row => {
    const [here, list] = [row.getBoundingClientRect(), row.parentElement.getBoundingClientRect()];
    return here.top >= list.top - 1 && here.bottom <= list.bottom + 1;
}"""


def _opens(visitor: Visitor, explored: Explored, look: str = "", scope: str = "read") -> Page:
    visitor.logs_in(scope, f"runs/{explored.run}{look and f'?look={look}'}")
    return visitor.page


def test_moments_follow_the_pointer_of_the_charts_and_move_it(
    visitor: Visitor, explored: Explored, service: Service
) -> None:
    page = _opens(visitor, explored)
    with service.client() as client:
        last = client.get(f"{ROOT}/runs/{explored.run}/moments", params={"near": 9, "limit": 1}).json()
    moments = page.get_by_role("region", name="Moments")
    expect(moments.get_by_role("status")).to_have_text(f"In the whole run: {last['total']:,}")
    rows = moments.get_by_role("list").get_by_role("listitem")
    # Of hundreds, few are in the page.
    assert last["total"] > 100 and rows.count() < 60
    # The keys of a chart move the pointer: the nearest row is marked, also where it was not in sight.
    chart = page.get_by_role("slider", name="Time in Congestion window")
    chart.focus()
    page.keyboard.press("End")
    expect(moments.locator("[aria-current]")).to_contain_text(f"{last['moments'][0]['t_s']:.6f} s")
    # The list has scrolled to it; the page has not.
    assert moments.locator("[aria-current]").evaluate(_IN_LIST)
    # A row moves the pointer of the charts.
    page.keyboard.press("Escape")
    moments.get_by_role("list").evaluate("list => list.scrollTo(0, 0)")
    expect(moments.get_by_role("list")).to_contain_text("cubic begins")
    rows.get_by_role("button").first.focus()
    queue = page.get_by_role("figure", name="Queue", exact=True)
    expect(queue.get_by_role("columnheader").nth(1)).to_have_text(re.compile(r"^0\.\d{3} s"))
    moments.get_by_label("Flow or link of moments").select_option("bbr")
    expect(moments.get_by_role("list")).not_to_contain_text("cubic")
    with page.expect_download() as download:
        moments.get_by_role("link", name="CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert lines[0] == "t_s,kind,of,text"
    total = moments.get_by_role("status").inner_text().rpartition(" ")[2]
    assert len(lines) - 1 == int(total.replace(",", ""))
    assert breaches(page) == []


@pytest.mark.parametrize(
    ("look", "figure", "text"),
    [
        ("states", "States of cubic (cubic)", "CUBIC’s origin point"),
        ("phase", "Window against RTT", "a dot for each ACK"),
        ("sequence", "Sequence of cubic, from the trace", "The trace counts them"),
        ("queue", "Queue of bottleneck: share of the time", "mean of each stretch"),
    ],
)
def test_a_look_shares_the_pointer_and_the_window_of_the_charts(
    visitor: Visitor, explored: Explored, look: str, figure: str, text: str
) -> None:
    asked: list[str] = []
    visitor.page.on("request", lambda request: asked.append(request.url))
    page = _opens(visitor, explored)
    expect(page.get_by_role("region", name="Explore")).to_be_visible()
    # Nothing of it is loaded before it is wanted.
    assert not [one for one in asked if re.search("/(phase|occupancy|states|sequence)", one)]
    page.get_by_role(
        "radio", name={"states": "States", "phase": "Phase plots", "sequence": "Sequence", "queue": "Queue map"}[look]
    ).check(force=True)
    shown = page.get_by_role("figure", name=figure)
    expect(shown).to_contain_text(text)
    drawing = shown.get_by_role("slider").first
    drawing.focus()
    page.keyboard.press("ArrowRight")
    expect(drawing).to_have_attribute("aria-valuetext", re.compile(r"\d s: "))
    # The charts show that time too.
    window = page.get_by_role("figure", name="Congestion window", exact=True)
    expect(window.get_by_role("columnheader").nth(1)).to_have_text(re.compile(r"^\d\.\d{3} s"))
    page.keyboard.press("Escape")
    # A zoom of the charts reads the part.
    with page.expect_request(re.compile(r"/(phase|occupancy|states|sequence)\?.*from=")):
        page.get_by_role("button", name="Zoom in").first.click()
    shown.get_by_role("button", name=re.compile("as a table")).click()
    expect(shown.get_by_role("row").nth(2)).to_be_visible()
    # The tools of the charts stay in sight and would lie over a part of them.
    page.evaluate("window.scrollTo(0, 0)")
    assert breaches(page) == []


def test_phases_of_bbr_are_bands_with_their_names(visitor: Visitor, explored: Explored) -> None:
    page = _opens(visitor, explored, "states")
    page.get_by_role("region", name="Explore").get_by_label("Flow").select_option("bbr")
    figure = page.get_by_role("figure", name="States of bbr (bbr)")
    for phase in ("BBR: startup", "BBR: drain", "BBR: probe_bw"):
        expect(figure).to_contain_text(phase)


def test_packets_give_segments_and_sack_blocks(visitor: Visitor, explored: Explored, service: Service) -> None:
    page = _opens(visitor, explored, "sequence", "run")
    figure = page.get_by_role("figure", name=re.compile("^Sequence of cubic"))
    figure.get_by_role("button", name="Capture cubic").click()
    expect(figure.get_by_role("status")).to_contain_text("queued for its packets")
    # The diagram is that of the packets as soon as they are there.
    figure = page.get_by_role("figure", name="Sequence of cubic, from captured packets")
    expect(figure).to_be_visible(timeout=60_000)
    expect(figure).to_contain_text(
        re.compile(r"[\d,]+ segments seen at a1-s1, \d+ of them sent again, [\d,]+ SACK blocks")
    )
    figure.get_by_label("Source of the diagram").select_option("trace")
    expect(page.get_by_role("figure", name="Sequence of cubic, from the trace")).to_be_visible()
