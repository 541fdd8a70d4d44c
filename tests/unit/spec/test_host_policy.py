"""The operator's host policy: read strictly, enforced when a run is planned, and the same on each host."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.hosts.authorization import not_allowed
from longhaul.orchestrator.spec.host_policy import limits_of, read_policy
from longhaul.orchestrator.spec.load import load_experiment, parse_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.host_policy import HOST, POLICY, SPEC, planned, policy
from tests.support.host_policy import lab as lab


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"hosts": {}}, "hosts"),
        ({"colour": "red"}, "colour"),
        ({"hosts": {"hk": {**HOST, "rate": "100"}}}, "a rate needs its unit"),
        ({"hosts": {"hk": {**HOST, "rate": "0 Mbit/s"}}}, "more than 0 is needed"),
        ({"hosts": {"hk": {**HOST, "ports": "22-80"}}}, "a range from 1024 to 65535"),
        ({"hosts": {"hk": {**HOST, "ports": "10001-10000"}}}, "a range"),
        ({"hosts": {"hk": {**HOST, "speed": "fast"}}}, "speed"),
        ({"hosts": {"HK": HOST}}, "is not a host's name"),
        ({"hosts": {"hk": {**HOST, "ssh": {"address": "-oProxyCommand=x"}}}}, "ssh.address"),
        ({"hosts": {"hk": {**HOST, "ssh": {"address": "h", "user": "root;x"}}}}, "ssh.user"),
        ({"hosts": {"hk": {**HOST, "traffic": {"address": "10.1.0.2", "device": "../x"}}}}, "device"),
        ({"hosts": {"hk": HOST, "two": HOST}, "paths": []}, "same address"),
        ({"paths": [{"between": ["hk", "nowhere"]}]}, "no host has the name nowhere"),
        ({"paths": [{"between": ["hk", "hk"]}]}, "not a new pair"),
        ({"paths": [*POLICY["paths"], {"between": ["chicago", "hk"]}]}, "not a new pair"),
        ({"hosts": {"hk": {**HOST, "maintenance": [{"weekly": "Sunday 2"}]}}, "paths": []}, "a day and a time"),
        ({"hosts": {"hk": {**HOST, "maintenance": [{"from": "2031-01-02"}]}}, "paths": []}, "either `weekly`"),
        ({"hosts": {"hk": {**HOST, "maintenance": [{"from": "2031-01-02", "until": "2031-01-01"}]}}, "paths": []}, "later"),
    ],
)  # fmt: skip
def test_an_invalid_policy_is_refused(change: dict[str, Any], words: str, tmp_path: Path) -> None:
    file = tmp_path / "hosts.yml"
    file.write_text(json.dumps({**POLICY, **change}))
    with pytest.raises(SpecError) as refused:
        read_policy(file)
    assert words in str(refused.value)


def test_limits_of_a_host() -> None:
    limits = limits_of(policy(), "hk")
    assert limits["rate_bps"] == 100_000_000
    assert (limits["first_port"], limits["last_port"]) == (10000, 10003)
    assert limits["peers"] == [
        {"address": "10.2.0.2", "provisioned": True},
        {"address": "10.3.0.2", "provisioned": False},
    ]
    assert {"cubic", "reno", "bbr"} <= set(limits["yielding"])
    assert not {"apptcp", "ccp", "ccpd", "lhfixed"} & set(limits["yielding"])


@pytest.mark.parametrize(
    ("window", "begin", "closed"),
    [
        ({"weekly": "Sun 02:00-04:00"}, datetime(2031, 1, 5, 1, 0, tzinfo=UTC), False),
        ({"weekly": "Sun 02:00-04:00"}, datetime(2031, 1, 5, 1, 55, tzinfo=UTC), True),
        ({"weekly": "Sun 02:00-04:00"}, datetime(2031, 1, 5, 3, 59, tzinfo=UTC), True),
        ({"weekly": "Sun 02:00-04:00"}, datetime(2031, 1, 5, 4, 0, tzinfo=UTC), False),
        ({"weekly": "Sun 23:00-01:00"}, datetime(2031, 1, 6, 0, 30, tzinfo=UTC), True),
        ({"weekly": "Sun 23:00-01:00"}, datetime(2031, 1, 6, 1, 30, tzinfo=UTC), False),
        ({"from": "2031-01-04", "until": "2031-01-06 12:00"}, datetime(2031, 1, 6, 11, 59, tzinfo=UTC), True),
        ({"from": "2031-01-04", "until": "2031-01-06 12:00"}, datetime(2031, 1, 6, 12, 0, tzinfo=UTC), False),
    ],
)
def test_the_calendar(window: dict[str, str], begin: datetime, closed: bool) -> None:
    host = policy(hosts={"hk": {**HOST, "maintenance": [window]}}, paths=[]).host("hk")
    assert (host.closed(begin, begin + timedelta(minutes=10)) is not None) == closed


@pytest.mark.usefixtures("lab")
def test_a_plan_is_placed_on_its_hosts() -> None:
    run = planned(SPEC).runs[0]
    assert (run.backend, run.where, run.clock) == ("hosts", "hosts", "real")
    assert [(host.node, host.address, host.device, host.link) for host in run.hosts] == [
        ("hk", "10.1.0.2", "eth1", 0),
        ("chicago", "10.2.0.2", "eth0", None),
    ]
    (flow,) = run.flows
    assert (flow.from_node, flow.to_node, flow.address, flow.port) == ("hk", "chicago", "10.2.0.2", 10000)
    assert (run.wires, run.routes, run.neighbours, run.sysctls) == ((), (), (), ())
    assert run.trace.ack_us > 0
    assert type(run).from_json(json.loads(json.dumps(run.as_json()))) == run


@pytest.mark.usefixtures("lab")
def test_every_request_is_a_separate_run() -> None:
    assert planned(SPEC).runs[0].asked_at != planned(SPEC).runs[0].asked_at


@pytest.mark.usefixtures("lab")
def test_flows_use_the_hosts_of_the_experiment() -> None:
    flows = [{"name": "there", "cc": "cubic"}, {"name": "back", "cc": "reno", "sender": "b1", "receiver": "a1"}]
    run = planned({**SPEC, "flows": flows}).runs[0]
    assert [(flow.from_node, flow.to_node, flow.port) for flow in run.flows] == [
        ("hk", "chicago", 10000),
        ("chicago", "hk", 10001),
    ]
    assert [link.name for link in run.links] == ["hk-eth1", "chicago-eth0"]
    named = planned(
        {**SPEC, "params": {"n": 2}, "flows": [{"name": "x", "cc": "cubic"}, {"name": "y", "cc": "cubic"}]},
        "a1=hk",
        "b1=chicago",
        "a2=hk",
        "b2=london",
    )
    assert [(flow.from_node, flow.to_node) for flow in named.runs[0].flows] == [("hk", "chicago"), ("hk", "london")]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("name", ["fig8a-international", "fig9a-international", "fig11a-international"])
def test_the_papers_figures_run_on_two_hosts(name: str, lab: Path) -> None:
    wide = {**POLICY, "hosts": {name: {**host, "rate": "2 Gbit/s"} for name, host in POLICY["hosts"].items()}}
    lab.write_text(json.dumps(wide))
    plan = compile_plan(load_experiment(f"apptcp/{name}", []), backend="hosts", hosts=("hk", "chicago"))
    assert {run.hosts[0].node for run in plan.runs} == {"hk"}


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"duration": "11 min"}, "660 s are longer than the 600 s of a run on hk"),
        ({"flows": [{"name": "app", "cc": "cubic", "size": "3 GB"}]}, "a run may send 2 GB"),
        ({"flows": [{"name": "app", "cc": "apptcp", "params": {"rate": "97 Mbit/s"}}]}, "100 Mbit/s are allowed"),
        ({"flows": [{"name": "app", "udp": "101 Mbit/s"}]}, "100 Mbit/s are allowed"),
        ({"flows": [{"name": "app", "cc": "cubic", "count": 5}]}, "port 10004 of chicago is not one of 10000 to 10003"),
        ({"flows": [{"name": "app", "cc": "cubic", "tool": "iperf3"}]}, "iperf3 obeys no rate limit"),
        ({"flows": [{"name": "app", "cc": "cubic", "sack": False}]}, "sack belongs to the whole host"),
        ({"flows": [{"name": "app", "cc": "cubic", "rtt": "20 ms"}]}, "rtt belongs to the whole host"),
        ({"schedule": [{"at": "5 s", "path": {"bandwidth": "300 Mbit/s"}}]}, "it changes the path, which is real here"),
    ],
)  # fmt: skip
def test_a_plan_beyond_the_policy_is_refused(change: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError) as refused:
        planned({**SPEC, **change})
    assert words in str(refused.value)


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "flow", [{"name": "app", "udp": "5 Mbit/s"}, {"name": "app", "cc": "apptcp", "params": {"rate": "5 Mbit/s"}}]
)
def test_traffic_that_does_not_give_way_needs_a_provisioned_path(flow: dict[str, Any]) -> None:
    planned({**SPEC, "flows": [flow]}, "hk", "chicago")
    with pytest.raises(PlanError, match="the path from hk to london is not provisioned"):
        planned({**SPEC, "flows": [flow]}, "hk", "london")
    with pytest.raises(PlanError, match="no traffic is allowed between chicago and london"):
        planned(SPEC, "chicago", "london")


@pytest.mark.usefixtures("lab")
def test_a_run_planned_earlier_is_checked_against_the_present_policy() -> None:
    run = planned(SPEC).runs[0]
    assert list(not_allowed(policy(), run)) == []
    assert list(not_allowed(policy(rate="50 Mbit/s"), run)) == [
        "hk may send 100 Mbit/s together; the lab may send 50 Mbit/s"
    ]
    assert any("port 22" in one for one in not_allowed(policy(), replace(run, flows=(replace(run.flows[0], port=22),))))
    elsewhere = replace(run, hosts=tuple(replace(host, address="10.9.9.9") for host in run.hosts))
    assert len(list(not_allowed(policy(), elsewhere))) == 2


def test_without_a_policy_there_are_no_hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_HOSTS", str(tmp_path / "none.yml"))
    with pytest.raises(PlanError, match="there is no host policy"):
        planned(SPEC)
    with pytest.raises(PlanError, match="no host is named"):
        compile_plan(parse_experiment(SPEC), backend="hosts")
    with pytest.raises(PlanError, match="is for the hosts backend"):
        compile_plan(parse_experiment(SPEC), hosts=("hk", "chicago"))


def test_the_next_maintenance_is_the_earliest_in_any_written_order() -> None:
    windows = [{"weekly": "Wed 02:00-04:00"}, {"weekly": "Mon 01:00-02:00"}]
    for written in (windows, windows[::-1]):
        host = policy(hosts={"hk": {**HOST, "maintenance": written}}, paths=[]).host("hk")
        begin = datetime(2031, 5, 18, tzinfo=UTC)
        found = host.closed(begin, begin + timedelta(days=7))
        assert found is not None and found[0] == datetime(2031, 5, 19, 1, tzinfo=UTC)
