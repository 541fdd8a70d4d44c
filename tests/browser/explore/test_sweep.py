"""A sweep explored: parallel coordinates, importance, scatter, bands and small multiples, by pointer, by keys, and on a phone."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import breaches
from tests.browser.explore.conftest import Explored
from tests.browser.visitor import Visitor
from tests.support.service import ROOT, Service

MEASURE = "of=goodput_bps%40cubic"


def _saved(page: Page, figure: Locator, form: str) -> str:
    figure.locator("summary", has_text="Save").click()
    with page.expect_download() as download:
        figure.get_by_role("button", name=form, exact=True).click()
    return Path(download.value.path()).read_text()


def _middle_of(figure: Locator, name: str) -> tuple[float, float]:
    box = figure.locator("svg text", has_text=re.compile(f"^(?:{name})?{name}$")).first.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_lines_are_left_out_by_a_range_and_opened_by_a_press(visitor: Visitor, explored: Explored) -> None:
    page = visitor.logs_in("read", f"experiments/{explored.experiment}")
    page.get_by_role("link", name="Explore").click()
    figure = page.get_by_role("figure", name="Parallel coordinates")
    expect(figure).to_contain_text("4 of 4 points")
    # By the pointer, along the axis of the first field.
    drawing = figure.get_by_role("slider")
    box = drawing.bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + 64, box["y"] + 44)
    page.mouse.down()
    page.mouse.move(box["x"] + 64, box["y"] + 160, steps=4)
    page.mouse.up()
    expect(figure).to_contain_text("2 of 4 points")
    expect(page).to_have_url(re.compile("keep="))
    page.get_by_role("button", name="Remove all ranges").click()
    expect(figure).to_contain_text("4 of 4 points")
    # By keys: the least value of the round-trip time, and the order of the axes.
    axes = page.get_by_role("list", name="Axes")
    axes.get_by_label("rtt, least").focus()
    page.keyboard.press("ArrowRight")
    expect(figure).to_contain_text("2 of 4 points")
    names = axes.locator("strong")
    before = names.all_inner_texts()
    axes.get_by_role("button", name=f"Move {before[0]} right").click()
    expect(names).to_have_text([before[1], before[0], *before[2:]])
    # By the pointer: the name of the second axis goes to the first place.
    page.mouse.move(*_middle_of(figure, before[0]))
    page.mouse.down()
    page.mouse.move(box["x"] + 70, box["y"] + 20, steps=4)
    page.mouse.up()
    expect(names).to_have_text(before)
    table = _saved(page, figure, "CSV").splitlines()
    assert len(table) == 3 and all("80 ms" in line for line in table[1:])
    assert breaches(page) == []
    drawing.focus()
    page.keyboard.press("ArrowDown")
    expect(drawing).to_have_attribute("aria-valuetext", re.compile("rtt 80 ms"))
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Compare", level=1)).to_be_visible()


def test_importance_is_that_of_the_service(visitor: Visitor, explored: Explored, service: Service) -> None:
    page = visitor.logs_in("read", f"experiments/{explored.experiment}/explore?show=importance&{MEASURE}")
    with service.client() as client:
        asked = {"measure": "goodput_bps", "flow": "cubic"}
        found = client.get(f"{ROOT}/experiments/{explored.experiment}/importance", params=asked).json()
    figure = page.get_by_role("figure", name="Importance for goodput of cubic")
    expect(figure).to_contain_text("8 runs at 4 points")
    expect(figure).to_contain_text("functional ANOVA")
    figure.get_by_role("button", name=re.compile("as a table")).click()
    rows = figure.get_by_role("row").all_inner_texts()[1:]
    shares = [one["share"] for one in found["fields"]] + [found["interactions"], found["noise"]]
    assert len(rows) == len(shares) == 4
    for row, share in zip(rows, shares, strict=True):
        assert abs(float(row.split("\t")[1]) - share) < 1e-5
    assert breaches(page) == []


def test_a_scatter_has_intervals_a_front_and_opens_a_point(visitor: Visitor, explored: Explored) -> None:
    page = visitor.logs_in(
        "read", f"experiments/{explored.experiment}/explore?show=scatter&{MEASURE},rtt_ms.p95%40cubic"
    )
    figure = page.get_by_role("figure", name="goodput of cubic against RTT, 95 % of cubic")
    expect(figure).to_contain_text("95 % interval over the repeats")
    page.get_by_label("Pareto front").check()
    expect(figure).to_contain_text("no other point is better in both")
    svg = _saved(page, figure, "SVG")
    assert "goodput of cubic against" in svg and "var(--" not in svg
    page.get_by_role("combobox", name=re.compile("^Across")).select_option("path.rtt")
    expect(page.get_by_role("figure", name="goodput of cubic against rtt")).to_be_visible()
    assert breaches(page) == []


def test_bands_and_multiples_are_read_when_they_are_shown(visitor: Visitor, explored: Explored) -> None:
    page = visitor.page
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url) if "/bands?" in request.url else None)
    visitor.logs_in("read", f"experiments/{explored.experiment}/explore?show=bands&series=goodput&flow=cubic")
    figure = page.get_by_role("figure", name="Goodput over repeats")
    expect(figure).to_contain_text("mean of 2 runs of cubic")
    assert len(asked) == 1
    page.get_by_label("buffer 2 BDP, rtt 80 ms").check()
    expect(figure.get_by_role("listitem")).to_have_count(3)
    figure.get_by_role("slider").focus()
    page.keyboard.press("ArrowRight")
    expect(figure.get_by_role("slider")).to_have_attribute(
        "aria-valuetext", re.compile(r"s: .* bit/s \(|s: .*Mbit/s \(")
    )
    page.get_by_text("Multiples", exact=True).click()
    multiples = page.get_by_role("table", name="Goodput by buffer and rtt")
    expect(multiples.get_by_role("img", name=re.compile("from .* to "))).to_have_count(4)
    assert breaches(page) == []
    multiples.get_by_role("link").first.click()
    expect(page).to_have_url(re.compile("compare"))


def test_a_phone_has_all_of_it_without_scrolling_sideways(phone: Visitor, explored: Explored) -> None:
    page = phone.logs_in("read", f"experiments/{explored.experiment}/explore")
    for name in ("Parallel", "Importance", "Scatter", "Bands", "Multiples"):
        page.get_by_text(name, exact=True).click()
        expect(page.locator("main svg").first).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, name
