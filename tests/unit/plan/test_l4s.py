"""L4S in a plan: the queue's numbers, who asks for which ECN, whose packets are re-marked; and no trace of it in other plans."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.qdiscs import CLSACT, DUALPI2
from longhaul.orchestrator.plan.queues.tc_words import tc_command
from longhaul.orchestrator.plan.run import Qdisc, Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError

CLASSIC = {"name": "classic", "cc": "cubic", "ecn": "on"}
SCALABLE = {"name": "scalable", "cc": "dctcp", "ect": 1}


def plan(*flows: dict[str, Any], path: dict[str, Any] | None = None, **changes: Any) -> Plan:
    written = {
        "experiment": "l4s",
        "kernel": "7.3",
        "path": {"bandwidth": "100 Mbit/s", "rtt": "20 ms", "queue": "dualpi2", "ecn": "accurate"} | (path or {}),
        "flows": list(flows or (CLASSIC, SCALABLE)),
        "duration": "10 s",
    }
    return compile_plan(parse_experiment(written | changes))


def qdiscs(run: Run, kind: str) -> list[tuple[str, Qdisc]]:
    return [(end.dev, qdisc) for end in run.ends for qdisc in end.qdiscs if qdisc.kind == kind]


def tcp_ecn(run: Run) -> dict[str, str]:
    return {node.name: dict(node.sysctls)["net/ipv4/tcp_ecn"] for node in run.nodes if not node.bridge}


def test_the_defaults_are_the_kernels() -> None:
    ((dev, queue),) = qdiscs(plan().runs[0], DUALPI2)
    assert dev == "s1-s2"
    options = dict(queue.options)
    assert options.pop("limit") == 165
    assert options.pop("memory_bytes") == 165 * 2 * (1514 + 766)
    assert options == {
        "target_us": 15_000,
        "tupdate_us": 16_000,
        "alpha": 41,
        "beta": 819,
        "step": 1000,
        "step_in_packets": False,
        "coupling": 2,
        "classic_percent": 10,
        "drop_overload": True,
        "drop_early": False,
    }


def test_each_parameter_reaches_the_queue_and_its_command() -> None:
    dual = {
        "target": "20 ms",
        "tupdate": "8 ms",
        "alpha": 0.5,
        "beta": 1.0,
        "step": "5 packets",
        "coupling": 3,
        "classic_protection": "25 %",
        "overload": "overflow",
        "drop_at": "enqueue",
    }
    ((dev, queue),) = qdiscs(plan(path={"dualpi2": dual, "buffer": "100 packets"}).runs[0], DUALPI2)
    assert tc_command(dev, queue) == (
        "tc qdisc add dev s1-s2 parent 2:1 handle 3: dualpi2 limit 100 memlimit 456000 target 20000us tupdate 8000us "
        "alpha 0.500000 beta 1.000000 step_thresh 5pkt coupling_factor 3 classic_protection 25% overflow drop_enqueue"
    )


def test_a_link_of_its_own_has_its_own_parameters() -> None:
    run = plan(
        {"name": "a", "cc": "dctcp"},
        topology="parking_lot",
        path={"dualpi2": {"coupling": 4}},
        links={"s1-s2": {"dualpi2": {"coupling": 1}}},
    ).runs[0]
    found = {dev: queue.options["coupling"] for dev, queue in qdiscs(run, DUALPI2)}
    assert found["s1-s2"] == 1
    assert {value for dev, value in found.items() if dev != "s1-s2"} == {4}


def test_each_host_asks_for_its_flows_kind_of_ecn() -> None:
    """Of a sender: off, on, accurate. Receivers accept accurate ECN only where a sender asks for it."""
    flows = (
        {"name": "off", "cc": "cubic", "ecn": "off"},
        {"name": "on", "cc": "cubic", "ecn": "on"},
        {"name": "full", "cc": "cubic"},
    )
    asked = tcp_ecn(plan(*flows).runs[0])
    assert (asked["a1"], asked["a2"], asked["a3"]) == ("0", "1", "3")
    assert {asked[name] for name in asked if name.startswith("b")} == {"5"}
    plain = tcp_ecn(plan(*flows, path={"ecn": "on"}).runs[0])
    assert {plain[name] for name in plain if name.startswith("b")} == {"2"}


def test_only_the_scalable_senders_packets_are_marked_again() -> None:
    run = plan().runs[0]
    ((dev, place),) = qdiscs(run, CLSACT)
    assert dev == f"{run.flows[1].from_node}-s1"
    assert "ip dsfield set 0x01 retain 0x03" in tc_command(dev, place)


def test_udp_carries_its_codepoint_itself() -> None:
    run = plan(
        {"name": "zero", "udp": "1 Mbit/s", "ect": 0}, {"name": "one", "udp": "1 Mbit/s", "ect": 1}, CLASSIC
    ).runs[0]
    assert [flow.options.ect for flow in run.flows] == [0b10, 0b01, 0]
    assert qdiscs(run, CLSACT) == []


def test_ect0_from_a_host_whose_packets_are_marked_again_is_refused() -> None:
    there = {"sender": "a1", "receiver": "b1"}
    with pytest.raises(
        PlanError, match=r"flows\.blind\.ect: it sends ECT\(0\) from a1, whose packets leave as ECT\(1\)"
    ):
        plan(SCALABLE | there, {"name": "blind", "udp": "1 Mbit/s", "ect": 0} | there)


def test_hosts_have_offloads_where_they_are_asked_for() -> None:
    ends = list(plan(path={"offloads": "on"}).runs[0].ends)
    assert {end.offloads for end in ends if end.node[0] in "ab"} == {True}
    assert {end.offloads for end in ends if end.node[0] == "s"} == {False}


def test_a_plan_without_l4s_says_nothing_of_it() -> None:
    data = str(plan(CLASSIC, path={"queue": "droptail", "ecn": "on"}).runs[0].as_json())
    for word in ("offloads", "departures", "clsact", "'ect'", "dualpi2"):
        assert word not in data


def test_an_l4s_queue_without_l4s_traffic_is_noted() -> None:
    assert any("no flow is for the L4S queue" in note for note in plan(CLASSIC).lint)
    assert not any("L4S" in note for note in plan().lint)
