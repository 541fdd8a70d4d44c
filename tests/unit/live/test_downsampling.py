"""The rule by which a trace becomes samples: extremes are kept, times rise, and no piece-wise reading changes a bit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhaul.orchestrator.live.downsampling import Downsampler, Key, Samples, joined
from longhaul.orchestrator.live.metrics import RUN_METRICS
from longhaul.orchestrator.live.moments import ACTIVE, CHANGE, LINK_RATE, STALE, START
from longhaul.orchestrator.live.readings import COUNTS, FLOW_THROUGHPUT, GOODPUT, INFO, LINK_THROUGHPUT, STATES, labels
from longhaul.orchestrator.live.replay import samples_of
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES, Trace, split_records
from tests.support.recordings import RUNS, plain_run, recorded, steady, trace_of

RUN_ID = "0123456789abcdef0123"
CWND = ("longhaul_flow_cwnd_packets", 0)


def samples(run: Run, trace: Trace, cell_ms: int = 10) -> dict[Key, Samples]:
    downsampler = Downsampler(run, RUN_ID, cell_ms)
    return joined([*downsampler.feed(trace), *downsampler.finish()])


def values(one: Samples) -> list[tuple[int, float]]:
    """The values without the end mark."""
    assert one.bits[-1] == STALE
    return list(zip(one.ms[:-1].tolist(), one.bits[:-1].view(np.float64).tolist(), strict=True))


def acks(*points: tuple[float, int], flow: int = 0, **more: int) -> list[dict[str, int]]:
    return [{"t_ns": round(ms * 1e6), "id": flow, "cwnd": cwnd, **more} for ms, cwnd in points]


def test_a_cell_keeps_its_extremes_at_their_times() -> None:
    trace = trace_of(ack=acks((0, 10), (3, 50), (5.5, 2), (9, 20), (12, 7), (15, 7), (31, 1)))
    assert values(samples(plain_run(), trace)[CWND]) == [(3, 50.0), (5, 2.0), (12, 7.0), (31, 1.0)]


def test_two_extremes_of_one_millisecond_get_separate_times() -> None:
    trace = trace_of(ack=acks((3.1, 50), (3.2, 2), (19.1, 4), (19.9, 8), (40, 1)))
    assert values(samples(plain_run(), trace)[CWND]) == [(3, 50.0), (4, 2.0), (18, 4.0), (19, 8.0), (40, 1.0)]


def test_a_missing_value_has_no_sample() -> None:
    first = {"ssthresh": 2**31 - 1, "pacing_Bps": 2**64 - 1, "rtt_us": 0}
    then = {"ssthresh": 30, "pacing_Bps": 1000, "rtt_us": 40_000}
    trace = trace_of(ack=[*acks((1, 10), **first), *acks((21, 11), **then)])
    found = samples(plain_run(), trace)
    assert values(found["longhaul_flow_ssthresh_packets", 0]) == [(21, 30.0)]
    assert values(found["longhaul_flow_pacing_bps", 0]) == [(21, 8000.0)]
    assert values(found["longhaul_flow_rtt_seconds", 0]) == [(21, 0.04)]


def test_a_counter_keeps_the_last_of_a_cell() -> None:
    points = [{"t_ns": ms * 10**6, "id": 0, "retrans": count} for ms, count in ((1, 0), (4, 1), (7, 3), (33, 5))]
    assert values(samples(plain_run(), trace_of(ack=points))["longhaul_flow_retransmits_total", 0]) == [(7, 3), (33, 5)]


def test_a_web_users_connections_are_one_counter() -> None:
    run = plain_run(flows=[{"name": "w", "cc": "cubic", "web": {"mean": "10 KB"}}])
    points = [{"t_ns": ms * 10**6, "id": 0, "retrans": count} for ms, count in ((1, 2), (11, 3), (21, 1), (31, 4))]
    found = samples(run, trace_of(ack=points))["longhaul_flow_retransmits_total", 0]
    assert [value for _, value in values(found)] == [2, 3, 3, 6]


def test_goodput_is_the_rate_of_arrivals_in_each_cell() -> None:
    run = plain_run()
    found = samples(run, trace_of(flow=steady(0, 1_000_000, 1.0, 3.0)))
    rate = dict(values(found[GOODPUT, 0]))
    assert list(rate) == list(range(10, 10_001, 10))
    assert {rate[ms] for ms in range(10, 1001, 10)} == {0.0}
    assert {rate[ms] for ms in range(1010, 3001, 10)} == {8_000_000.0}
    assert {rate[ms] for ms in range(3010, 10_001, 10)} == {0.0}
    # The cells have equal lengths, so a longer mean is the mean of their values.
    assert np.mean(list(rate.values())) == pytest.approx(2_000_000 * 8 / 10)


def test_a_link_and_a_sender_have_their_rates() -> None:
    run = plain_run()
    frame, mss = run.meaning.frame_bytes, run.meaning.mss_bytes
    trace = trace_of(
        ack=[{"t_ns": k * 5_000_000, "id": 0, "delivered": k, "acked_bytes": k * mss} for k in range(1, 101)],
        link=[{"t_ns": k * 10_000_000 + 1, "id": 0, "tx_bytes": k * 12_500, "drops": 0} for k in range(1, 51)],
    )
    found = samples(run, trace)
    assert dict(values(found[LINK_THROUGHPUT, 0]))[250] == 10e6
    assert dict(values(found[FLOW_THROUGHPUT, 0]))[250] == 2 * frame * 8 / 0.01


def test_a_run_has_its_mark_every_second_and_all_series_end() -> None:
    run = plain_run()
    found = samples(run, trace_of(ack=acks((5, 1), (9990, 3))))
    assert values(found[INFO, 0]) == [(second * 1000, 1.0) for second in range(11)]
    assert {int(one.ms[-1]) for one in found.values()} == {10_010}


def test_records_after_the_end_count_at_the_end() -> None:
    found = samples(plain_run(), trace_of(ack=acks((9_999, 1), (10_070, 3))))
    assert values(found[CWND]) == [(9999, 1.0), (10_000, 3.0)]


def test_a_run_that_broke_off_ends_where_it_did() -> None:
    run = plain_run()
    downsampler = Downsampler(run, RUN_ID)
    pieces = downsampler.feed(trace_of(ack=acks((5, 1), (2000, 3))))
    found = joined(pieces + downsampler.finish(at_the_end=False))
    assert {int(one.ms[-1]) for one in found.values()} == {2010}
    assert values(found[GOODPUT, 0])[-1][0] <= 2000
    assert Downsampler(run, RUN_ID).finish(at_the_end=False) == []


def test_records_of_unknown_flows_are_left_out() -> None:
    found = samples(plain_run(), trace_of(ack=acks((5, 1), flow=77), link=[{"t_ns": 5, "id": 9, "drops": 3}]))
    assert not {key for key in found if key[1] in (9, 77)}


def test_every_metric_of_the_table_is_made_with_its_labels() -> None:
    run, trace, _ = recorded("lossy_pair")
    found = samples(run, trace)
    # The path of that run has no changes; tests/unit/live/test_moments.py has a run with some.
    metrics = [metric for metric in RUN_METRICS if metric.name != CHANGE]
    assert {name for name, _ in found} == {metric.name for metric in metrics}
    moments, rates = {ACTIVE, LINK_RATE, START}, {GOODPUT, FLOW_THROUGHPUT, LINK_THROUGHPUT}
    read = {one.metric for one in (*STATES, *COUNTS)} | rates | {INFO}
    assert not read & moments
    assert read | moments == {metric.name for metric in metrics}
    for metric in metrics:
        named = labels(run, RUN_ID, metric.name)
        assert set(named) - {"__name__"} <= set(metric.labels)
        assert list(named) == sorted(named)
    # UDP has no congestion control, and Prometheus has no empty labels.
    assert "cc" not in labels(run, RUN_ID, GOODPUT, 2)


@pytest.mark.parametrize("name", ["lossy_pair", "real_clock"])
@settings(max_examples=30)
@given(data=st.data())
def test_a_recorded_run_is_the_same_in_any_pieces(name: str, data: Any) -> None:
    run, trace, _ = recorded(name)
    whole = samples(run, trace)
    body = np.fromfile(RUNS / name / "trace.bin", dtype=np.uint8)[HEADER_BYTES:].reshape(-1, RECORD_BYTES)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=30)))
    downsampler = Downsampler(run, RUN_ID)
    pieces = []
    for begin, end in itertools.pairwise([0, *cuts, len(body)]):
        pieces += downsampler.feed(split_records(body[begin:end].reshape(-1)))
    same(joined(pieces + downsampler.finish()), whole)


@pytest.mark.parametrize("name", ["lossy_pair", "real_clock"])
def test_a_replay_by_kinds_is_the_stream(name: str) -> None:
    """Kept records no longer have an order among kinds."""
    run, trace, _ = recorded(name)
    same(
        joined([one for some in samples_of(Downsampler(run, RUN_ID), run, trace) for one in some]), samples(run, trace)
    )


def same(found: dict[Key, Samples], wanted: dict[Key, Samples]) -> None:
    assert found.keys() == wanted.keys()
    for key, one in wanted.items():
        assert (found[key].ms.tolist(), found[key].bits.tolist()) == (one.ms.tolist(), one.bits.tolist()), key


POINTS = st.lists(
    st.tuples(st.integers(0, 10_000_000), st.integers(0, 1), st.integers(0, 2**32 - 1)), min_size=1, max_size=120
)


@settings(max_examples=150)
@given(points=POINTS, cuts=st.lists(st.integers(0, 120), max_size=8), cell_ms=st.sampled_from([2, 7, 10, 100, 1000]))
def test_extremes_are_kept_in_order_and_in_any_pieces(
    points: list[tuple[int, int, int]], cuts: list[int], cell_ms: int
) -> None:
    run = plain_run()
    rows = [{"t_ns": us * 1000, "id": flow, "cwnd": cwnd} for us, flow, cwnd in sorted(points, key=lambda one: one[0])]
    whole = samples(run, trace_of(ack=rows), cell_ms)
    downsampler = Downsampler(run, RUN_ID, cell_ms)
    pieces = []
    for begin, end in itertools.pairwise([0, *sorted(min(cut, len(rows)) for cut in cuts), len(rows)]):
        pieces += downsampler.feed(trace_of(ack=rows[begin:end]))
    same(joined(pieces + downsampler.finish()), whole)
    for flow in {row["id"] for row in rows}:
        kept = whole["longhaul_flow_cwnd_packets", flow]
        assert (np.diff(kept.ms) > 0).all()
        found: dict[int, list[float]] = {}
        for ms, value in values(kept):
            found.setdefault(ms // cell_ms, []).append(value)
        written: dict[int, list[int]] = {}
        for row in rows:
            if row["id"] == flow:
                written.setdefault(row["t_ns"] // (cell_ms * 1_000_000), []).append(row["cwnd"])
        assert found.keys() == written.keys()
        for cell, some in written.items():
            assert (min(found[cell]), max(found[cell]), len(found[cell]) <= 2) == (min(some), max(some), True)
