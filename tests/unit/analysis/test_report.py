"""The report: one page that loads no other file, users' text stays text, a figure has the same bytes twice."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from longhaul.orchestrator.analysis.distributions import queue_delay_curves, round_trip_curves
from longhaul.orchestrator.analysis.figures.run_figure import draw_distributions
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.analysis.panels import run_panels
from longhaul.orchestrator.analysis.report.report import ReportedRun, write_report
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.changes import Mark, run_marks
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.trace.records import TRACE_KINDS, Trace

HOSTILE = "</script><img src=https://example.org/x onerror=alert(1)> & $\\frac$"


class Page(HTMLParser):
    """Every tag with its attributes, and the text of each element by its id."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.by_id: dict[str, str] = {}
        self.text = ""
        self._open: str | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self._open = dict(attrs).get("id")

    def handle_endtag(self, tag: str) -> None:
        self._open = None

    def handle_data(self, data: str) -> None:
        self.text += data
        if self._open is not None:
            self.by_id[self._open] = self.by_id.get(self._open, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]


def a_run(*changes: str) -> Run:
    return compile_plan(load_experiment("quick", changes)).runs[0]


def a_trace(run: Run) -> Trace:
    """A saw-tooth window, a steady receiver, a queue that fills."""
    count = run.duration_us // 10_000
    t_ns = np.arange(count, dtype=np.uint64) * 10_000_000
    records = {name: np.zeros(0, dtype) for name, dtype in TRACE_KINDS.items()}
    for name in ("ack", "flow", "link"):
        records[name] = np.zeros(count, TRACE_KINDS[name])
        records[name]["t_ns"] = t_ns
        records[name]["id"] = run.links[0].id if name == "link" else run.flows[0].id
    records["ack"]["cwnd"] = 20 + np.arange(count) % 50
    records["ack"]["rtt_us"] = 40_000 + np.arange(count) % 3
    records["flow"]["app_bytes"] = np.arange(count) * 12_500
    records["link"]["queue_packets"] = np.arange(count) % 30
    return Trace(*(records[kind] for kind in TRACE_KINDS))


def reported(run: Run) -> ReportedRun:
    trace = a_trace(run)
    facts = {
        "flows": [{"id": flow.id, "connected_us": 0, "completed_us": None, "bytes_received": 5} for flow in run.flows]
    }
    document: Any = {
        "run": "0123456789abcdef0123",
        "status": "missed",
        "backend": run.backend,
        "kernel": run.kernel,
        "trace_sha256": "ab" * 32,
        "virtual_s": 10.0,
        "wall_s": 0.5,
        "identity": {"kernel": "cd" * 16},
        **summarise(run, trace, facts),
        "fidelity": {"checks": [{"name": "base RTT", "ok": True, "text": "least 40000 us"}]},
        "expect": [{"text": "utilisation at least 0.9: 0.5", "ok": False}],
    }
    return document, run, trace


def page_of(runs: list[ReportedRun], folder: Path) -> tuple[str, Page]:
    output = folder / "report.html"
    write_report(runs, output)
    return output.read_text(), Page(output.read_text())


def test_the_page_loads_no_file_and_contains_the_series(tmp_path: Path) -> None:
    text, page = page_of([reported(a_run())], tmp_path)

    assert not re.search(r"https?://", text)
    links = [value for _, attributes in page.tags for key, value in attributes.items() if key in ("src", "href")]
    assert links
    assert all(link and link.startswith(("#", "data:")) for link in links)
    (data,) = json.loads(page.by_id["data"])["runs"]
    assert [panel["title"] for panel in data["panels"]] == ["Congestion window", "Goodput", "Round trip", "Queue"]
    window, goodput, rtt, _ = (panel["series"][0] for panel in data["panels"])
    assert window["label"] == "app (cubic)"
    assert max(window["y"]) == 69
    assert len(window["x_s"]) == len(window["y"])
    assert goodput["y"][50] == pytest.approx(10.0)
    assert rtt["y"][:3] == [40.0, 40.001, 40.002]
    assert list(tmp_path.iterdir()) == [tmp_path / "report.html"]


def test_the_page_shows_the_run_and_its_outcome(tmp_path: Path) -> None:
    _, page = page_of([reported(a_run())], tmp_path)

    for text in ("quick seed 1", "longhaul rerun 0123456789abcdef0123", "ab" * 32, "base RTT", "least 40000 us"):
        assert text in page.text
    assert "utilisation at least 0.9: 0.5" in page.text
    assert "10 Mbit/s · round trip 40 ms" in page.text
    assert len(page.all("caption")) == len(page.all("table"))
    assert [canvas["role"] for canvas in page.all("canvas")] == ["img"] * 4
    assert all("app (cubic)" in (canvas["aria-label"] or "") for canvas in page.all("canvas")[:3])


def test_several_runs_get_a_table_of_contents(tmp_path: Path) -> None:
    _, page = page_of([reported(a_run()), reported(a_run("path.rtt=50 ms"))], tmp_path)

    assert [link["href"] for link in page.all("a")] == ["#run-0", "#run-1"]
    assert [section["id"] for section in page.all("section")] == ["run-0", "run-1"]


def test_text_of_users_stays_text(tmp_path: Path) -> None:
    run = a_run()
    hostile = replace(
        run,
        experiment=HOSTILE,
        point={HOSTILE: HOSTILE},
        flows=tuple(replace(flow, name=HOSTILE) for flow in run.flows),
        meaning=replace(run.meaning, about=HOSTILE, buffer_text=HOSTILE),
    )
    document, _, trace = reported(hostile)
    document["expect"][0]["text"] = document["fidelity"]["checks"][0]["text"] = HOSTILE

    _, page = page_of([(document, hostile, trace)] * 2, tmp_path)

    assert len(page.all("script")) == 3
    assert not any("onerror" in attributes for _, attributes in page.tags)
    assert json.loads(page.by_id["data"])["runs"][0]["panels"][0]["series"][0]["label"] == f"{HOSTILE} (cubic)"
    for image in page.all("img"):
        svg = base64.b64decode((image["src"] or "").removeprefix("data:image/svg+xml;base64,"))
        assert not list(ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}img"))


def test_the_same_figure_has_the_same_bytes(tmp_path: Path) -> None:
    runs = [reported(a_run())]

    for name in ("one.svg", "two.SVG"):
        write_report(runs, tmp_path / name)

    one = (tmp_path / "one.svg").read_bytes()
    assert one == (tmp_path / "two.SVG").read_bytes()
    assert ElementTree.fromstring(one).tag == "{http://www.w3.org/2000/svg}svg"
    assert b"app (cubic)" in one


def test_a_png_is_one(tmp_path: Path) -> None:
    write_report([reported(a_run())], tmp_path / "figure.png")

    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG\r\n\x1a\n")


@pytest.mark.parametrize("name", ["report.pdf", "report"])
def test_an_unknown_ending_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"\.html, \.svg, \.png"):
        write_report([reported(a_run())], tmp_path / name)


def test_a_figure_of_too_many_runs_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="13 runs do not fit"):
        write_report([reported(a_run())] * 13, tmp_path / "figure.svg")


def test_a_folder_that_is_missing_is_reported(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match=r"writing .*report.html: there is no folder .*missing"):
        write_report([reported(a_run())], tmp_path / "missing" / "report.html")


def test_panels_are_thinned_and_keep_spikes() -> None:
    run = a_run("duration=60 s")
    trace = a_trace(run)
    trace.acks["cwnd"][4321] = 999

    window = run_panels(run, trace, points=100)[0].series[0]

    assert len(window.x_s) <= 100
    assert np.all(np.diff(window.x_s) > 0)
    assert (window.x_s[0], window.x_s[-1]) == (0.0, 59.99)
    assert (window.y.min(), window.y.max()) == (20, 999)


def test_a_quiet_stretch_keeps_its_values_next_to_a_busy_one() -> None:
    run = a_run()
    trace = a_trace(run)
    trace.acks["t_ns"][100:] = 9_000_000_000 + np.arange(len(trace.acks) - 100)

    window = run_panels(run, trace, points=200)[0].series[0]

    assert np.count_nonzero(window.x_s < 1) > 10


def test_a_trace_without_acks_has_no_panel_of_them() -> None:
    run = a_run()
    trace = replace(a_trace(run), acks=np.zeros(0, TRACE_KINDS["ack"]))

    assert [panel.title for panel in run_panels(run, trace)] == ["Goodput", "Queue"]


def test_marks_name_the_changed_settings() -> None:
    run = compile_plan(load_experiment("path-change")).runs[0]

    assert run_marks(run) == [
        Mark(15_000_000, "20 Mbit/s"),
        Mark(30_000_000, "delay 50 ms, reverse delay 60 ms"),
        Mark(45_000_000, "losses in bursts"),
    ]


def test_a_distribution_agrees_with_the_percentiles() -> None:
    run = a_run("flows.app.cc=reno")
    trace = a_trace(run)
    trace.acks["rtt_us"] = 40_000 + np.arange(len(trace.acks)) % 100 * 1000
    trace.links["queue_bytes"] = np.arange(len(trace.links)) % 10 * 1250
    (round_trips,) = round_trip_curves(run, trace)
    assert round_trips.label == "app (reno)"
    # Even from 40 ms to 139 ms, and from 0 ms to 9 ms of a line of 10 Mbit/s.
    assert np.interp([0.0, 0.5, 1.0], round_trips.share, round_trips.ms) == pytest.approx([40, 89.5, 139], abs=0.5)
    (delays,) = queue_delay_curves(run, trace)
    assert np.interp([0.0, 0.5, 1.0], delays.share, delays.ms) == pytest.approx([0, 4.5, 9], abs=0.51)
    measured = summarise(
        run, trace, {"flows": [{"id": 0, "connected_us": 0, "completed_us": None, "bytes_received": 0}]}
    )
    rtt_ms = measured["flows"][0]["rtt_ms"]
    assert rtt_ms is not None
    assert np.interp(0.95, round_trips.share, round_trips.ms) == pytest.approx(rtt_ms["p95"])
    percentiles = measured["path"]["queue_delay_percentiles_ms"]
    assert percentiles is not None
    assert np.interp(0.95, delays.share, delays.ms) == pytest.approx(percentiles["p95"])
    svg = draw_distributions(run, trace)
    assert svg is not None
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    assert svg == draw_distributions(run, trace)
