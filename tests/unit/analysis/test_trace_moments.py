"""What happened in a run: known moments of records with known numbers, and of a recorded run."""

from __future__ import annotations

import numpy as np
import pytest

from longhaul.orchestrator.analysis.trace_moments import KINDS, Moment, moment_list, moments_csv
from longhaul.orchestrator.system.errors import NotFound
from longhaul.orchestrator.trace.records import DROP_QUEUE, DROP_RANDOM, EVENT_COMPLETED, EVENT_CONNECTED, EVENT_STOPPED
from tests.support.recordings import plain_run, recorded, trace_of

SECOND = 1_000_000_000
FLOWS = [{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "reno", "size": "1 MB"}]


def test_moments_are_those_of_the_records_in_the_order_of_time() -> None:
    run = plain_run(flows=FLOWS, schedule=[{"at": "3 s", "path": {"bandwidth": "4 Mbit/s"}}])
    a, b = (flow.port for flow in run.flows)
    states = [(0, 10), (1, 10), (3, 12), (3, 6), (0, 6), (2, 6), (0, 6), (4, 2), (3, 2), (0, 3)]
    trace = trace_of(
        event=[
            {"t_ns": SECOND // 2, "id": 0, "what": EVENT_CONNECTED},
            {"t_ns": 4 * SECOND, "id": 1, "what": EVENT_COMPLETED},
            {"t_ns": 5 * SECOND, "id": 1, "what": EVENT_STOPPED},
        ],
        ack=[
            {"t_ns": SECOND + at, "id": 0, "state": state, "cwnd": cwnd, "inflight": 5}
            for at, (state, cwnd) in enumerate(states)
        ],
        drop=[
            {"t_ns": SECOND, "id": 0, "state": DROP_QUEUE, "queue_packets": 7, "destination_port": a},
            {"t_ns": 9 * SECOND, "id": 0, "state": DROP_RANDOM, "source_port": b, "destination_port": 40000},
        ],
    )
    found = moment_list(run, trace.columns).page()
    assert [(one.kind, round(one.t_s, 6), one.of) for one in found.moments] == [
        ("start", 0.5, "a"),
        ("drop", 1.0, "bottleneck"),
        ("recovery", 1.0, "a"),
        ("open", 1.0, "a"),
        ("reduction", 1.0, "a"),
        ("open", 1.0, "a"),
        ("timeout", 1.0, "a"),
        ("recovery", 1.0, "a"),
        ("open", 1.0, "a"),
        ("change", 3.0, None),
        ("stop", 4.0, "b"),
        ("drop", 9.0, "bottleneck"),
    ]
    assert found.total == 12
    texts = [one.text for one in found.moments]
    assert texts[1] == "a packet of a is dropped; 7 packets wait (bottleneck)"
    assert texts[2] == "a recovers from losses; window 12 packets, 5 in flight"
    assert texts[-1] == "an acknowledgement of b is lost by chance (bottleneck)"
    assert moment_list(run, trace.columns, kinds=["stop"]).page().moments == (
        Moment(4.0, "stop", "b", "b is complete"),
    )
    part = moment_list(run, trace.columns, begin_s=3.0, end_s=4.0).page()
    assert [one.kind for one in part.moments] == ["change", "stop"]
    first = moment_list(run, trace.columns).page(most=1)
    assert (first.total, [one.kind for one in first.moments]) == (12, ["start"])


def test_a_recorded_run_has_a_moment_for_each_drop() -> None:
    run, trace, _ = recorded("lossy_pair")
    found = moment_list(run, trace.columns, kinds=["drop"]).page()
    assert found.total == len(trace.drops) > 0
    assert [one.t_s for one in found.moments] == sorted(np.asarray(trace.drops["t_ns"] / 1e9).tolist())
    assert {name for one in found.moments for name in [one.text.split()[3]]} <= {flow.name for flow in run.flows}
    assert sum(moment_list(run, trace.columns, kinds=[kind]).page().total for kind in KINDS) == (
        moment_list(run, trace.columns).page().total
    )


def test_an_unknown_kind_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFound, match="timeout"):
        moment_list(plain_run(), trace_of().columns, kinds=["timeouts"])


def test_moments_of_a_flow_are_its_own_and_the_losses_of_its_packets() -> None:
    run = plain_run(flows=FLOWS, schedule=[{"at": "3 s", "path": {"bandwidth": "4 Mbit/s"}}])
    a, b = (flow.port for flow in run.flows)
    trace = trace_of(
        event=[{"t_ns": SECOND, "id": at, "what": EVENT_CONNECTED} for at in (0, 1)],
        drop=[
            {"t_ns": (2 + at) * SECOND, "id": 0, "state": DROP_QUEUE, "destination_port": port}
            for at, port in enumerate((a, b))
        ],
        link=[{"t_ns": at * SECOND, "id": 0, "marks": marks} for at, marks in enumerate((0, 2, 2, 3))],
    )
    of = {name: moment_list(run, trace.columns, about=[name]).page().moments for name in ("a", "b", "bottleneck")}
    assert [(one.kind, one.t_s) for one in of["a"]] == [("start", 1), ("drop", 2)]
    assert [(one.kind, one.t_s) for one in of["b"]] == [("start", 1), ("drop", 3)]
    assert [(one.kind, one.t_s) for one in of["bottleneck"]] == [("mark", 1), ("drop", 2), ("drop", 3), ("mark", 3)]
    marks = moment_list(run, trace.columns, kinds=["mark"]).page().moments
    assert [one.text for one in marks] == ["2 packets are marked (bottleneck)", "1 packet is marked (bottleneck)"]
    with pytest.raises(NotFound, match="known: a, b, bottleneck"):
        moment_list(run, trace.columns, about=["c"])


def test_a_page_is_after_others_or_around_a_time() -> None:
    run = plain_run(flows=FLOWS)
    drops = [{"t_ns": at * SECOND // 10, "id": 0, "state": DROP_QUEUE} for at in range(100)]
    found = moment_list(run, trace_of(drop=drops).columns, kinds=["drop"])
    assert [one.t_s for one in found.page(skip=97, most=5).moments] == [9.7, 9.8, 9.9]
    near = found.page(most=4, near_s=5.04)
    assert (near.skipped, near.total, [one.t_s for one in near.moments]) == (48, 100, [4.8, 4.9, 5.0, 5.1])
    assert (found.page(most=4, near_s=0).skipped, found.page(most=4, near_s=99).skipped) == (0, 96)
    assert found.page(skip=500).moments == ()
    lines = moments_csv(found.page(most=2).moments).splitlines()
    assert lines[:2] == [
        "t_s,kind,of,text",
        "0.000000000,drop,bottleneck,a packet is dropped; 0 packets wait (bottleneck)",
    ]
    assert len(found.page(most=None).moments) == 100


def test_the_end_of_an_episode_says_how_long_it_took_and_what_was_sent_again() -> None:
    run = plain_run(flows=FLOWS)
    rows = [(0, 0, 0), (1000, 3, 2), (1040, 4, 5), (1100, 0, 7), (2000, 2, 7), (2040, 0, 7), (3000, 3, 8), (3050, 0, 8)]
    acks = [
        {"t_ns": at * 1_000_000, "id": 0, "state": state, "retrans": again, "cwnd": 9, "inflight": 8}
        for at, state, again in rows
    ]
    texts = [one.text for one in moment_list(run, trace_of(ack=acks).columns, kinds=["open"]).page().moments]
    assert texts == [
        "a has repaired its losses after 100.000 ms, 7 packets sent again; window 9 packets, 8 in flight",
        "a is open again after 40.000 ms; window 9 packets, 8 in flight",
        "a has repaired its losses after 50.000 ms, 1 packet sent again; window 9 packets, 8 in flight",
    ]
    part = moment_list(run, trace_of(ack=acks).columns, kinds=["open"], begin_s=2.5).page()
    assert [one.text for one in part.moments] == texts[2:]
