"""Flows of requests and responses in the experiment and in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Run, compile_plan
from longhaul.orchestrator.plan.cost import data_packets
from longhaul.orchestrator.plan.meaning import Group, Requests
from longhaul.orchestrator.plan.traffic.estimate import expected_traffic
from longhaul.orchestrator.preview.describe import describe_run
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.guests import experiment


def planned(**flow: Any) -> Run:
    written = {"name": "rpc", "requests": {}} | flow
    return compile_plan(experiment(flows=[written])).runs[0]


def test_the_server_is_the_sender() -> None:
    run = planned(requests={"request": "1 KB", "response": "20 KB", "think": "10 ms", "count": 5})
    (flow,) = run.flows
    assert (flow.kind, flow.cc, flow.stop_us) == ("requests", "cubic", None)
    assert flow.requests == Requests(1000, 20_000, think_us=10_000, count=5)
    assert flow.address == next((end.address or "").partition("/")[0] for end in run.ends if end.node == flow.from_node)
    assert Run.from_json(run.as_json()) == run
    assert "5 requests of 1 KB for 20 KB, pauses of 10 ms over cubic" in "\n".join(describe_run(run))


def test_without_a_number_they_last_as_long_as_the_run() -> None:
    (flow,) = planned(requests={"every": "100 ms", "new_connection": "on"}, cc="bbr").flows
    assert flow.stop_us == 5_000_000
    assert flow.requests == Requests(100, 10_000, every_us=100_000, new_connection=True)


def test_connections_are_flows_with_a_total() -> None:
    run = planned(count=2, requests={"connections": 2})
    assert [flow.name for flow in run.flows] == ["rpc-1-1", "rpc-1-2", "rpc-2-1", "rpc-2-2"]
    assert [flow.group for flow in run.flows] == [Group("rpc-1", 2)] * 2 + [Group("rpc-2", 2)] * 2
    assert all(flow.share_bytes is None for flow in run.flows)


@pytest.mark.parametrize(
    ("requests", "expected"),
    [
        # A round trip of 40 ms, and what the client waits.
        ({"response": "10 KB", "think": "60 ms"}, 50),
        ({"response": "10 KB", "every": "200 ms"}, 25),
        ({"response": "10 KB", "count": 7}, 7),
        ({"response": "10 KB", "new_connection": "on"}, 62),
        ({"response": "40 KB", "think": "20 ms"}, 50),
    ],
)
def test_the_estimate_has_the_requests_that_fit(requests: dict[str, Any], expected: int) -> None:
    run = planned(requests=requests)
    assert run.flows[0].requests is not None
    packets = -(-run.flows[0].requests.response_bytes // 1448)
    assert expected_traffic(run).tcp == pytest.approx(expected * packets, rel=0.05)


def test_the_blocks_of_a_round_share_the_path_in_the_estimate() -> None:
    """100 Mbit/s takes 0.34 s for the 20 blocks of 200 KB of a round."""
    run = planned(requests={"response": "200 KB", "connections": 20, "barrier": "on"})
    rounds = expected_traffic(run).tcp / (20 * -(-200_000 // 1448))
    assert 10 < rounds < 5 / 0.34


def test_counted_requests_bound_the_packets() -> None:
    assert data_packets(planned(requests={"response": "10 KB", "count": 7})) == 49


def test_pings_are_udp_without_a_rate() -> None:
    run = planned(requests={"over": "udp", "every": "200 ms", "request": "64 B"}, dscp="EF", ect=1)
    (flow,) = run.flows
    assert (flow.kind, flow.cc, flow.rate_bps, flow.options.ect) == ("udp", None, 0, 1)
    assert flow.requests == Requests(64, 64, every_us=200_000, timeout_us=1_000_000)
    assert Run.from_json(run.as_json()) == run
    assert "requests of 64 B for 64 B, every 200 ms, lost after 1 s over udp" in "\n".join(describe_run(run))
    assert expected_traffic(run).tcp == pytest.approx(25, abs=1)


@pytest.mark.parametrize(
    ("flow", "message"),
    [
        (
            {"requests": {"over": "udp", "response": "10 KB", "request": "7 B"}},
            "over udp a request or a response of 8 to",
        ),
        ({"requests": {"over": "udp", "response": "66 KB"}}, "over udp a request or a response of 8 to 65507 bytes"),
        ({"requests": {"over": "udp", "new_connection": "on"}}, "new_connection only over tcp"),
        (
            {"requests": {"over": "udp", "barrier": "on"}},
            "barrier only over tcp: a round ends with all of its responses",
        ),
        ({"requests": {"barrier": "always"}}, "on or off"),
        ({"requests": {"timeout": "1 s"}}, "timeout only over udp"),
        ({"requests": {"over": "udp"}, "cc": "bbr"}, "only for a TCP flow, this one is UDP"),
        ({"requests": {"over": "sctp"}}, "one of tcp, udp"),
        ({"requests": {"think": "1 ms", "every": "1 ms"}}, "think and every exclude each other"),
        ({"requests": {"response": "0 B"}}, "a size from 1 B"),
        ({"requests": {"count": 0}}, "a number from 1"),
        ({"requests": {"connections": 101}}, "a number up to 100"),
        ({"size": "1 MB"}, "not with requests, which have sizes of their own"),
        ({"window": "20 packets"}, "not with requests: only the receiver of a bulk transfer"),
        ({"web": {}}, "web and requests exclude each other"),
        ({"tool": "iperf3"}, "lh-flow for requests"),
        ({"streams": 2}, "1 with requests"),
        ({"command": {"server": ["a"], "client": ["b"]}}, "command and requests exclude each other"),
    ],
)
def test_what_is_refused(flow: dict[str, Any], message: str) -> None:
    with pytest.raises(SpecError, match=message):
        planned(**flow)


def test_the_servers_of_a_barrier_are_the_senders_in_turn() -> None:
    run = compiled({"requests": {"connections": 3, "barrier": "on"}})
    assert [flow.name for flow in run.flows] == ["rpc-1", "rpc-2", "rpc-3"]
    assert [(flow.from_node, flow.to_node) for flow in run.flows] == [("a1", "b1"), ("a2", "b1"), ("a3", "b1")]
    assert [flow.address for flow in run.flows] == [address_of(run, flow.from_node) for flow in run.flows]
    assert {flow.start_us for flow in run.flows} == {run.flows[0].start_us}
    assert {flow.requests for flow in run.flows} == {Requests(100, 10_000, barrier=True)}
    assert Run.from_json(run.as_json()) == run
    assert "requests of 100 B for 10 KB, in rounds over cubic" in "\n".join(describe_run(run))


def test_two_barriers_and_other_flows_have_turns_of_their_own() -> None:
    servers = {"requests": {"connections": 2, "barrier": "on"}, "count": 2}
    run = compiled(servers, {"requests": {"connections": 2}}, {"cc": "cubic"})
    assert [flow.from_node for flow in run.flows] == ["a1", "a2", "a3", "a4", "a1", "a1", "a2"]
    run = compiled({"requests": {"connections": 6, "barrier": "on"}, "sender": "a*", "receiver": "b1"})
    assert [flow.from_node for flow in run.flows] == ["a1", "a2", "a3", "a4", "a1", "a2"]


def test_without_a_barrier_the_plan_does_not_name_it() -> None:
    run = planned(requests={"connections": 2})
    assert "barrier" not in str(run.as_json()["flows"])
    assert {flow.from_node for flow in run.flows} == {"a1"}


def test_a_barrier_is_of_one_client() -> None:
    flow = {"name": "rpc", "requests": {"connections": 2, "barrier": "on"}}
    hosts = {"topology": "parking_lot", "params": {"k": 2}, "path": None}
    with pytest.raises(PlanError) as refused:
        compile_plan(experiment(**hosts, flows=[flow]))
    assert (refused.value.subject, refused.value.hint) == ("flows.rpc.receiver", "name one receiver")
    assert "its receivers would be" in refused.value.what


def compiled(*flows: dict[str, Any]) -> Run:
    """A plan of flows of an incast of four senders."""
    named = [{"name": ("rpc", "others", "bulk")[place]} | flow for place, flow in enumerate(flows)]
    return compile_plan(experiment(topology="incast", params={"n": 4}, path=None, flows=named)).runs[0]


def address_of(run: Run, node: str) -> str:
    return next((end.address or "").partition("/")[0] for end in run.ends if end.node == node)


def test_requests_need_a_virtual_clock() -> None:
    written = experiment(flows=[{"name": "rpc", "requests": {}}])
    assert compile_plan(written, backend="mininet", where="guest", clock="virtual").runs[0].flows[0].requests
    with pytest.raises(PlanError) as refused:
        compile_plan(written, backend="mininet", where="guest", clock="real")
    assert refused.value.what == "requests are timed by a virtual clock, and this run is in real time"
