"""From a graph to devices: which device shapes, and the addresses and ports of paths of every kind."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import End, Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError


def compiled(topology: str, params: dict[str, Any] | None = None, **changes: Any) -> Run:
    written = {
        "experiment": "made",
        "emulation": "chain",
        "topology": topology,
        "params": params or {},
        "flows": [{"name": "a", "cc": "cubic"}],
        "duration": "10 s",
        **changes,
    }
    return compile_plan(parse_experiment(written)).runs[0]


def devices(run: Run) -> dict[str, End]:
    return {end.dev: end for end in run.ends}


def delay_us(run: Run, dev: str) -> int:
    delays_ns = [qdisc.options["delay_ns"] for qdisc in devices(run)[dev].qdiscs if qdisc.kind == "netem"]
    return sum(one for one in delays_ns if isinstance(one, int)) // 1000


def rtts_us(run: Run) -> list[int]:
    return [sum(delay_us(run, dev) for dev in (*flow.forward, *flow.back)) for flow in run.flows]


PATH = {"bandwidth": "100 Mbit/s", "rtt": "40 ms"}


def test_one_pair_needs_one_switch_and_several_need_two() -> None:
    one = compiled("dumbbell", path=PATH)
    two = compiled(
        "dumbbell", path=PATH, flows=[{"name": "a", "cc": "cubic"}, {"name": "b", "cc": "bic", "sack": "off"}]
    )
    assert [node.name for node in one.nodes] == ["s1", "b1", "a1"]
    assert {node.name for node in two.nodes if node.bridge} == {"s1", "s2"}
    assert [(flow.from_node, flow.to_node) for flow in two.flows] == [("a1", "b1"), ("a2", "b2")]


@pytest.mark.parametrize(
    ("topology", "params", "flows", "expected"),
    [
        ("dumbbell", {"n": 3, "bw": "10 Mbit/s", "rtt": "20 ms", "rtt_last": "100 ms"}, 3, [20_000, 60_000, 100_000]),
        ("parking_lot", {"k": 3, "rtt": "20 ms"}, 4, [60_000, 20_000, 20_000, 20_000]),
        ("incast", {"n": 3, "rtt": "1 ms"}, 3, [1000] * 3),
        ("long_path", {"hops": 4, "forward": "30 ms", "reverse": "90 ms"}, 1, [120_000]),
        ("lan_and_wan", {"rtt_near": "2 ms", "rtt_far": "100 ms"}, 2, [2000, 100_000]),
        ("evn", {"n": 4, "first": "10 ms", "last": "40 ms"}, 4, [10_000, 20_000, 30_000, 40_000]),
    ],
)
def test_base_round_trips_are_the_topologys(
    topology: str, params: dict[str, Any], flows: int, expected: list[int]
) -> None:
    run = compiled(topology, params, flows=[{"name": "a", "cc": "cubic", "count": flows}])
    assert rtts_us(run) == expected


def test_no_end_host_shapes_its_own_traffic() -> None:
    for topology in ("dumbbell", "parking_lot", "incast", "long_path", "lan_and_wan", "evn"):
        run = compiled(topology, {"n": 3} if topology in ("dumbbell", "incast", "evn") else {}, path=PATH)
        bridges = {node.name for node in run.nodes if node.bridge}
        routers = {node.name for node in run.nodes if ("net/ipv4/ip_forward", "1") in node.sysctls}
        shaping = {end.node for end in run.ends if end.qdiscs}
        assert shaping
        assert shaping <= bridges | routers


def test_a_host_with_an_uplink_gets_a_separate_stage() -> None:
    run = compiled("evn", {"n": 2, "uplink": "50 Mbit/s"}, flows=[{"name": "a", "cc": "cubic", "count": 2}])
    first = run.flows[0]
    assert first.forward[:2] == ("t1-x1", "x1-s1")
    (rate,) = [qdisc.options["rate_bps"] for qdisc in devices(run)["x1-s1"].qdiscs if qdisc.kind == "tbf"]
    assert rate == 50_000_000
    assert {link.name: link.dev for link in run.links}["t1-s1"] == "x1-s1"


def test_path_describes_every_bottleneck_and_links_one_of_them() -> None:
    run = compiled(
        "parking_lot", path={"bandwidth": "10 Mbit/s"}, links={"s2-s3": {"bandwidth": "5 Mbit/s", "rtt": "50 ms"}}
    )
    assert [(link.name, link.rate_bps) for link in run.links] == [
        ("s1-s2", 10_000_000),
        ("s2-s3", 5_000_000),
        ("s3-s4", 10_000_000),
    ]
    assert rtts_us(run) == [90_000]
    # Every buffer of 1 BDP is computed from the round trip of the pair that crosses all bottlenecks.
    assert run.links[0].queue_limit_packets == round(10e6 * 0.09 / 8 / 1514)


def test_a_flow_adds_its_missing_delay_on_an_unshared_device() -> None:
    flows = [
        {"name": "a", "cc": "cubic"},
        {"name": "b", "cc": "cubic", "rtt": "300 ms", "sender": "far1", "receiver": "b2"},
    ]
    run = compiled("lan_and_wan", flows=flows)
    assert rtts_us(run) == [2000, 300_000]
    assert delay_us(run, "s1-x1") == 1000 + 49_000 + 200_000


def test_routers_join_networks_and_have_routes() -> None:
    run = compiled("long_path", {"hops": 3})
    hosts = {node.name for node in run.nodes}
    assert hosts == {"a1", "b1", "r1", "r2", "r3", "r4"}
    assert len({end.address.split(".")[1] for end in run.ends if end.address}) == 5
    receiver = devices(run)["b1-r4"].address
    assert receiver is not None
    there = f"{receiver.partition('/')[0]}/32"
    # A router needs no route to its own network.
    assert [route.node for route in run.routes if route.to == there] == ["a1", "r1", "r2", "r3"]
    back = next(route.to for route in run.routes if route.node == "b1")
    assert {route.node for route in run.routes if route.to == back} == {"b1", "r4", "r3", "r2"}


def test_bridges_have_a_port_for_each_host() -> None:
    run = compiled("dumbbell", {"n": 3, "bw": "10 Mbit/s", "rtt": "20 ms"})
    mac = {end.node: end.mac for end in run.ends if end.address}
    ports = {end.dev: set(end.behind) for end in run.ends}
    assert ports["s1-s2"] == {mac["b1"], mac["b2"], mac["b3"]}
    assert ports["s2-s1"] == {mac["a1"], mac["a2"], mac["a3"]}
    assert ports["s2-b2"] == {mac["b2"]}
    assert len({end.mac for end in run.ends}) == len([*run.ends])


def test_many_hosts_have_different_addresses() -> None:
    run = compiled("dumbbell", {"n": 400, "bw": "10 Mbit/s", "rtt": "20 ms"})
    addresses = [end.address for end in run.ends if end.address]
    assert len(addresses) == len(set(addresses)) == 800
    assert len({end.dev for end in run.ends}) == len([*run.ends])
    assert all(len(end.dev) <= 15 for end in run.ends)


def test_patterns_assign_hosts_in_turn() -> None:
    flows = [{"name": "a", "cc": "cubic", "count": 5, "sender": "a[12]", "receiver": "b1"}]
    with pytest.raises(Exception, match="sender"):
        compiled("incast", {"n": 3}, flows=flows)
    flows[0]["sender"] = "a*"
    run = compiled("incast", {"n": 3}, flows=flows)
    assert [flow.from_node for flow in run.flows] == ["a1", "a2", "a3", "a1", "a2"]


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"flows": [{"name": "a", "cc": "cubic", "sender": "a9"}]}, "flows.a.sender"),
        ({"flows": [{"name": "a", "cc": "cubic", "sender": "a1", "receiver": "a1"}]}, "flows.a"),
        (
            {
                "flows": [
                    {"name": "a", "cc": "cubic", "sender": "a1", "receiver": "b1"},
                    {"name": "b", "cc": "cubic", "sack": "off", "sender": "a1", "receiver": "b1"},
                ]
            },
            "flows.b.sack",
        ),
        ({"links": {"s1-s9": {"rtt": "1 ms"}}}, "links.s1-s9"),
        ({"links": {"s2-s1": {"rtt": "1 ms"}}}, "links.s2-s1"),
        ({"schedule": [{"at": "1 s", "path": {"reverse_bandwidth": "1 Mbit/s"}}]}, "schedule"),
        ({"links": {"a1-s1": {"bandwidth": "1 Mbit/s", "rtt": "2 ms", "reorder": 0.1}}}, "links.a1-s1.reorder"),
    ],
)
def test_fields_that_do_not_fit_the_graph_are_named(changes: dict[str, Any], named: str) -> None:
    with pytest.raises(PlanError) as caught:
        compiled("parking_lot", **changes)
    assert named in str(caught.value)


def test_a_schedule_changes_single_links() -> None:
    run = compiled("parking_lot", schedule=[{"at": "5 s", "links": {"s2-s3": {"bandwidth": "1 Mbit/s"}}}])
    (change,) = run.device_changes
    assert (change.dev, change.qdiscs[0].options["rate_bps"]) == ("s2-s3", 1_000_000)


def test_a_receiver_acknowledges_each_segment() -> None:
    flows = [{"name": "a", "cc": "cubic", "delayed_ack": "off"}, {"name": "b", "cc": "cubic"}]
    run = compiled("dumbbell", path=PATH, flows=flows)
    assert {(route.node, route.quickack) for route in run.routes} == {("a1", False), ("b1", True), ("a2", False)}
