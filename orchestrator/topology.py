"""Which graph an experiment runs on: a name of the catalogue or a person's own `file.py:Class`, with its parameters, becomes a Graph.

A Topo is code, and Mininet a package of the system's own Python: the class is built there, in a process of its own with limits on time and
memory, and says in JSON what it built (topologies/as_json.py). The same class with the same parameters is built once a process.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import topologies
from orchestrator.errors import PlanError
from orchestrator.graph import Graph
from orchestrator.process import ask_stranger
from orchestrator.units import format_duration, format_rate, parse_duration, parse_packets, parse_rate
from topologies import CATALOG, COUNT, PACKETS, RATE, TIME, Topology, TopologyParameter

_FOLDER = Path(topologies.__file__).parent
# The Python that has the system's packages.
_PYTHON = "/usr/bin/python3"
_LONGEST_S = 20
_MOST_MEMORY_BYTES = 2 * 2**30
# What a missing Mininet looks like from here.
_NO_MININET = "No module named 'mininet"


def own_topology(written: str) -> tuple[Path, str] | None:
    """The file and the class of a person's own topology, as in ./lab.py:Lab; None for a name."""
    file, colon, name = written.rpartition(":")
    return (Path(file), name) if colon and file.endswith(".py") and name.isidentifier() else None


def parameter_problems(written: str, params: Mapping[str, object]) -> Iterator[tuple[str, object, str]]:
    """(parameter, what was read, what is allowed) for each that a topology of the catalogue does not take."""
    topology = CATALOG.get(written)
    for name, value in params.items() if topology else ():
        assert topology is not None
        known = [one.name for one in topology.parameters]
        parameter = topology.parameter(name)
        if parameter is None:
            near = difflib.get_close_matches(name, known, 1)
            yield name, None, f"{written} takes {', '.join(known)}{f', nearest: {near[0]}' if near else ''}"
            continue
        try:
            read_parameter(parameter, value)
        except ValueError as error:
            yield name, value, str(error)


def read_parameter(parameter: TopologyParameter, written: object) -> float:
    """The number that the class takes, of text with a unit; ValueError says what is allowed."""
    allowed = f"{_NOUNS[parameter.kind]} from {show(parameter, parameter.low)} to {show(parameter, parameter.high)}"
    try:
        number = float(_read(parameter, written))
    except ValueError:
        raise ValueError(allowed) from None
    if not parameter.low <= number <= parameter.high:
        raise ValueError(allowed)
    return int(number) if parameter.kind in (COUNT, PACKETS) else number


_NOUNS = {COUNT: "a whole number", RATE: "a rate", TIME: "a time", PACKETS: "a number of packets"}


def _read(parameter: TopologyParameter, written: object) -> Fraction:
    if parameter.kind == COUNT:
        if isinstance(written, bool) or not isinstance(written, int):
            raise ValueError
        return Fraction(written)
    if not isinstance(written, str):
        raise ValueError
    if parameter.kind == RATE:
        return Fraction(parse_rate(written), 10**6)
    return Fraction(parse_packets(written)) if parameter.kind == PACKETS else Fraction(parse_duration(written), 1000)


def show(parameter: TopologyParameter, value: float | None) -> str:
    """A value of a parameter as an experiment writes it."""
    if value is None:
        return ""
    match parameter.kind:
        case "rate":
            return format_rate(round(value * 1e6))
        case "time":
            return format_duration(round(value * 1000))
        case "packets":
            return f"{value:g} packets"
        case _:
            return f"{value:g}"


def build_graph(written: str, params: Mapping[str, object]) -> Graph:
    """The graph of a topology with these parameters; PlanError where its class fails or asks for what no run could honour."""
    if own := own_topology(written):
        file, name = own
        return _built(written, file, name, json.dumps(params, sort_keys=True))
    topology: Topology = CATALOG[written]
    numbers = {}
    for parameter in topology.parameters:
        if parameter.name in params:
            numbers[parameter.name] = read_parameter(parameter, params[parameter.name])
    return _built(written, _FOLDER / topology.file, topology.topo_class, json.dumps(numbers, sort_keys=True))


@cache
def _built(written: str, file: Path, name: str, params: str) -> Graph:
    attempting = "building topology"
    answer = ask_stranger(
        [_PYTHON, "-I", str(_FOLDER / "as_json.py"), str(file), name],
        params,
        longest_s=_LONGEST_S,
        most_memory_bytes=_MOST_MEMORY_BYTES,
    )
    if answer.output is None:
        if _NO_MININET in answer.problem:
            raise PlanError(attempting, written, "the package mininet is missing", "run `make packages`")
        raise PlanError(attempting, written, answer.problem, f"it was given {params}")
    try:
        data: dict[str, Any] = json.loads(answer.output)
        return Graph.read(data)
    except (ValueError, KeyError, TypeError) as error:
        raise PlanError(attempting, written, str(error)) from None
