"""The client returns the result types of `import longhaul`: the same numbers, frames and charts, for runs on a service."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import longhaul
from tests.support.service import Service


def test_a_service_and_this_process_give_the_same_result(
    service: Service, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHAUL_HOME", str(tmp_path / "home"))
    changes = ["duration=3 s", "sweep={flows.app.cc: [cubic, reno]}"]
    here = longhaul.run("quick", set=changes, seed=7)
    with longhaul.Client(service.url, service.tokens["run"]) as client:
        there = client.submit_and_wait("quick", set=changes, seed=7)
        assert isinstance(there, longhaul.Result)
        assert there.points == here.points
        assert there.summary == here.summary
        assert there.frame("acks", "pyarrow").equals(here.frame("acks", "pyarrow"))
        assert there.frame("measures", "pyarrow").equals(here.frame("measures", "pyarrow"))
        one, other = there.runs[0], here.runs[0]
        assert (one.id, one.planned, one.measures) == (other.id, other.planned, other.measures)
        assert one.chart() == other.chart()
        assert one.moments("drop", "recovery") == other.moments("drop", "recovery") != []
        assert one.moments("drop", about=["app"]) == other.moments("drop", about=["app"]) != []
        assert one.states("app").tcp == other.states("app").tcp
        assert one.phase("app").of_values == other.phase("app").of_values > 0
        # Two points, and no repeats: what the congestion control explains is all there is.
        assert there.importance("goodput(app)") == here.importance("goodput(app)")
        assert here.importance("goodput(app)").fields[0].share == pytest.approx(1)
        bands = [result.at({"flows.app.cc": "reno"}).band("cwnd", flow="app") for result in (there, here)]
        assert np.array_equal(bands[0].mean, bands[1].mean, equal_nan=True)
        kept = longhaul.kept_sweep("quick")
        assert kept.importance("goodput(app)").fields[0].share == pytest.approx(1)
        assert "<table>" in there._repr_html_()
        assert one.report(tmp_path / "run.html").stat().st_size > 10_000
        remote = client.compare(one.id, there.runs[1].id, ["goodput(app)"], trace=True)
        local = longhaul.compare(other.id, here.runs[1].id, gates=["goodput(app)"], trace=True)
        assert local.trace_differences and local.trace_differences[0].run_b == here.runs[1].id
        assert remote.trace_differences == local.trace_differences
        assert longhaul.compare(other.id, other.id).trace_differences is None
        assert isinstance(remote, longhaul.Comparison)
        # A single pair has no interval and so no verdicts; its differences are shown nevertheless.
        assert {"goodput(app)", "rtt_mean(app)"} <= {row["measure"] for row in local.table()}
        assert (remote.ok, remote.verdict, remote.table()) == (local.ok, local.verdict, local.table())
