"""Means over repeats: points with intervals, and bands over time."""

from __future__ import annotations

import numpy as np
import pytest

from longhaul.orchestrator.analysis.exploration.bands import band
from longhaul.orchestrator.analysis.exploration.repeats import RepeatedValue, point_values
from longhaul.orchestrator.analysis.intervals import mean_interval
from longhaul.orchestrator.system.errors import NotFound, PlanError
from tests.support.recordings import plain_run, steady, trace_of

SECOND = 1_000_000_000


def test_a_point_has_the_mean_of_its_repeats_with_the_interval_of_comparisons() -> None:
    rows = [("r1", {"a": "1"}, (1.0, None)), ("r2", {"a": "2"}, (5.0, 7.0)), ("r3", {"a": "1"}, (3.0, None))]
    first, second = point_values(rows)
    assert (first.point, first.runs) == ({"a": "1"}, ("r1", "r3"))
    assert first.values == (RepeatedValue(*mean_interval(np.array([1.0, 3.0])), 2), None)
    assert second.values == (RepeatedValue(5.0, None, None, 1), RepeatedValue(7.0, None, None, 1))


def _acks(*windows: tuple[float, int]) -> list[dict[str, int]]:
    return [{"t_ns": round(t_s * SECOND), "id": 0, "cwnd": window, "rtt_us": 40_000} for t_s, window in windows]


def test_a_band_is_students_interval_of_the_mean_at_each_instant() -> None:
    run = plain_run()
    repeats = [
        (run, trace_of(ack=_acks((0, 10), (5, 20))).columns),
        (run, trace_of(ack=_acks((0, 14), (5, 26))).columns),
        (run, trace_of(ack=_acks((5, 50))).columns),
    ]
    found = band(repeats, "cwnd", flow="a", points=4)
    assert found.t_s.tolist() == [1.25, 3.75, 6.25, 8.75]
    assert found.runs.tolist() == [2, 2, 3, 3]
    assert found.mean.tolist() == pytest.approx([12, 12, 32, 32])
    # t for 1 and 2 degrees of freedom; deviations 2.828 and 15.87.
    assert (found.high - found.mean).tolist() == pytest.approx([25.412] * 2 + [39.434] * 2, rel=1e-3)
    assert (found.mean - found.low).tolist() == pytest.approx((found.high - found.mean).tolist())
    assert (found.measure, found.about, found.unit) == ("cwnd", "a", "packets")


def test_a_value_holds_until_the_next_one() -> None:
    found = band([(plain_run(), trace_of(ack=_acks((0, 10), (2.5, 30))).columns)], "cwnd", flow="a", points=2)
    assert found.mean.tolist() == pytest.approx([20, 30])
    assert np.isnan(found.low).all()
    assert found.runs.tolist() == [1, 1]


def test_a_band_of_rates_has_their_bins() -> None:
    run = plain_run()
    repeats = [(run, trace_of(flow=steady(0, rate, 0, 10)).columns) for rate in (500_000, 700_000)]
    found = band(repeats, "goodput", flow="a", points=10)
    assert found.mean == pytest.approx(np.full(10, 4.8e6), rel=0.01)
    assert len(found.t_s) == 10


def test_a_band_of_the_first_queue_needs_no_name() -> None:
    ticks = [{"t_ns": tick * SECOND, "id": 0, "queue_packets": 4} for tick in range(10)]
    found = band([(plain_run(), trace_of(link=ticks).columns)], "queue", points=4)
    assert (found.about, found.mean.tolist()) == ("bottleneck", [4, 4, 4, 4])


def test_unknown_names_and_no_runs_are_refused() -> None:
    with pytest.raises(NotFound, match="known: a, b"):
        band([(plain_run(), trace_of().columns)], "cwnd", flow="c")
    with pytest.raises(NotFound, match="cwnd"):
        band([(plain_run(), trace_of().columns)], "cwmd", flow="a")
    with pytest.raises(PlanError, match="there is no run"):
        band([], "cwnd", flow="a")
