"""Flows of programs as they are written: what they may not have, and who may not write them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.spec.load import OwnCode, at_point, load_experiment, parse_experiment, plain_data
from longhaul.orchestrator.system.errors import SpecError

COMMAND: dict[str, Any] = {"server": ["iperf", "-s"], "client": ["iperf", "-c", "server"]}


def written(command: dict[str, Any] = COMMAND, more: dict[str, Any] | None = None, **changes: Any) -> dict[str, Any]:
    flow = {"name": "w", "command": command} | (more or {})
    return {"experiment": "test", "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms"}, "flows": [flow], "duration": "5 s"} | changes  # fmt: skip


def test_a_control_is_not_needed() -> None:
    (flow,) = parse_experiment(written()).flows
    assert flow.kind == "program"
    assert flow.names == ["w"]


def test_connections_are_flows_with_numbers() -> None:
    (flow,) = parse_experiment(written(COMMAND | {"connections": 3})).flows
    assert flow.names == ["w-1", "w-2", "w-3"]


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "udp": ({"udp": "1 Mbit/s"}, "flows.*udp.*exclude each other"),
    "web": ({"web": {}}, "flows.*web.*exclude each other"),
    "size": ({"size": "1 MB"}, "size.*the client decides"),
    "window": ({"window": "20 packets"}, "window.*programs set their own"),
    "sockopts": ({"sockopts": [{"name": "TCP_NODELAY", "value": 1}]}, "sockopts.*their own sockets"),
    "tool": ({"tool": "iperf3"}, "tool.*names the programs"),
    "count": ({"count": 2}, "count.*ports of its own"),
    "dctcp": ({"cc": "dctcp", "ecn": True}, "cc.*handshake of both hosts"),
    "rate": ({"cc": "lhfixed", "params": {"rate": "1 Mbit/s"}}, "params"),
    "no such control": ({"cc": "cubicc"}, "cc.*nearest: cubic"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_fields_that_are_the_programs_own_are_refused(name: str) -> None:
    more, sentence = REFUSED[name]
    with pytest.raises(SpecError, match=sentence):
        parse_experiment(written(more=more))


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ({"server": ["a"]}, "client.*missing"),
        ({"server": [], "client": ["b"]}, "server.*1 or more"),
        ({"server": [""], "client": ["b"]}, "the first of which is the program"),
        ({"server": ["a\0"], "client": ["b"]}, "the first of which is the program"),
        ({"server": "a b", "client": ["b"]}, "server.*a list"),
        (COMMAND | {"sends": "both"}, "sends.*server"),
        (COMMAND | {"connections": 0}, "connections.*from 1"),
        (COMMAND | {"connection": 2}, "unknown field.*connections"),
    ],
)
def test_a_wrong_command_is_refused(command: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        parse_experiment(written(command))


def test_a_schedule_cannot_change_programs() -> None:
    with pytest.raises(SpecError, match="a program has its own sockets"):
        parse_experiment(written(schedule=[{"at": "2 s", "flows": {"w": {"cc": "reno"}}}]))


def test_a_folder_is_relative_to_the_file(tmp_path: Path) -> None:
    file = tmp_path / "one.yaml"
    file.write_text(
        "experiment: one\npath: {bandwidth: 10 Mbit/s, rtt: 40 ms}\nduration: 5 s\n"
        "flows: [{name: w, command: {server: [a], client: [b], folder: site}}]\n"
    )
    experiment = load_experiment(str(file))
    assert experiment.flows[0].command is not None
    assert experiment.flows[0].command.folder == str(tmp_path / "site")
    assert plain_data(experiment)["flows"][0]["command"]["folder"] == str(tmp_path / "site")


@pytest.mark.parametrize("own_code", [OwnCode.NONE, OwnCode.SENT])
@pytest.mark.parametrize("way", ["written", "changed", "swept"])
def test_a_service_runs_no_programs(own_code: OwnCode, way: str) -> None:
    with pytest.raises(SpecError, match=r"programs run where the experiment is a file"):
        match way:
            case "written":
                parse_experiment(written(), own_code=own_code)
            case "changed":
                plain = written() | {"flows": [{"name": "w", "cc": "cubic"}]}
                parse_experiment(plain, overrides=['flows=[{"name": "w", "command": {"server": ["a"], "client": ["b"]}}]'], own_code=own_code)  # fmt: skip
            case _:
                plain = written() | {"flows": [{"name": "w", "cc": "cubic"}]}
                point = {"flows": [{"name": "w", "command": COMMAND}]}
                at_point(parse_experiment(plain | {"sweep": [point]}, own_code=own_code), point)
