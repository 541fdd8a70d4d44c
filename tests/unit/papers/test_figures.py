"""Pictures of published figures: each kind draws the measurements, with the same bytes for the same runs, and refuses an experiment that does not fit."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pyarrow.parquet as pq
import pytest
from pydantic import TypeAdapter

from longhaul.orchestrator.papers import load
from longhaul.orchestrator.papers import reproduction_page as page_module
from longhaul.orchestrator.papers.claims import Claim, Matrix, ValueClaim
from longhaul.orchestrator.papers.drawings import Drawn, Measured, draw
from longhaul.orchestrator.papers.figure_specs import PICTURES, Picture, breaches
from longhaul.orchestrator.papers.reproduction_page import LARGEST_BYTES, reproduction_page
from longhaul.orchestrator.papers.verdicts import judge_claim
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.yaml_text import parse_document
from longhaul.orchestrator.system.errors import SpecError
from longhaul.orchestrator.trace.records import Trace
from tests.support.recordings import recorded

PUBLISHED = Path(load.__file__).parent / "published"
VARIANTS = ("unpa/bic", "unpa/reno", "unpa/vegas")
ROUND_TRIPS_MS = ("2 ms", "32 ms", "512 ms")


def goodput_bps(row: int, column: int) -> float:
    return 1e6 * (10 * row + column + 1)


def documents(repeats: int = 3) -> list[Any]:
    """Every pair of variants; the first flow's goodput identifies the pair, the second's is half of it, and both differ by repeat."""
    return [
        {
            "status": "done",
            "seed": seed,
            "run": "lossy_pair",
            "point": {"flows.first.preset": first, "flows.second.preset": second},
            "flows": [
                {"name": "first", "goodput_bps": goodput_bps(row, column) + seed * 1e5},
                {"name": "second", "goodput_bps": goodput_bps(row, column) / 2 + seed * 1e5},
            ],
            "phases": {
                "late": {"flows": [{"name": "first", "goodput_bps": 7e6}, {"name": "second", "goodput_bps": 8e6}]}
            },
        }
        for row, first in enumerate(VARIANTS)
        for column, second in enumerate(VARIANTS)
        for seed in range(repeats)
    ]


def kept(document: RunDocument) -> tuple[Run, Trace]:
    run, trace, _ = recorded(document["run"])
    return run, trace


def picture(**written: object) -> Picture:
    made: Picture = TypeAdapter(Picture).validate_python(written)
    return made


def drawn(made: Picture, shown: list[Any], claims: tuple[Claim, ...] = ()) -> Drawn:
    found = draw(made, Measured(shown, "mean", "", kept), claims, 200)
    assert found is not None
    return found


FIRST = {"label": "first", "measure": "goodput", "flow": "first"}
SECOND = {"label": "second", "measure": "goodput", "flow": "second"}
ALONG = {"label": "other flow", "field": "flows.second.preset"}
MAP = picture(kind="map", x=ALONG, y={"label": "first", "field": "flows.first.preset"}, cell=FIRST)
GROUPS = picture(
    kind="groups", x=ALONG, y="goodput, Mbit/s", bars=[FIRST, SECOND], at={"flows.first.preset": "unpa/reno"}
)
SPLIT = picture(kind="groups", x=ALONG, y="goodput, Mbit/s", bars=[FIRST], split="flows.first.preset")
NAMED = picture(kind="curves", x=ALONG, y=FIRST, curves="flows.first.preset")
CDF = picture(kind="cdf", label="goodput, Mbit/s", measure="goodput", curves="flows.first.preset")
SAMPLES = picture(kind="cdf", label="round trip, ms", samples="rtt", at={"flows.first.preset": "unpa/bic"})
OVER_TIME = picture(
    kind="series", quantity="cwnd", label="window", at={"flows.first.preset": "unpa/bic"}, plots="flows.second.preset"
)
ALL = {
    "map": MAP, "groups": GROUPS, "split": SPLIT, "names": NAMED, "cdf": CDF, "samples": SAMPLES, "series": OVER_TIME
}  # fmt: skip


def rows(found: Drawn) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(found.table.as_csv())))


@pytest.mark.parametrize("made", ALL.values(), ids=list(ALL))
def test_the_same_runs_draw_the_same_picture(made: Picture) -> None:
    first, again = drawn(made, documents()), drawn(made, documents())
    assert [plate.svg for plate in first.plates] == [plate.svg for plate in again.plates]
    assert first.table.as_csv() == again.table.as_csv()
    assert first.table.as_parquet() == again.table.as_parquet()
    for plate in first.plates:
        assert ET.fromstring(plate.svg).get("role") == "img"
        assert "<image" not in plate.svg, "vector graphics contain no pixels"


@pytest.mark.parametrize("made", ALL.values(), ids=list(ALL))
def test_csv_and_parquet_hold_the_same_numbers(made: Picture) -> None:
    table = drawn(made, documents()).table
    read = pq.read_table(io.BytesIO(table.as_parquet())).to_pylist()
    assert [[row[name] for name in table.columns] for row in read] == [list(row) for row in table.rows]
    assert len(rows(drawn(made, documents()))) == len(read)


@pytest.mark.parametrize("made", ALL.values(), ids=list(ALL))
def test_failed_runs_are_not_drawn(made: Picture) -> None:
    failed: list[Any] = [{**one, "status": "failed"} for one in documents()]
    assert draw(made, Measured(failed, "mean", "", kept), (), 200) is None


def test_a_map_has_every_pair_with_its_value_and_its_interval() -> None:
    found = drawn(MAP, documents())
    texts = [text.text for text in ET.fromstring(found.plates[0].svg).iter("{http://www.w3.org/2000/svg}text")]
    for row in range(3):
        for column in range(3):
            assert f"{goodput_bps(row, column) / 1e6 + 0.1:.1f}" in texts
    assert sum(str(text).startswith("±") for text in texts) == 9
    assert [float(one["goodput"]) for one in rows(found)] == pytest.approx(
        [goodput_bps(row, column) + 1e5 for row in range(3) for column in range(3)]
    )
    once = drawn(MAP, documents(repeats=1)).plates[0].svg
    assert "±" not in once


@pytest.mark.parametrize("turned", [False, True])
def test_a_published_map_is_next_to_the_measured_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, turned: bool
) -> None:
    lines = ["variant," + ",".join(VARIANTS)]
    lines += [
        f"{name},{','.join(str(1e6 * (100 + 10 * row + column)) for column in range(3))}"
        for row, name in enumerate(VARIANTS)
    ]
    (tmp_path / f"made_{turned:d}.csv").write_text("\n".join(lines) + "\n")
    monkeypatch.setattr(load, "_PUBLISHED", tmp_path)
    fields = ["flows.first.preset", "flows.second.preset"]
    matrix = dict(zip(("rows", "columns"), fields[::-1] if turned else fields, strict=True))
    with_published = MAP.model_copy(update={"published": Matrix(file=f"made_{turned:d}.csv", **matrix)})
    found = drawn(with_published, documents())
    assert ["published" in plate.svg for plate in found.plates] == [True, False]
    for one in rows(found):
        row, column = (VARIANTS.index(one[field]) for field in fields)
        assert float(one["published"]) == 1e6 * (100 + (10 * column + row if turned else 10 * row + column))
    assert found.wide


def test_published_curves_are_dashed_beside_the_measured_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "lines.csv").write_text("K,a testbed,ns-3\n0 B,2e6,4e6\n1000 B,3e6,4e6\n9000 B,1,1\n")
    monkeypatch.setattr(load, "_PUBLISHED", tmp_path)
    shown = [
        {
            "status": "done", "seed": 1, "run": "lossy_pair", "point": {"path.mark_at": f"{mark} B"},
            "flows": [{"name": "first", "goodput_bps": 1e6 + mark}],
        }
        for mark in (0, 1000)
    ]  # fmt: skip
    along = {"label": "K", "field": "path.mark_at"}
    published = {"file": "lines.csv", "rows": "path.mark_at"}
    found = drawn(picture(kind="curves", x=along, y=FIRST, published=published), shown)
    svg = found.plates[0].svg
    for name in (">measured<", ">published: a testbed<", ">published: ns-3<"):
        assert name in svg
    assert svg.count("stroke-dasharray") > drawn(picture(kind="curves", x=along, y=FIRST), shown).plates[0].svg.count(
        "stroke-dasharray"
    )
    assert [(one["published: a testbed"], one["published: ns-3"]) for one in rows(found)] == [
        ("2000000.0", "4000000.0"),
        ("3000000.0", "4000000.0"),
    ]


def test_bars_are_grouped_by_the_field() -> None:
    found = rows(drawn(GROUPS, documents()))
    assert [(one["flows.second.preset"], one["bar"]) for one in found] == [
        (variant, bar) for bar in ("first", "second") for variant in VARIANTS
    ]
    assert float(found[0]["value"]) == pytest.approx(goodput_bps(1, 0) + 1e5)
    assert float(found[0]["low"]) < float(found[0]["value"]) < float(found[0]["high"])


def test_bars_of_a_phase_are_those_of_the_phase() -> None:
    late = picture(
        kind="groups", x=ALONG, y="", bars=[{**FIRST, "phase": "late"}], at={"flows.first.preset": "unpa/reno"}
    )
    found = rows(drawn(late, documents()))
    assert [(one["phase"], float(one["value"])) for one in found] == [("late", 7e6)] * 3


def test_names_along_an_axis_make_bars_a_colour_a_curve() -> None:
    assert rows(drawn(NAMED, documents())) == rows(drawn(SPLIT, documents()))
    svg = drawn(NAMED, documents()).plates[0].svg
    assert len(set(re.findall(r"--line-[0-6]", svg))) == 3


def test_the_value_of_a_claim_is_marked() -> None:
    claim = ValueClaim.model_validate(
        {
            "name": "c", "class": "number", "words": "w", "published": "5 Mbit/s", "kind": "value", "measure": "goodput",
            "flow": "second", "of": "5 Mbit/s", "within": "5 %", "at": {"flows.second.preset": "unpa/vegas"},
        }
    )  # fmt: skip
    found = drawn(GROUPS, documents(), (claim,))
    assert [one["published"] for one in rows(found)] == ["", "", "", "", "", "5000000"]
    assert ">published<" in found.plates[0].svg
    assert ">published<" not in drawn(GROUPS, documents()).plates[0].svg


def test_a_distribution_rises_to_one_over_all_flows_and_repeats() -> None:
    found = [one for one in rows(drawn(CDF, documents())) if one["flows.first.preset"] == "unpa/reno"]
    values = sorted(
        flow["goodput_bps"]
        for one in documents()
        if one["point"]["flows.first.preset"] == "unpa/reno"
        for flow in one["flows"]
    )
    assert [float(one["goodput"]) for one in found] == values
    assert [float(one["share"]) for one in found] == pytest.approx([(rank + 1) / 18 for rank in range(18)])


def test_round_trips_are_those_of_the_window() -> None:
    run, trace = kept(documents()[0])
    names = [flow.name for flow in run.flows]
    documents_of_one = [{**one, "flows": [{"name": name} for name in names]} for one in documents(1)[:1]]
    found = rows(drawn(SAMPLES, documents_of_one))
    inside = (trace.acks["t_ns"] >= run.window_us[0] * 1000) & (trace.acks["t_ns"] <= run.window_us[1] * 1000)
    rtt_ms = trace.acks["rtt_us"][inside & (trace.acks["rtt_us"] > 0)] / 1000
    assert int(found[0]["n"]) == len(rtt_ms)
    assert len(found) <= 200
    assert (float(found[0]["rtt_ms"]), float(found[-1]["rtt_ms"])) == (rtt_ms.min(), rtt_ms.max())


def test_a_line_over_time_keeps_its_extremes_in_few_points() -> None:
    run, trace = kept(documents()[0])
    found = rows(drawn(OVER_TIME, documents()))
    assert {one["flows.second.preset"] for one in found} == set(VARIANTS), "a plot a value, of the first repeat"
    lines = {(one["flows.second.preset"], one["line"]) for one in found}
    assert len(found) <= 204 * len(lines)
    values = np.array([float(one["cwnd_packets"]) for one in found])
    whole = trace.acks["cwnd"][np.isin(trace.acks["id"], [flow.id for flow in run.flows])]
    assert (values.min(), values.max()) == (whole.min(), whole.max())


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("field: path.rtt}", "field: path.rrt}", "figures.fig4.pictures.0.x.field: read 'path.rrt'; allowed:"),
        ("curves: flows.app", "curves: flows.bpp", "figures.fig4.pictures.0.curves: read 'flows.bpp'; allowed:"),
        ("measure: goodput, flow: app}", "measure: goodput, flow: bpp}", "pictures.0.y.flow: read 'bpp'; allowed: app"),
        ("measure: goodput, flow: app}", "measure: goodputs, flow: app}", "figures.fig4.pictures.0.y"),
        ("measure: goodput, flow: app}", "measure: jain, flow: app}", "jain is a measure of the run"),
        ("measure: goodput, flow: app}", "measure: goodput, flow: app, phase: late}", "pictures.0.y.phase: read 'late'"),
        ("kind: curves", "kind: curve", "figures.fig4.pictures.0"),
        ("kind: curves", "kind: curves\n        experiment: apptcp/fig3-rate", "pictures.0.experiment: read 'apptcp/fig3-rate'"),
        ("kind: curves", "kind: curves\n        at: {path.rtt: 3 ms}", "figures.fig4.pictures.0.at.path.rtt: read '3 ms'"),
        ("        curves: flows.app\n", "", "values of flows.app would overlap"),
        ("kind: curves", "kind: curves\n        published: {file: simbricks_dctcp_4000.csv, rows: path.rtt}", "pictures.0.published.path.rtt: read '0 B'"),
        ("kind: curves", "kind: curves\n        published: {file: none.csv, rows: path.rtt}", "published.file: none.csv is not a table of numbers"),
    ],
)  # fmt: skip
def test_a_picture_that_does_not_fit_is_refused_with_its_path(written: str, instead: str, message: str) -> None:
    text = (PUBLISHED / "apptcp.yaml").read_text()
    start = text.index("name: fig4")
    assert written in text[start:]
    with pytest.raises(SpecError) as refused:
        load.read_paper(parse_document("apptcp.yaml", text[:start] + text[start:].replace(written, instead, 1)))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("written", "instead", "message"),
    [
        ("column: ns-3", "column: ns-4", "figures.fig1.claims.as-ns-3.column: read 'ns-4'; allowed: testbed, SimBricks, ns-3"),
        ("table: {file: simbricks_dctcp_4000.csv", "table: {file: none.csv", "claims.as-ns-3.table.file: none.csv is not a table of numbers"),
        ("simbricks_dctcp_4000.csv, rows: path.mark_at}\n        column", "simbricks_dctcp_4000.csv, rows: path.rtt}\n        column", "claims.as-ns-3.table: read 'path.rtt'"),
    ],
)  # fmt: skip
def test_a_curve_that_was_not_published_is_refused_with_its_path(written: str, instead: str, message: str) -> None:
    text = (PUBLISHED / "simbricks-dctcp.yaml").read_text()
    assert written in text
    with pytest.raises(SpecError) as refused:
        load.read_paper(parse_document("simbricks-dctcp.yaml", text.replace(written, instead, 1)))
    assert message in str(refused.value)


def test_published_curves_need_numbers_along_x() -> None:
    published = {"file": "a.csv", "rows": "flows.app.cc"}
    made = picture(kind="curves", x={"label": "x", "field": "flows.app.cc"}, y={"label": "y", "measure": "jain"}, published=published)  # fmt: skip
    (place, what) = next(iter(breaches(made, load.experiment_of("datacenter/incast").model_copy(update={"sweep": {"flows.app.cc": ["reno", "dctcp"]}}))))  # fmt: skip
    assert place == "published"
    assert "they make bars, not curves" in what


@pytest.mark.parametrize(
    ("kind", "change", "message"),
    [
        ("groups", {"bars": [FIRST, {"label": "", "measure": "jain"}]}, "measures of one unit"),
        ("groups", {"bars": []}, "at least 1 item"),
        ("map", {"middle": "3 ms"}, "a rate with its unit"),
        ("map", {"published": {"file": "a.csv", "rows": "flows.first.preset", "columns": "path.rtt"}}, "the fields of x and y"),
        ("curves", {"published": {"file": "a.csv", "rows": "path.rtt"}}, "must be the field of x"),
        ("cdf", {"samples": "rtt"}, "one of `measure` and `samples`"),
        ("cdf", {"measure": "jain", "flows": ["first"]}, "flows are not allowed"),
        ("series", {"quantity": "colour"}, "'cwnd', 'goodput', 'rtt' or 'queue'"),
    ],
)  # fmt: skip
def test_an_invalid_picture_is_refused(kind: str, change: dict[str, Any], message: str) -> None:
    whole = next(made for made in ALL.values() if made.kind == kind).model_dump(exclude_defaults=True)
    PICTURES[kind].model_validate({"kind": kind, **whole})
    with pytest.raises(ValueError, match=re.escape(message)):
        PICTURES[kind].model_validate({"kind": kind, **whole, **change})


def test_a_page_contains_its_numbers_and_loads_no_file() -> None:
    paper = load.load_paper("apptcp")
    figure = next(one for one in paper.figures if one.name == "fig4")
    runs: list[Any] = [
        {
            "status": "done", "seed": 1, "point": {"path.rtt": rtt, "flows.app": variant},
            "flows": [{"name": "app", "goodput_bps": 594.9e6}],
        }
        for rtt in ROUND_TRIPS_MS
        for variant in ("apptcp", "bic")
    ]  # fmt: skip
    measured = {"apptcp/fig4-rtt": Measured(runs, "mean", "the plan", kept)}
    verdicts = [judge_claim("fig4", claim, runs, "mean") for claim in figure.claims]
    page = reproduction_page(paper, [figure], verdicts, measured, how="Measured.")
    assert len(page.encode()) < LARGEST_BYTES
    policy = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy == ["default-src 'none'; style-src 'unsafe-inline';  img-src data:"]
    assert not re.findall(r'(?:src|href)="(?!data:|#)', page)
    encoded = re.findall(r"data:application/vnd.apache.parquet;base64,([^\"]*)", page)
    table = pq.read_table(io.BytesIO(base64.b64decode(encoded[0])))
    assert table.num_rows == 6
    assert json.dumps(table.column("goodput").to_pylist()) == json.dumps([594.9e6] * 6)


def test_a_page_that_is_too_large_has_fewer_points_over_time(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = load.load_paper("unpa")
    figure = next(one for one in paper.figures if one.name == "fig2-3").model_copy(update={"claims": []})
    at = {"flows.first.preset": "unpa/illinois", "flows.second.preset": "unpa/vegas"}
    measured = {"unpa/tables": Measured([documents(1)[0] | {"point": at}], "mean", "the plan", kept)}

    def lines() -> int:
        page = reproduction_page(paper, [figure], [], measured, how="Measured.")
        return page.count("%0A")

    whole = lines()
    monkeypatch.setattr(page_module, "LARGEST_BYTES", 1)
    assert lines() < whole / 2
