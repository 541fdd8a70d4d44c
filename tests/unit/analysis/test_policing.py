"""Policers of a recorded run: its numbers, its moments, and decisions that are computed again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from longhaul.cli.terminal.console import link_lines
from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.analysis.fidelity.policing import judge_policers
from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.analysis.trace_moments import moment_list
from longhaul.orchestrator.trace.records import POLICE_DROP, POLICE_PASS
from tests.support.recordings import plain_run, recorded, trace_of

FRAME = 1514


def test_policers_are_measured_apart_from_queues() -> None:
    run, trace, facts = recorded("policed")
    document: Any = summarise(run, trace, facts)
    dropped = int(np.count_nonzero(trace.decisions["state"] == POLICE_DROP))
    assert dropped > 10
    assert document["policed"] == dropped
    assert document["policers"] == [
        {
            "name": "s1-b1",
            "passed": len(trace.decisions) - dropped,
            "passed_bytes": int(trace.decisions["length"][trace.decisions["state"] == POLICE_PASS].sum()),
            "policed": dropped,
        }
    ]
    assert document["path"]["drops"] == 0
    assert sum(flow["loss_ratio"] > 0 for flow in document["flows"]) == 2
    assert document["acks_filtered"] > 0
    assert f"policer of s1-b1: {dropped} dropped" in " ".join(link_lines(document))


def test_a_run_without_policers_has_no_such_numbers() -> None:
    document: Any = summarise(*recorded("lossy_pair"))
    assert not document.keys() & {"policed", "policers", "acks_filtered"}


def test_each_packet_that_a_policer_drops_is_a_moment() -> None:
    run, trace, _ = recorded("policed")
    found = moment_list(run, trace.columns, kinds=["drop"]).page(most=1000)
    policed = [moment.text for moment in found.moments if moment.of == "s1-b1"]
    assert len(policed) == np.count_nonzero(trace.decisions["state"] == POLICE_DROP)
    assert set(policed) == {f"a packet of {name} is dropped by the policer (s1-b1)" for name in ("app", "udp")}


def test_the_recorded_run_passes_its_checks() -> None:
    assert [check.text for check in check_fidelity(*recorded("policed")) if not check.ok] == []


@pytest.mark.parametrize(("place", "field", "value"), [(50, "length", 60), (200, "state", 2), (-1, "state", 2)])
def test_a_changed_packet_changes_decisions_or_counts(place: int, field: str, value: int) -> None:
    run, trace, facts = recorded("policed")
    decisions = trace.decisions.copy()
    decisions[field][place] = value
    ((ok, _),) = judge_policers(run, replace(trace, decisions=decisions), facts)
    assert not ok


def decided(*packets: tuple[int, int, int]) -> bool:
    """Whether these decisions, as (us, bytes, state), are those of 8 Mbit/s and 3028 bytes: 1 byte a microsecond."""
    run = plain_run(path={"bandwidth": "80 Mbit/s", "rtt": "40 ms", "police": {"rate": "8 Mbit/s", "burst": "3028 B"}})
    rows = [{"t_ns": us * 1000, "length": length, "state": state} for us, length, state in packets]
    passed = [length for _, length, state in packets if state == POLICE_PASS]
    dropped = [length for _, length, state in packets if state == POLICE_DROP]
    (policer,) = run.policers
    counts = {
        "passed_packets": len(passed),
        "passed_bytes": sum(passed),
        "policed_packets": len(dropped),
        "policed_bytes": sum(dropped),
    }
    qdiscs = [{"kind": "lh_link", "link": counts}]
    facts = {"devices": [{"node": policer.node, "dev": policer.dev, "qdiscs": qdiscs}]}
    ((ok, _),) = judge_policers(run, trace_of(decision=rows), facts)
    return ok


def test_a_bucket_decides_to_the_nanosecond() -> None:
    """Two frames empty it; 1514 us later it holds one again, and a microsecond earlier it does not."""
    two = [(0, FRAME, POLICE_PASS), (0, FRAME, POLICE_PASS), (0, FRAME, POLICE_DROP)]
    assert decided(*two, (1514, FRAME, POLICE_PASS))
    assert not decided(*two, (1514, FRAME, POLICE_DROP))
    assert decided(*two, (1513, FRAME, POLICE_DROP))
    assert not decided(*two, (1513, FRAME, POLICE_PASS))


def test_a_dropped_packet_takes_nothing_and_a_pause_fills_the_bucket_once() -> None:
    assert decided((0, 3029, POLICE_DROP), (0, 3028, POLICE_PASS), (0, 1, POLICE_DROP))
    later = 10**9
    assert decided((0, 3028, POLICE_PASS), (later, 3028, POLICE_PASS), (later, 1, POLICE_DROP))
