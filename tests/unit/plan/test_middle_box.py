"""A path that a real host emulates between two others: its queues, the policy's limits on it, and the evaluation of its counters."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.analysis.fidelity.host_fidelity import judge_emulation
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.hosts.authorization import not_allowed
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.host_policy import Policy, limits_of, read_policy
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.host_policy import HOST, POLICY, SPEC, put_in_force

BOX = {
    **HOST,
    "traffic": {"address": "10.9.0.1", "device": "eth1"},
    "longest": "1 min",
    "emulates": {"hk": "eth1", "chicago": "eth2"},
}
WITH_BOX: dict[str, Any] = {**POLICY, "hosts": {**POLICY["hosts"], "box": BOX}}
NARROW = {**SPEC, "path": {"bandwidth": "20 Mbit/s", "rtt": "40 ms", "loss": 0.01, "queue": "codel"}}


@pytest.fixture(autouse=True)
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A policy with a middle box in force."""
    return put_in_force(WITH_BOX, tmp_path, monkeypatch)


def planned(spec: dict[str, Any], *hosts: str) -> Run:
    return compile_plan(parse_experiment(spec), backend="hosts", hosts=hosts or ("hk", "box", "chicago")).runs[0]


def test_its_devices_get_the_queues_that_the_sandbox_would_have() -> None:
    run = planned(NARROW)
    assert run.box is not None
    assert [host.node for host in run.hosts] == ["hk", "chicago"]
    assert [host.node for host in run.machines] == ["hk", "chicago", "box"]
    there, back = run.box.ends
    assert (there.dev, [one.kind for one in there.qdiscs]) == ("eth2", ["netem", "tbf", "codel"])
    assert there.qdiscs[0].options["delay_ns"] == 20_000_000
    assert there.qdiscs[0].options["loss_2p32"] == round(0.01 * 2**32)
    assert there.qdiscs[1].options["rate_bps"] == 20_000_000
    assert (back.dev, [one.kind for one in back.qdiscs]) == ("eth1", ["netem"])
    assert Run.from_json(json.loads(json.dumps(run.as_json()))) == run
    assert list(not_allowed(Policy.model_validate(WITH_BOX), run)) == []


def test_a_flow_the_other_way_meets_the_same_box() -> None:
    flows = [{"name": "there", "cc": "cubic"}, {"name": "back", "cc": "reno", "sender": "b1", "receiver": "a1"}]
    run = planned({**NARROW, "flows": flows})
    assert run.box is not None
    assert [end.dev for end in run.box.ends] == ["eth2", "eth1"]


def test_without_one_nothing_is_emulated() -> None:
    run = planned(NARROW, "hk", "chicago")
    assert run.box is None
    assert "box" not in run.as_json()


@pytest.mark.parametrize(
    ("spec", "hosts", "words"),
    [
        (NARROW, ("hk", "london", "chicago"), "the policy names no device of it towards"),
        (NARROW, ("hk", "chicago", "london"), "the policy names no device of it towards"),
        (NARROW, ("hk", "unknown", "chicago"), "the operator's host policy has no host of that name"),
        (NARROW, ("hk", "box", "hk"), "two hosts are needed"),
        ({**NARROW, "duration": "2 min"}, (), "120 s are longer than the 60 s of a run on box"),
        ({**NARROW, "topology": "parking_lot"}, (), "flows pass several queues"),
        ({**NARROW, "schedule": [{"at": "1 s", "path": {"rtt": "20 ms"}}]}, (), "it changes the path"),
    ],
)
def test_impossible_middle_boxes_are_refused(spec: dict[str, Any], hosts: tuple[str, ...], words: str) -> None:
    with pytest.raises(PlanError) as refused:
        planned(spec, *hosts)
    assert words in str(refused.value)


def test_the_present_policy_applies_to_it() -> None:
    run = planned(NARROW)
    elsewhere = {
        **WITH_BOX,
        "hosts": {**WITH_BOX["hosts"], "box": {**BOX, "emulates": {"hk": "eth1", "chicago": "eth3"}}},
    }
    assert list(not_allowed(Policy.model_validate(elsewhere), run)) == ["the policy allows no emulation on eth2 of box"]


def test_limits_of_a_host_contain_emulation_and_silence() -> None:
    policy = Policy.model_validate({**WITH_BOX, "silence": "12 s"})
    assert limits_of(policy, "box")["emulates"] == ["eth1", "eth2"]
    assert limits_of(policy, "hk")["emulates"] == []
    assert limits_of(policy, "hk")["silence_us"] == 12_000_000
    assert limits_of(Policy.model_validate(POLICY), "hk")["silence_us"] == 30_000_000
    assert policy.ends_within == "its run ends within 12 s"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"silence": "31 s"}, "silence: from 10 s to 30 s"),
        ({"silence": "9 s"}, "silence: from 10 s to 30 s"),
        ({"hosts": {**POLICY["hosts"], "box": {**BOX, "emulates": {"unknown": "eth1"}}}}, "no other host has the name unknown"),
        ({"hosts": {**POLICY["hosts"], "box": {**BOX, "emulates": {"box": "eth1"}}}}, "no other host has the name box"),
        ({"hosts": {**POLICY["hosts"], "box": {**BOX, "emulates": {"hk": "../x"}}}}, "emulates.hk"),
    ],
)  # fmt: skip
def test_an_invalid_policy_is_refused(change: dict[str, Any], words: str, lab: Path) -> None:
    lab.write_text(json.dumps({**WITH_BOX, **change}))
    with pytest.raises(SpecError) as refused:
        read_policy(lab)
    assert words in str(refused.value)


def _facts(least_us: int, passed: int) -> dict[str, Any]:
    queues = [
        {"kind": "netem", "packets": passed, "bytes": 0, "drops": 3},
        {"kind": "tbf", "packets": passed, "bytes": 0, "drops": 0},
    ]
    return {
        "box": {"name": "box", "ends": [{"dev": "eth2", "queues": queues}]},
        "endpoints": [{"ways": {"chicago": {"rtt_us": [0, least_us, least_us + 500]}}}, {}],
    }  # fmt: skip


def test_traffic_that_bypasses_it_is_noticed() -> None:
    run = planned(NARROW)
    assert judge_emulation(run, _facts(40_300, 900)) == (
        "emulated path",
        True,
        "box: 40 ms and 20 Mbit/s asked for, fastest probe 40.3 ms; 3 dropped on eth2",
    )
    for facts in (_facts(12_000, 900), _facts(40_300, 0)):
        _, ok, text = judge_emulation(run, facts)
        assert not ok
        assert "traffic does not go through it: route the test addresses through its devices" in text
    assert judge_emulation(replace(run, meaning=replace(run.meaning, rtt_us=10_000)), _facts(12_000, 900))[1]
