"""L4S: the two queues of dualpi2 measured apart, and the checks of their marks, against a recording and made numbers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.analysis.dual_queue import measure_queues
from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.plan.qdiscs import CLSACT
from longhaul.orchestrator.trace.records import DROP_QUEUE, ECN_MARKED, QUEUE_CLASSIC, QUEUE_L4S
from tests.support.recordings import failed_checks, recorded, trace_of

ECT0, ECT1 = 2, 1


def left(queue: int, count: int, marked: int, *, port: int, wait_ms: float = 1.0) -> list[dict[str, int]]:
    """Packets that leave a queue, a millisecond apart, the first of them marked."""
    return [
        {
            "t_ns": number * 1_000_000,
            "state": queue,
            "destination_port": port,
            "source_port": 7,
            "ecn": ECN_MARKED if number < marked else ECT1,
            "wait_ns": round(wait_ms * 1e6),
        }
        for number in range(count)
    ]


def test_coupling_is_marks_over_the_root_of_signals() -> None:
    """40 of 1,000 Classic packets are marked, 400 of 1,000 L4S packets: 0.4 / 0.2."""
    trace = trace_of(
        departure=[*left(QUEUE_CLASSIC, 1000, 40, port=1, wait_ms=15), *left(QUEUE_L4S, 1000, 400, port=2, wait_ms=0.5)]
    )
    numbers = measure_queues(trace, 0, 0, 10)
    assert numbers["coupling"] == pytest.approx(2)
    assert numbers["classic"]["delay_ms"] == {"mean": 15, "p50": 15, "p95": 15, "p99": 15}
    assert numbers["l4s"]["delay_ms"] == {"mean": 0.5, "p50": 0.5, "p95": 0.5, "p99": 0.5}
    assert (numbers["l4s"]["packets"], numbers["l4s"]["marks"], numbers["l4s"]["drops"]) == (1000, 400, 0)
    # Of the first half second only: 40 of 501, and 400 of 501.
    half = measure_queues(trace, 0, 0, 0.5)
    assert half["classic"]["signalled"] == pytest.approx(40 / 501)


def test_a_dropped_packet_belongs_to_the_queue_of_its_ports() -> None:
    drop = {"t_ns": 5, "state": DROP_QUEUE, "source_port": 7}
    trace = trace_of(
        departure=[*left(QUEUE_CLASSIC, 90, 0, port=1), *left(QUEUE_L4S, 60, 0, port=2)],
        drop=[
            *([drop | {"destination_port": 1}] * 10),
            *([drop | {"destination_port": 2}] * 40),
            # Nothing else of this one came through.
            drop | {"destination_port": 3},
        ],
    )
    numbers = measure_queues(trace, 0, 0, 10)
    assert (numbers["classic"]["drops"], numbers["l4s"]["drops"]) == (11, 40)
    assert numbers["l4s"]["signalled"] == pytest.approx(0.4)


def test_a_queue_without_packets_has_no_numbers() -> None:
    numbers = measure_queues(trace_of(departure=left(QUEUE_L4S, 10, 2, port=2)), 0, 0, 10)
    assert numbers["classic"] == {"packets": 0, "marks": 0, "drops": 0, "signalled": None, "delay_ms": None}
    assert numbers["coupling"] is None


def test_only_a_link_with_dualpi2_has_two_queues() -> None:
    dual: Any = summarise(*recorded("two_queues"))
    assert [("dual" in link) for link in dual["links"]] == [True]
    plain: Any = summarise(*recorded("lossy_pair"))
    assert "dual" not in plain["path"]


def test_the_recording_passes_every_check() -> None:
    checks = check_fidelity(*recorded("two_queues"))
    assert [check.text for check in checks if not check.ok] == []
    assert {"two queues", "ECT as asked", "marks"} <= {check.name for check in checks}


def _dual(facts: dict[str, Any]) -> dict[str, Any]:
    found: list[dict[str, Any]] = [
        qdisc for device in facts["devices"] for qdisc in device["qdiscs"] if qdisc["kind"] == "dualpi2"
    ]
    return found[0]


def _add(facts: dict[str, Any], queue: str, packets: int) -> None:
    _dual(facts)["dualpi2"][queue] += packets


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (lambda facts: facts["flows"][1].update(marks_received=facts["flows"][1]["marks_received"] + 1), "marks"),
        (lambda facts: facts["flows"][1].update(marks_received=facts["flows"][1]["marks_received"] - 20), "marks"),
        (lambda facts: facts["flows"][1].update(marks_reported=facts["flows"][1]["marks_reported"] + 1), "marks"),
        (lambda facts: facts["flows"][0].update(marks_received=0), "marks"),
        (lambda facts: facts["flows"][1].update(accurate_ecn=False), "ECN as asked"),
        (lambda facts: facts["flows"][0].update(accurate_ecn=True), "ECN as asked"),
        (lambda facts: _add(facts, "classic_packets", 1), "two queues"),
        (lambda facts: _add(facts, "l4s_packets", -1), "two queues"),
        (lambda facts: _dual(facts).update(marks=10_000), "two queues"),
        (lambda facts: _dual(facts).update(marks=1), "two queues"),
        (lambda facts: _dual(facts)["options"].update(coupling=3), "devices as asked"),
        (lambda facts: _dual(facts)["options"].update(step=999), "devices as asked"),
    ],
)
def test_each_fault_fails_its_check(spoil: Callable[[dict[str, Any]], object], name: str) -> None:
    run, trace, facts = recorded("two_queues")
    facts = copy.deepcopy(facts)
    spoil(facts)
    assert name in failed_checks(run, trace, facts)


def test_a_packet_that_keeps_ect0_fails_the_run() -> None:
    run, trace, facts = recorded("two_queues")
    departures = trace.departures.copy()
    scalable = (departures["destination_port"] == run.flows[1].port) & (departures["ecn"] == ECT1)
    departures["ecn"][scalable.argmax()] = ECT0
    assert failed_checks(run, replace(trace, departures=departures), facts) == {"ECT as asked"}


def test_a_lost_departure_is_noticed() -> None:
    run, trace, facts = recorded("two_queues")
    assert "two queues" in failed_checks(run, replace(trace, departures=trace.departures[:-1]), facts)


def test_a_missing_filter_fails_the_run() -> None:
    run, trace, facts = recorded("two_queues")
    facts = copy.deepcopy(facts)
    for device in facts["devices"]:
        device["qdiscs"] = [qdisc for qdisc in device["qdiscs"] if qdisc["kind"] != CLSACT]
    assert failed_checks(run, trace, facts) == {"devices as asked"}
