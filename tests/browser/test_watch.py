"""The page of a run: live, cancelled, across a restart of the service, and kept, with a zoom that the address restores."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from playwright.sync_api import Locator, Page, Request, expect

from tests.browser.views import reaches, settle
from tests.browser.visitor import Visitor
from tests.support.service import Service

# Long enough to be watched, and fast enough on a busy machine.
LONG: dict[str, Any] = {
    "experiment": "long",
    "path": {"bandwidth": "300 Mbit/s", "rtt": "20 ms"},
    "flows": [{"name": "one", "cc": "cubic"}, {"name": "two", "cc": "bbr", "start": "1 s"}],
    "duration": "2000 s",
}
# A shorter stretch may have no ACK, after a timeout.
STRETCH_S = 2.0
# The number of pixels in the colour of each of the first flows.
_COLOURS = """([canvas, flows]) => {
    const style = getComputedStyle(document.documentElement);
    const wanted = Array.from({ length: flows }, (_, at) => style.getPropertyValue(`--flow-${at}`).match(/[0-9a-f]{2}/g).map((one) => parseInt(one, 16)));
    const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
    const found = wanted.map(() => 0);
    for (let at = 0; at < data.length; at += 4)
        wanted.forEach(([r, g, b], flow) => { if (data[at] === r && data[at + 1] === g && data[at + 2] === b) found[flow]++; });
    return found;
}"""


def run_of(made: dict[str, Any]) -> str:
    return str(made["runs"][0]).rpartition("/")[2]


@pytest.fixture
def long_run(service: Service) -> Iterator[str]:
    """A running run, which is cancelled afterwards."""
    made = service.submit({"spec": LONG})
    yield run_of(made)
    service.cancel(made["id"])


def chart(page: Page, name: str) -> Locator:
    return page.get_by_role("figure", name=name, exact=True)


def values(page: Page, name: str) -> Locator:
    """The legend of a chart, with its values."""
    return chart(page, name).get_by_role("table", name=f"Values of {name}")


def samples(page: Page, name: str, folder: Path) -> dict[str, list[tuple[float, float]]]:
    """The samples that a chart shows, from its CSV file."""
    chart(page, name).get_by_text("Save").click()
    with page.expect_download() as download:
        chart(page, name).get_by_role("button", name="CSV").click()
    file = folder / "samples.csv"
    download.value.save_as(file)
    page.keyboard.press("Escape")
    found: dict[str, list[tuple[float, float]]] = {}
    with file.open(newline="") as text:
        for row in list(csv.reader(text))[1:]:
            found.setdefault(row[0], []).append((float(row[1]), float(row[2])))
    return found


def front_s(page: Page) -> float:
    """The progress of the run on the page, in virtual seconds."""
    match = re.search(r"([\d.]+) s of", page.get_by_text(re.compile(r"[\d.]+ s of")).inner_text())
    assert match is not None
    return float(match[1])


def wait_until(page: Page, at_least_s: float) -> float:
    reaches(page, at_least_s)
    return front_s(page)


def test_running_run_is_watched_and_cancelled(visitor: Visitor, service: Service, tmp_path: Path) -> None:
    page = visitor.logs_in("run", "runs")
    made = service.submit({"spec": LONG})
    visitor.opens(f"runs/{run_of(made)}")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()
    for name in ("Goodput", "RTT", "In flight", "Queue", "Retransmits"):
        expect(values(page, name).get_by_role("cell").nth(1)).not_to_be_empty()
    wait_until(page, 3)
    expect(page.get_by_text(re.compile(r"about .* left"))).to_be_visible()
    visitor.pictures("run-live")
    assert {"one", "two"} <= set(samples(page, "Congestion window", tmp_path))
    # A single click loses nothing.
    page.get_by_role("button", name="Cancel").click()
    question = page.get_by_role("dialog", name="Cancel long?")
    question.get_by_role("button", name="Go back").click()
    expect(question).to_have_count(0)
    page.get_by_role("button", name="Cancel").click()
    question.get_by_role("button", name="Cancel the run").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("cancelled")
    expect(page.get_by_role("button", name="Cancel")).to_have_count(0)
    assert service.wait(made["id"])["status"] == "cancelled"


def test_scope_read_sees_no_actions(visitor: Visitor, long_run: str) -> None:
    page = visitor.logs_in("read", f"runs/{long_run}")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    for name in ("Cancel", "Rerun", "Pin"):
        expect(page.get_by_role("button", name=name)).to_have_count(0)


def test_restart_of_the_service_neither_loses_nor_doubles_samples(
    visitor: Visitor, service: Service, long_run: str, tmp_path: Path
) -> None:
    page = visitor.logs_in("run", f"runs/{long_run}")
    before_s = wait_until(page, 8)
    with service.away():
        expect(page.get_by_role("banner").get_by_role("status").filter(has_text="reconnecting")).to_be_visible()
    after_s = wait_until(page, before_s + 6)
    found = samples(page, "Congestion window", tmp_path)
    for name, begin_s in (("one", 0.0), ("two", 1.0)):
        times = [at for at, _ in found[name]]
        assert times == sorted(set(times)), "a sample arrived twice or out of order"
        cells = {int(at / STRETCH_S) for at in times}
        # Every cell from the flow's first full one to the one that is being filled.
        wanted = set(range(int(begin_s / STRETCH_S) + 1, int(after_s / STRETCH_S) - 1))
        assert wanted <= cells, sorted(wanted - cells)


def test_ended_run_shows_its_kept_result(visitor: Visitor, service: Service) -> None:
    page = visitor.logs_in("run", "runs")
    expected = {"measure": "goodput", "flow": "two", "at_least": "1 Mbit/s"}
    made = service.submit({"spec": LONG | {"experiment": "ends", "duration": "6 s", "expect": [expected]}})
    visitor.opens(f"experiments/{made['id']}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("done")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    expect(page.get_by_role("table", name="Summary")).to_contain_text("one")
    # The expectations with their values, and the JUnit file for CI.
    expect(page.get_by_role("listitem").filter(has_text="at least 1 Mbit/s")).to_have_text(
        re.compile(r"met goodput\(two\) at least 1 Mbit/s: [\d.]+ Mbit/s$")
    )
    junit = page.get_by_role("link", name="JUnit").get_attribute("href")
    assert "<testsuite" in page.request.get(f"{service.url}{junit}").text()
    page.get_by_role("link", name="Open the run").click()
    expect(page.get_by_role("table", name="Flows")).to_contain_text("cubic")
    expect(page.get_by_role("heading", name="Fidelity")).to_be_visible()
    page.get_by_role("button", name="Pin", exact=True).click()
    expect(page.get_by_role("button", name="Unpin")).to_be_visible()
    page.get_by_role("button", name="Rerun").click()
    # The result of the rerun is shown next to the charts of the run.
    reruns = page.get_by_role("list", name="Reruns")
    expect(reruns).to_contain_text("identical: the traces are equal, byte for byte")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    # The page of the rerun has the same charts and files, and no broken links.
    reruns.get_by_role("link").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("Rerun of")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    # The header has its own link named Compare.
    content = page.get_by_role("main")
    for name in ("Compare", "Rerun", "Pin"):
        expect(content.get_by_role("button", name=name, exact=True)).to_have_count(0)
        expect(content.get_by_role("link", name=name, exact=True)).to_have_count(0)
    files = page.get_by_role("region", name="Files").get_by_role("link")
    expect(files.first).to_be_visible()
    for address in files.evaluate_all("all => all.map((one) => one.href)"):
        assert page.request.get(address).ok, address


def test_zoom_requests_finer_values_and_is_in_the_address(visitor: Visitor, kept: Service) -> None:
    page = visitor.page
    requested: list[str] = []

    def note(request: Request) -> None:
        if "/timelines?" in request.url:
            requested.append(request.url)

    page.on("request", note)
    visitor.logs_in("read", f"runs/{kept.run}")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    visitor.pictures("run")
    over = chart(page, "Congestion window").locator(".u-over").bounding_box()
    assert over is not None
    middle = over["y"] + over["height"] / 2
    with page.expect_request(lambda request: "from=" in request.url):
        page.mouse.move(over["x"] + over["width"] * 0.4, middle)
        page.mouse.down()
        page.mouse.move(over["x"] + over["width"] * 0.6, middle, steps=5)
        page.mouse.up()
    expect(page).to_have_url(re.compile("at="))
    window = page.get_by_text(re.compile(r"[\d.]+ – [\d.]+ s")).inner_text()
    # A pan needs no request, because the neighbours of the window were loaded too.
    zoomed = page.url
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text(window)).to_have_count(0)
    expect(page).not_to_have_url(zoomed)
    page.keyboard.press("l")
    expect(page).to_have_url(re.compile("log=1"))
    page.get_by_role("group", name="Flows").get_by_role("button").first.hover()
    there = page.url
    again = page.get_by_text(re.compile(r"[\d.]+ – [\d.]+ s")).inner_text()
    page.reload()
    expect(page.get_by_text(again)).to_be_visible()
    expect(page.get_by_role("button", name="Log", exact=True)).to_have_attribute("aria-pressed", "true")
    assert page.url == there
    page.keyboard.press("0")
    expect(page).not_to_have_url(re.compile("at="))
    assert any("from=" in one for one in requested)
    assert any("from=" not in one for one in requested)


def test_values_of_a_chart_follow_the_pointer_after_a_zoom(visitor: Visitor, kept: Service) -> None:
    page = visitor.logs_in("read", f"runs/{kept.run}")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    over = chart(page, "Congestion window").locator(".u-over").bounding_box()
    assert over is not None
    middle = over["y"] + over["height"] / 2
    page.mouse.move(over["x"] + over["width"] * 0.4, middle)
    page.mouse.down()
    page.mouse.move(over["x"] + over["width"] * 0.6, middle, steps=5)
    page.mouse.up()
    expect(page).to_have_url(re.compile("at="))
    # The address changes a frame before the legend does.
    settle(page)
    first, last = (
        float(word)
        for word in re.findall(r"[\d.]+", page.get_by_text(re.compile(r"[\d.]+ – [\d.]+ s")).inner_text())[:2]
    )
    # The pointer is still at six tenths of the chart.
    wanted = first + 0.6 * (last - first)
    match = re.match(r"([\d.]+) s", values(page, "Congestion window").get_by_role("columnheader").nth(1).inner_text())
    assert match is not None and abs(float(match[1]) - wanted) < 0.02 * (last - first), (match, first, last)


@pytest.fixture(scope="module")
def ten(service: Service) -> str:
    """A run with ten flows, a warmup, a scheduled change, drops and a missed expectation."""
    names = [f"flow-{at}" for at in range(9)] + ["the-last-of-all-flows-with-a-long-name"]
    controls = ["cubic", "bbr", "reno", "htcp", "vegas"] * 2
    spec = {
        "experiment": "ten",
        "path": {"bandwidth": "20 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
        "flows": [{"name": name, "cc": cc} for name, cc in zip(names, controls, strict=True)],
        "schedule": [{"at": "4 s", "path": {"bandwidth": "10 Mbit/s"}}],
        "duration": "6 s",
        "warmup": "2 s",
        "expect": [{"measure": "goodput", "flow": names[0], "at_least": "19.99 Mbit/s"}],
    }
    made = service.submit({"spec": spec})
    assert service.wait(made["id"])["status"] == "missed"
    return run_of(made)


def test_warmup_is_marked_in_charts_and_headings(visitor: Visitor, ten: str) -> None:
    page = visitor.logs_in("read", f"runs/{ten}")
    expect(page.get_by_role("heading", name="Flows after warmup (2 s to 6 s)")).to_be_visible()
    # The missed expectation is above the charts.
    missed = page.get_by_role("listitem").filter(has_text="at least 19.99 Mbit/s").bounding_box()
    charts = chart(page, "Congestion window").bounding_box()
    assert missed is not None and charts is not None and missed["y"] < charts["y"]


def test_key_explains_the_signs_in_sight_and_in_files(visitor: Visitor, ten: str, tmp_path: Path) -> None:
    page = visitor.logs_in("read", f"runs/{ten}")
    key = page.get_by_role("list", name="Signs in the charts")
    for sign in ("ssthresh", "buffer", "scheduled change", "packets dropped", "left out of the measures (warmup)"):
        expect(key).to_contain_text(sign)
    # It is far above the goodput of each of ten flows, so it is not drawn.
    expect(key).not_to_contain_text("capacity")
    for form in ("SVG", "PNG"):
        chart(page, "Queue").get_by_text("Save").click()
        with page.expect_download() as download:
            chart(page, "Queue").get_by_role("button", name=form).click()
        page.keyboard.press("Escape")
        download.value.save_as(tmp_path / form)
    texts = [one.text for one in ElementTree.parse(tmp_path / "SVG").iter("{http://www.w3.org/2000/svg}text")]
    assert {
        "packets dropped by the queue",
        "a scheduled change of the path",
        "left out of the measures (warmup)",
    } <= set(texts)
    assert (tmp_path / "PNG").read_bytes().startswith(b"\x89PNG")
    # Neither the warmup nor the change is in this part.
    visitor.opens(f"runs/{ten}?at=2.5~3.5")
    expect(key).not_to_contain_text("warmup")
    expect(key).not_to_contain_text("scheduled change")
    expect(key).to_contain_text("buffer of the bottleneck")


def test_legend_has_ten_flows_in_a_fixed_order(visitor: Visitor, phone: Visitor, ten: str) -> None:
    page = visitor.logs_in("read", f"runs/{ten}")
    legend = values(page, "RTT")
    names = legend.locator("td:first-child")
    expect(names).to_have_count(10)
    written = names.all_inner_texts()
    legend.scroll_into_view_if_needed()
    over = chart(page, "RTT").locator(".u-over").bounding_box()
    assert over is not None
    page.mouse.move(over["x"] + over["width"] * 0.7, over["y"] + 20)
    expect(legend.get_by_role("columnheader").nth(1)).to_contain_text(re.compile(r"4\.\d+ s"))
    assert names.all_inner_texts() == written
    # The tooltip has all of them, the longest round trip first.
    shown = re.findall(r"([\d.]+) ms", chart(page, "RTT").locator("[aria-hidden]", has_text="flow-0").inner_text())
    assert len(shown) == 10 and shown == sorted(shown, key=float, reverse=True), shown
    visitor.pictures("ten-flows")
    for direction in (1, -1):
        legend.get_by_role("button", name="Max").click()
        most = [float(one.split()[0]) for one in legend.locator("td:last-child").all_inner_texts()]
        assert most == sorted(most)[::direction], most
    # Lines with nearly the same values are all seen.
    drawn = page.evaluate(_COLOURS, [chart(page, "RTT").locator("canvas").element_handle(), 8])
    assert min(drawn) > max(drawn) / 20, drawn
    phone.logs_in("read", f"runs/{ten}")
    small = values(phone.page, "Congestion window")
    expect(small).to_contain_text("the-last-of-all-flows-with-a-long-name")
    wide, room = small.evaluate("table => [table.scrollWidth, table.parentElement.clientWidth]")
    assert wide <= room
    assert phone.page.evaluate("document.documentElement.scrollWidth") <= phone.page.evaluate("innerWidth")
    phone.pictures("phone-ten-flows")


def test_chart_is_read_by_keyboard_and_as_a_table(visitor: Visitor, ten: str) -> None:
    page = visitor.logs_in("read", f"runs/{ten}")
    there = page.url
    pointer = chart(page, "RTT").get_by_role("slider")
    pointer.focus()
    page.keyboard.press("Home")
    for _ in range(5):
        page.keyboard.press("Shift+ArrowRight")
    expect(pointer).to_have_attribute("aria-valuetext", re.compile(r"^3\.000 s, .*flow-0 [\d.]+ ms"))
    expect(values(page, "Queue").get_by_role("columnheader").nth(1)).to_contain_text("3.000 s")
    page.keyboard.press("ArrowLeft")
    expect(pointer).to_have_attribute("aria-valuetext", re.compile(r"^2\.940 s, "))
    page.keyboard.press("Escape")
    expect(values(page, "Queue").get_by_role("columnheader").nth(1)).to_contain_text("Last")
    # The keys moved the pointer and not the window.
    assert page.url == there
    # Only the progress and the count of moments are announced, never each new value.
    assert chart(page, "RTT").locator("output, [aria-live], [role=status]").count() == 0
    chart(page, "RTT").get_by_role("button", name="Show RTT as a table").click()
    table = chart(page, "RTT").get_by_role("table", name="RTT as a table")
    expect(table.get_by_role("columnheader")).to_have_count(11)
    assert 100 < table.get_by_role("row").count() <= 201
    expect(table.get_by_role("row").last).to_contain_text("6.000 s")


def test_unknown_and_short_ids(visitor: Visitor, kept: Service) -> None:
    page = visitor.logs_in("read", "runs/deadbeef")
    expect(page.get_by_role("heading", name="There is no run deadbeef")).to_be_visible()
    page.get_by_role("link", name="All runs").click()
    expect(page.get_by_role("table", name="Runs")).to_be_visible()
    visitor.opens(f"runs/{kept.run[:8]}")
    expect(page).to_have_url(re.compile(f"runs/{kept.run}$"))
    visitor.opens("experiments/what-is-this")
    expect(page.get_by_role("heading", name="There is no experiment what-is-this")).to_be_visible()


def test_chart_is_saved_as_svg_and_png(visitor: Visitor, kept: Service, tmp_path: Path) -> None:
    page = visitor.logs_in("read", f"runs/{kept.run}")
    for form, begins in (("SVG", b"<svg "), ("PNG", b"\x89PNG")):
        chart(page, "Goodput").get_by_text("Save").click()
        with page.expect_download() as download:
            chart(page, "Goodput").get_by_role("button", name=form).click()
        page.keyboard.press("Escape")
        download.value.save_as(tmp_path / form)
        assert (tmp_path / form).read_bytes().startswith(begins)
        assert download.value.suggested_filename == f"{kept.run}-goodput.{form.lower()}"


def test_run_page_on_a_phone(phone: Visitor, kept: Service) -> None:
    page = phone.logs_in("read", f"runs/{kept.run}")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    expect(page.get_by_text("two fingers zoom, one pans")).to_be_visible()
    phone.pictures("phone-run")
    assert page.evaluate("document.documentElement.scrollWidth") <= page.evaluate("innerWidth")


def test_two_fingers_zoom_and_one_pans(phone: Visitor, kept: Service) -> None:
    page = phone.logs_in("read", f"runs/{kept.run}")
    expect(values(page, "Congestion window")).to_contain_text("packets")
    over = chart(page, "Congestion window").locator(".u-over").bounding_box()
    assert over is not None
    hand = page.context.new_cdp_session(page)

    def touch(kind: str, *shares: float) -> None:
        places = [
            {"id": at, "x": over["x"] + over["width"] * share, "y": over["y"] + over["height"] / 2}
            for at, share in enumerate(shares)
        ]
        hand.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": places})

    def window() -> tuple[float, float]:
        text = page.get_by_text(re.compile(r"[\d.]+ – [\d.]+ s")).inner_text()
        first, last = (float(word) for word in re.findall(r"[\d.]+", text)[:2])
        return first, last

    touch("touchStart", 0.4, 0.6)
    for apart in (0.15, 0.2, 0.25, 0.3, 0.4):
        touch("touchMove", 0.5 - apart, 0.5 + apart)
    touch("touchEnd")
    expect(page).to_have_url(re.compile("at="))
    # A fifth of ten seconds was between the fingers, and now fills four fifths of the chart.
    first, last = window()
    assert abs((last - first) - 2.5) < 0.2, (first, last)
    assert abs((first + last) / 2 - 5) < 0.2, (first, last)
    zoomed = page.url
    touch("touchStart", 0.8)
    for share in (0.7, 0.6, 0.5, 0.4):
        touch("touchMove", share)
    touch("touchEnd")
    expect(page).not_to_have_url(zoomed)
    later = window()
    assert abs((later[0] - first) - 1.0) < 0.2, (first, later)
    assert abs((later[1] - later[0]) - (last - first)) < 0.05
