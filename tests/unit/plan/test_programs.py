"""Flows of programs in the plan."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import Run, compile_plan
from longhaul.orchestrator.plan.run import Module
from longhaul.orchestrator.system.errors import PlanError
from tests.support.guests import experiment

COMMAND: dict[str, Any] = {"server": ["iperf", "-s"], "client": ["iperf", "-c", "server"]}


def planned(*flows: dict[str, Any], backend: str = "sandbox", **changes: Any) -> Run:
    return compile_plan(experiment(flows=list(flows), **changes), backend=backend).runs[0]


def program(name: str = "w", **more: Any) -> dict[str, Any]:
    fields = {one: more.pop(one) for one in ("sends", "connections", "folder", "memory") if one in more}
    return {"name": name, "command": COMMAND | fields} | more


def test_the_sender_is_the_host_whose_data_is_measured() -> None:
    for sends, server in (("server", "a1"), ("client", "b1")):
        run = planned(program(sends=sends))
        (flow,) = run.flows
        assert (flow.from_node, flow.to_node) == ("a1", "b1")
        assert flow.program is not None
        addresses = {end.node: (end.address or "").partition("/")[0] for end in run.ends}
        assert addresses[server] == flow.program.server_address


def test_connections_share_their_programs_and_their_start() -> None:
    run = planned(program(connections=3), start_jitter="1 s")
    assert [flow.first for flow in run.flows] == [None, 0, 0]
    assert [flow.program is None for flow in run.flows] == [False, True, True]
    assert len({flow.start_us for flow in run.flows}) == 1
    assert len({(flow.from_node, flow.to_node) for flow in run.flows}) == 1
    assert Run.from_json(run.as_json()) == run


def test_a_flow_of_programs_ends_by_itself() -> None:
    assert planned(program()).flows[0].stop_us is None
    assert planned(program(stop="2 s")).flows[0].stop_us == 2_000_000


def test_only_runs_with_programs_have_their_module_and_settings() -> None:
    plain, with_programs = planned({"name": "w", "cc": "bbr"}), planned(program(cc="bbr"))
    assert Module("lh_programs", {}) in with_programs.modules
    assert Module("lh_programs", {}) not in plain.modules
    assert "program" not in str(plain.as_json())
    assert ("net/ipv4/tcp_allowed_congestion_control", "reno cubic bbr") in with_programs.sysctls
    (sender,) = [node for node in with_programs.nodes if node.name == "a1"]
    assert dict(sender.sysctls)["net/ipv4/tcp_congestion_control"] == "bbr"
    assert with_programs.memory_mb > plain.memory_mb


def test_controls_are_allowed_in_the_order_in_which_they_are_loaded() -> None:
    run = planned({"name": "x", "cc": "vegas"}, program("b", cc="bbr"), program("v", cc="vegas"))
    assert dict(run.sysctls)["net/ipv4/tcp_allowed_congestion_control"] == "reno cubic vegas bbr"
    assert [module.name for module in run.modules[:2]] == ["tcp_vegas", "tcp_bbr"]


def test_hosts_have_one_control_for_their_programs() -> None:
    run = planned(program("b", cc="bbr"), program("c", cc="cubic"))
    assert len({flow.from_node for flow in run.flows}) == 2
    ends = {"sender": "a1", "receiver": "b1"}
    with pytest.raises(PlanError, match="another cc, which belongs to the host"):
        planned(program("b", cc="bbr", **ends), program("c", cc="cubic", **ends))
    shared = planned(program("b", cc="bbr", **ends), {"name": "x", "cc": "reno"} | ends)
    assert {flow.from_node for flow in shared.flows} == {"a1"}


@pytest.mark.parametrize("backend", ["mininet"])
def test_other_backends_refuse(backend: str) -> None:
    with pytest.raises(PlanError, match=f"this run is on {backend}"):
        planned(program(), backend=backend)


def test_a_capture_cannot_choose_by_ports_that_are_not_known() -> None:
    with pytest.raises(PlanError, match="known only to its programs"):
        planned(program(), capture={"at": ["bottleneck"], "flows": ["w"]})
    assert planned(program(), capture={"at": ["bottleneck"]}).capture is not None


def test_a_run_with_programs_is_in_one_guest() -> None:
    assert planned(program(), duration="600 s").parts is None
    with pytest.raises(PlanError, match="both its programs in one guest"):
        planned(program(), parts=2)


def test_the_plan_says_that_computing_takes_no_time() -> None:
    plan = compile_plan(experiment(flows=[program()]))
    assert any("computing takes no virtual time" in note for note in plan.lint)
