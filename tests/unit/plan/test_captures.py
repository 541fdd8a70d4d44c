"""What a capture compiles to: devices, ports, guests; and that it is no part of a run."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.plan.captures import interfaces, part_with_capture, same_packets
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.preview.describe import describe_plan
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.errors import PlanError, SpecError
from tests.support.guests import experiment

FLOWS = [
    {"name": "bulk", "cc": "cubic", "count": 3},
    {"name": "bulk-a", "cc": "reno"},
    {"name": "tool", "cc": "cubic", "tool": "iperf3"},
]


def planned(capture: Any = None, **changes: Any) -> Run:
    captured = {} if capture is None else {"capture": capture}
    return compile_plan(experiment(**{"flows": FLOWS, "duration": "2 s"} | captured | changes)).runs[0]


def params(capture: Any, **changes: Any) -> dict[str, str]:
    found = planned(capture, **changes).capture
    assert found is not None
    return dict(found.params)


@pytest.mark.parametrize(
    ("at", "devices", "hosts"),
    [
        (["bottleneck"], "s1-b1", None),
        (["a*"], "a1-s1", "0"),
        (["s1"], "s1-b1,s1-a1", None),
        (["b1", "bottleneck", "b1"], "b1-s1,s1-b1", "0"),
        (["s1-a1"], "s1-a1", None),
    ],
)
def test_places_are_devices(at: list[str], devices: str, hosts: str | None) -> None:
    found = params({"at": at})
    assert set(found["at"].split(",")) == set(devices.split(","))
    assert found.get("hosts") == hosts
    # A host's device is known by its number.
    assert all(found["at"].split(",")[int(number)][0] in "ab" for number in found.get("hosts", "").split(",") if number)


def test_everything_is_every_device() -> None:
    run = planned({"at": ["all"]})
    assert [one.dev for one in interfaces(run)] == [end.dev for end in run.ends]
    named = {one.dev: one.link.name for one in interfaces(run) if one.link is not None}
    assert named == {"s1-b1": "bottleneck"}


def test_flows_are_their_ports_in_ranges() -> None:
    assert params({"at": ["a1"], "flows": ["bulk"]})["ports"] == "10000-10002"
    assert params({"at": ["a1"], "flows": ["bulk-2", "bulk-a"]})["ports"] == "10001,10003"
    # The data connection of iperf3 begins at a port of its own.
    assert params({"at": ["a1"], "flows": ["tool"]})["ports"] == "10004,20004"
    assert "ports" not in params({"at": ["a1"]})


def test_a_capture_is_no_part_of_a_run() -> None:
    plain, captured, other = planned(), planned({"at": ["a1"]}), planned({"at": ["a1"], "snap": 100})
    ids = {run_id(one, {"kernel": "k"}) for one in (plain, captured, other)}
    assert len(ids) == 1
    assert Run.from_json(captured.as_json()) == captured
    assert captured.capture is not None and other.capture is not None
    assert not same_packets(captured.capture, other.capture)
    assert "packets: their headers at a1-s1" in describe_plan(compile_plan(parse_experiment(
        {"experiment": "x", "path": {"bandwidth": "1 Mbit/s", "rtt": "1 ms"}, "flows": [{"name": "f", "cc": "reno"}], "duration": "1 s", "capture": {"at": ["a1"]}}
    )))  # fmt: skip


@pytest.mark.parametrize(
    ("at", "part"),
    [(["bottleneck"], 1), (["b1"], 1), (["a1"], 0), (["s1"], None), (["a1", "b1"], None), (["all"], None)],
)
def test_one_part_captures_where_it_can(at: list[str], part: int | None) -> None:
    run = planned({"at": at}, parts=2, flows=FLOWS[:2])
    if part is None:
        assert run.parts is None
    else:
        assert run.parts is not None and part_with_capture(run) == part


@pytest.mark.parametrize(
    ("capture", "changes", "words"),
    [
        ({"at": ["nowhere"]}, {}, "no host, link or device nowhere; known: all, bottleneck"),
        ({"at": ["a1"], "flows": ["tools"]}, {}, "no flow tools; its flows: bulk-1"),
        ({"at": ["all"]}, {"topology": "incast", "flows": [{"name": "x", "cc": "cubic", "count": 40}]}, "64 are possible"),
        ({"at": ["bottleneck"]}, {"nodes": {"a1": {"kernel": "6.1"}}, "flows": FLOWS[:2]}, "whose trace one guest does not have"),
    ],
)  # fmt: skip
def test_what_cannot_be_captured_is_refused(capture: Any, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(PlanError, match="capture") as error:
        planned(capture, **changes)
    assert words in str(error.value)


def test_only_the_sandbox_captures() -> None:
    experiment = parse_experiment(
        {"experiment": "x", "path": {"bandwidth": "1 Mbit/s", "rtt": "1 ms"}, "flows": [{"name": "f", "cc": "reno"}], "duration": "1 s", "capture": {"at": ["a1"]}}
    )  # fmt: skip
    with pytest.raises(PlanError, match="tcpdump"):
        compile_plan(experiment, backend="mininet")


def test_a_capture_is_not_swept() -> None:
    with pytest.raises(SpecError, match="not a field that may differ between runs of a sweep"):
        planned({"at": ["a1"]}, sweep={"capture.snap": [100, 200]})
