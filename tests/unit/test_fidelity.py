"""Fidelity: a sound recording passes every check, and each way of spoiling it breaks the check that is meant to see it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from orchestrator.analysis.fidelity import check_fidelity
from orchestrator.run import Run
from orchestrator.trace import Trace
from tests.unit.recordings import recorded

Recording = tuple[Run, Trace, dict[str, Any]]


def broken(run: Run, trace: Trace, facts: dict[str, Any]) -> set[str]:
    return {check.name for check in check_fidelity(run, trace, facts) if not check.ok}


def test_a_sound_run_passes_every_check() -> None:
    checks = check_fidelity(*recorded("lossy_pair"))
    assert [check.text for check in checks if not check.ok] == []
    assert {check.name for check in checks} == {
        "trace complete",
        "congestion control in use",
        "sysctls",
        "no frame above the MTU",
        "bottleneck rate",
        "base RTT",
        "queue limit",
        "random loss",
        "conservation",
        "no drop elsewhere",
        "not limited by buffers",
    }


def _facts(change: Callable[[dict[str, Any]], object]) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        facts = copy.deepcopy(facts)
        change(facts)
        return run, trace, facts

    return spoil


def _acks(**fields: int) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        acks = trace.acks.copy()
        for name, value in fields.items():
            acks[name][:] = value
        return run, replace(trace, acks=acks), facts

    return spoil


def _links(change: Callable[[Any], object]) -> Callable[[Recording], Recording]:
    def spoil(recording: Recording) -> Recording:
        run, trace, facts = recording
        links = trace.links.copy()
        change(links)
        return run, replace(trace, links=links), facts

    return spoil


def _half_the_drops(recording: Recording) -> Recording:
    """Ten times the random losses that were configured."""
    run, trace, facts = recording
    drops = np.concatenate([trace.drops[trace.drops["state"] == 2]] * 10)
    return run, replace(trace, drops=drops), facts


def _device(facts: dict[str, Any], dev: str) -> dict[str, Any]:
    return next(device for device in facts["devices"] if device["dev"] == dev)


@pytest.mark.parametrize(
    ("spoil", "name"),
    [
        (_facts(lambda facts: facts["trace"].update(records=1)), "trace complete"),
        (lambda it: (it[0], replace(it[1], events=it[1].events[:0]), it[2]), "trace complete"),
        (_facts(lambda facts: facts["flows"][0].update(cc="reno")), "congestion control in use"),
        (_facts(lambda facts: facts["flows"][0].update(ecn=True)), "ECN as asked"),
        (_facts(lambda facts: facts["flows"][0].update(error="connecting: timed out")), "flow"),
        (_facts(lambda facts: facts["nodes"][1]["sysctls"][0].__setitem__(1, "7")), "sysctls"),
        (_facts(lambda facts: facts["links"][0].update(max_frame_bytes=9000)), "no frame above the MTU"),
        (_facts(lambda facts: facts["devices"][0].update(offloads_off=False)), "no frame above the MTU"),
        (_links(lambda links: links["tx_bytes"].__imul__(2)), "bottleneck rate"),
        (_acks(rtt_us=39_000), "base RTT"),
        (_acks(rtt_us=47_000), "base RTT"),
        (_links(lambda links: links["queue_max_packets"].__iadd__(1000)), "queue limit"),
        (_half_the_drops, "random loss"),
        (_facts(lambda facts: _device(facts, "s1-b1").update(tx_packets=1)), "conservation"),
        (_facts(lambda facts: _device(facts, "a1-s1").update(tx_dropped=3)), "no drop elsewhere"),
        (_facts(lambda facts: facts["nodes_snmp"][0].update(ip_discards=1)), "no drop elsewhere"),
        (_facts(lambda facts: facts["flows"][0].update(rwnd_limited_us=2_000_000)), "not limited by buffers"),
    ],
)
def test_what_is_wrong_is_seen(spoil: Callable[[Recording], Recording], name: str) -> None:
    assert name in broken(*spoil(recorded("lossy_pair")))


def _with_iperf3(**said: Any) -> Recording:
    """The recorded pair as if iperf3 had made its first flow, and what it said of it."""
    run, trace, facts = recorded("lossy_pair")
    first = replace(run.flows[0], tool="iperf3", client_port=20_000, block_bytes=1_000_000)
    facts = copy.deepcopy(facts)
    fact = facts["flows"][0]
    fact["iperf3"] = {
        "version": "iperf 3.12",
        "block_bytes": 1_000_000,
        "bytes_sent": fact["bytes_sent"] + 4000,
        "retransmits": fact["retransmits"],
        "sender_cc": first.cc,
        "bytes_received": fact["bytes_received"],
        "receiver_cc": first.cc,
        "bytes_given": fact["bytes_sent"] + 4000,
        "bytes_under_way": 9000,
    } | said
    return replace(run, flows=(first, *run.flows[1:])), trace, facts


def test_iperf3_that_agrees_is_believed() -> None:
    assert broken(*_with_iperf3()) == set()


@pytest.mark.parametrize(
    "said",
    [
        {"block_bytes": 131_072},
        {"bytes_sent": 1},
        {"retransmits": 10**6},
        {"retransmits": 0},
        {"sender_cc": "yeah"},
        {"receiver_cc": "yeah"},
        {"bytes_received": 1},
        {"bytes_received": None},
    ],
    ids=lambda said: "_".join(f"{key}_{value}" for key, value in said.items()),
)
def test_iperf3_that_says_otherwise_breaks_the_run(said: dict[str, Any]) -> None:
    assert broken(*_with_iperf3(**said)) == {"iperf3 agrees"}


def test_ecn_that_a_receiver_refuses_breaks_the_run() -> None:
    run, trace, facts = recorded("lossy_pair")
    asking = replace(
        run, nodes=tuple(replace(node, sysctls=(*node.sysctls, ("net/ipv4/tcp_ecn", "1"))) for node in run.nodes)
    )
    assert "ECN as asked" in broken(asking, trace, facts)
    late = copy.deepcopy(facts)
    for fact in late["flows"]:
        fact["connected_us"] = 1_200_000
    assert "ECN as asked" not in broken(asking, trace, late)
