"""States of congestion controls: BBR's gains, CUBIC's origin point, TCP's states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from longhaul.orchestrator.analysis.exploration.control_states import MOST, Stretch, control_states
from longhaul.orchestrator.system.errors import NotFound
from tests.support.folders import DATA
from tests.support.recordings import plain_run, recorded, records, trace_of

SECOND = 1_000_000_000
NONE = 2**31 - 1
BBR = [{"name": "a", "cc": "bbr"}]


def _reports(*gains: tuple[float, int, int]) -> list[dict[str, int]]:
    return [
        {"t_ns": round(t_s * SECOND), "id": 0, "layout": 16, "word3": pacing, "word4": window}
        for t_s, pacing, window in gains
    ]


def test_bbrs_phase_follows_from_the_gains_that_it_reports() -> None:
    gains = [(0.5, 0, 0), (1, 739, 739), (2, 88, 739), (3, 256, 512), (3.5, 320, 512), (4, 192, 512), (5, 256, 256)]
    trace = trace_of(state=_reports(*gains, (6, 256, 512), (9, 311, 700)))
    found = control_states(plain_run(flows=BBR), trace.columns, "a")
    assert found.own is not None
    assert found.own.stretches == (
        Stretch(0.5, 2, "startup"),
        Stretch(2, 3, "drain"),
        Stretch(3, 5, "probe_bw"),
        Stretch(5, 6, "probe_rtt"),
        Stretch(6, 9, "probe_bw"),
        Stretch(9, 10, "other"),
    )
    assert found.own.seconds == {"startup": 1.5, "drain": 1, "probe_bw": 5, "probe_rtt": 1, "other": 1}
    part = control_states(plain_run(flows=BBR), trace.columns, "a", begin_s=4.5, end_s=5.5).own
    assert part is not None
    assert part.stretches == (Stretch(4.5, 5, "probe_bw"), Stretch(5, 5.5, "probe_rtt"))
    assert "10 ms" in found.about


def _acks(*rows: tuple[float, int, int, int]) -> list[dict[str, int]]:
    return [
        {"t_ns": round(t_s * SECOND), "id": 0, "state": state, "cwnd": cwnd, "ssthresh": threshold}
        for t_s, state, cwnd, threshold in rows
    ]


def _origin(*rows: tuple[float, int, int, int], **changes: object) -> list[tuple[float, float]]:
    found = control_states(plain_run(**changes), trace_of(ack=_acks(*rows)).columns, "a").origin
    assert found is not None
    return list(zip(*(column.tolist() for column in found), strict=True))


def test_cubics_origin_is_the_window_at_the_reduction_and_less_if_it_fell_twice() -> None:
    # 100 -> 70; then a reduction below the last maximum, 80 -> 56: fast convergence takes (1 + 0.7) / 2 of it.
    found = _origin(
        (0, 0, 10, NONE),
        (1, 0, 100, NONE),
        (2, 3, 100, 70),
        (3, 0, 70, 70),
        (4, 0, 80, 70),
        (5, 3, 80, 56),
        (6, 0, 56, 56),
        (7, 0, 57, 56),
    )
    assert [(t_s, None if np.isnan(value) else value) for t_s, value in found] == [
        (1, None),
        (3, 100),
        (4, None),
        (6, 80 * (1024 + 717) // 2048),
    ]


def test_a_recovery_that_follows_another_at_once_is_a_reduction_too() -> None:
    # As a copy of tcp_cubic.c that reports its last_max_cwnd had it: 74, then 43, then 29.
    first, second, third = (2, 3, 73, 51), (4, 3, 51, 35), (6, 3, 35, 24)
    found = _origin(
        (0, 0, 73, 54), (1, 0, 74, 54), first, (3, 3, 51, 51), second, (5, 3, 35, 35), third, (7, 0, 24, 24)
    )
    assert [value for _, value in found if not np.isnan(value)] == [73, 29]


def test_a_timeout_makes_cubic_forget_and_a_reduction_that_explains_nothing_is_left_out() -> None:
    after_loss = _origin((1, 0, 100, NONE), (2, 4, 1, 70), (3, 0, 40, 70), (4, 0, 71, 70))
    assert [value for _, value in after_loss][-1] == 71
    unexplained = _origin((1, 0, 100, NONE), (2, 3, 100, 50), (3, 0, 50, 50), (4, 0, 55, 50))
    assert np.isnan([value for _, value in unexplained]).all()


def test_the_reductions_of_a_recorded_cubic_are_all_explained() -> None:
    run, trace, _ = recorded("lossy_pair")
    found = control_states(run, trace.columns, "first")
    assert found.origin is not None
    t_s, packets = found.origin
    growing = ~np.isnan(packets)
    # Between two reductions there is an origin: each reduction gave the threshold that TCP recorded.
    reductions = int((np.diff((trace.acks["state"][trace.acks["id"] == 0] >= 2).astype(int)) > 0).sum())
    assert reductions > 2
    assert (~growing).sum() == reductions
    assert growing.sum() >= reductions - 1
    assert (np.diff(t_s) > 0).all()


def test_the_origin_is_the_one_that_cubic_itself_had() -> None:
    """Recorded: a copy of Linux 6.12's tcp_cubic.c whose get_info reports bic_origin_point, once it has begun an epoch, 15 s beside Reno on
    20 Mbit/s, 40 ms and fq_codel. Some of its recoveries follow others at once."""
    recorded_run = np.load(DATA / "states" / "cubic.npz")
    fields = ("t_ns", "state", "cwnd", "ssthresh")
    acks = records("ack", [{}] * len(recorded_run["t_ns"]))
    for name in fields:
        acks[name] = recorded_run[name]
    found = control_states(plain_run(duration="15 s"), replace(trace_of(), acks=acks).columns, "a").origin
    assert found is not None
    known = recorded_run["origin"] > 0
    at = np.searchsorted(found[0], recorded_run["report_t_ns"][known] / 1e9, side="right") - 1
    assert np.count_nonzero(known) == 13
    assert found[1][at].tolist() == recorded_run["origin"][known].tolist()


def test_without_the_rules_of_cubic_or_every_ack_there_is_no_origin() -> None:
    reno = control_states(plain_run(), trace_of(ack=_acks((1, 0, 10, NONE))).columns, "b")
    assert (reno.origin, reno.own) == (None, None)
    assert "reno reports no state" in reno.about
    run, trace, _ = recorded("policed")
    thinned = control_states(run, trace.columns, "app")
    assert thinned.origin is None
    assert "does not have every ACK" in thinned.about


def test_tcps_states_are_those_of_the_acks_and_many_are_thinned_to_the_longest() -> None:
    run = plain_run()
    found = control_states(run, trace_of(ack=_acks((1, 0, 9, 9), (2, 1, 9, 9), (4, 3, 9, 9))).columns, "a").tcp
    assert found.stretches == (Stretch(1, 2, "open"), Stretch(2, 4, "disorder"), Stretch(4, 10, "recovery"))
    assert (found.changes, found.thinned) == (2, False)
    # Recovery lasts three times as long as open, 1000 times each.
    rows = [row for at in range(1000) for row in ((at / 100, 3, 9, 9), (at / 100 + 0.0075, 0, 9, 9))]
    many = control_states(run, trace_of(ack=_acks(*rows)).columns, "a").tcp
    assert many.thinned
    assert len(many.stretches) <= MOST
    assert (many.stretches[0].begin_s, many.stretches[-1].end_s) == (0, 10)
    assert many.seconds == pytest.approx({"open": 2.5, "recovery": 7.5})
    assert sum(one.end_s - one.begin_s for one in many.stretches if one.state == "recovery") > 7.5


def test_an_unknown_flow_is_refused() -> None:
    with pytest.raises(NotFound, match="known: a, b"):
        control_states(plain_run(), trace_of().columns, "c")
