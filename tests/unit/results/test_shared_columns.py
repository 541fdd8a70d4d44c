"""Columns that are decoded once for all flows: the same result as each flow's own reader gives, for every series, flow and window."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.analysis.distributions import DISTRIBUTIONS, curves_from_columns, round_trip_curves
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, LINK_SERIES, timeline
from longhaul.orchestrator.results import shared_columns
from longhaul.orchestrator.results.shared_columns import SharedColumns
from longhaul.orchestrator.results.traces import read_columns, write_traces
from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import EVER
from tests.support.recordings import plain_run, recorded, steady, trace_of

SPANS = [EVER, (0, 10**9), (700_000_000, 1_400_000_000), (10**12, 2 * 10**12)]


@pytest.mark.parametrize("span", SPANS)
@pytest.mark.parametrize("most", [shared_columns._MOST_ROWS, 10])
def test_each_flow_and_link_gets_its_own(
    tmp_path: Path, span: tuple[int, int], most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shared_columns, "_MOST_ROWS", most)
    run, trace, _ = recorded("lossy_pair")
    write_traces(tmp_path, trace)
    with SharedColumns(tmp_path) as source:
        for kind, names, about in (
            *(("ack", ["cwnd", "rtt_us"], flow.id) for flow in run.flows),
            *(("flow", ["app_bytes"], flow.id) for flow in run.flows),
            *(("link", ["queue_packets", "drops"], link.id) for link in run.links),
            ("ack", ["cwnd"], 999),
        ):
            shared, own = source(kind, names, about, span), read_columns(tmp_path, kind, names, about, span)
            assert shared.keys() == own.keys()
            for name, column in own.items():
                assert shared[name].dtype == column.dtype
                assert np.array_equal(shared[name], column), (kind, name, about)


def test_every_series_is_the_same_as_from_the_trace(tmp_path: Path) -> None:
    run, trace, _ = recorded("lossy_pair")
    write_traces(tmp_path, trace)
    with SharedColumns(tmp_path) as source:
        for begin_s, end_s in ((0.0, None), (0.5, 1.5)):
            for name in FLOW_SERIES:
                for flow in run.flows:
                    one, other = (
                        timeline(run, of, name, flow=flow.name, begin_s=begin_s, end_s=end_s, points=200)
                        for of in (source, trace.columns)
                    )
                    assert np.array_equal(one.t_s, other.t_s) and np.array_equal(one.values, other.values), name
            for name in LINK_SERIES:
                one, other = (
                    timeline(run, of, name, begin_s=begin_s, end_s=end_s, points=200) for of in (source, trace.columns)
                )
                assert np.array_equal(one.values, other.values), name


def test_a_file_that_is_not_a_trace_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "acks.parquet").write_bytes(b"nothing")
    with SharedColumns(tmp_path) as source, pytest.raises(TraceError, match=r"acks\.parquet is damaged"):
        source("ack", ["cwnd"], 0, EVER)


def test_distributions_are_those_that_reports_draw(tmp_path: Path) -> None:
    run, trace, _ = recorded("lossy_pair")
    drawn = {curve.label: curve for curve in round_trip_curves(run, trace)}
    for curve in curves_from_columns(run, trace.columns, "rtt"):
        (same,) = (one for label, one in drawn.items() if label.split()[0] == curve.label)
        assert np.allclose(curve.ms, same.ms)
    assert set(DISTRIBUTIONS) == {"rtt", "goodput", "queue_delay"}


def test_a_steady_flow_has_one_goodput() -> None:
    run = plain_run()
    trace = trace_of(flow=steady(0, 500_000) + steady(1, 250_000))
    first, second = curves_from_columns(run, trace.columns, "goodput")
    assert np.allclose(first.ms, 4_000_000) and np.allclose(second.ms, 2_000_000)
    assert first.share[0] == 0 and first.share[-1] == 1
