"""The graph of an experiment: a name of the catalogue or a user's `file.py:Class`, with its parameters, becomes a Graph.

A Topo is code, and Mininet a package of the system's Python, where it is installed: a separate process with limits on time and memory builds the class
and prints its graph as JSON (topologies/as_json.py). A user's file runs confined, and sees the Python files next to it, which it
may import, and nothing else of this machine; only the graph comes back. The same class with the same parameters is built once per process, a class of
the catalogue once per cache:

    <cache>/graphs/<hash of the folder topologies, class and parameters>.json     the output of as_json.py
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import threading
from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from longhaul import topologies
from longhaul.orchestrator.spec.graph import Graph
from longhaul.orchestrator.system.confinement import Limits, View, confined
from longhaul.orchestrator.system.errors import Allowed, PlanError, allowed_instead
from longhaul.orchestrator.system.process import Answer, run_untrusted
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.units import (
    format_duration,
    format_rate,
    parse_duration,
    parse_packets,
    parse_rate,
    parse_share,
)
from longhaul.topologies import CATALOG, COUNT, PACKETS, RATE, SHARE, TIME, Topology, TopologyParameter

_FOLDER = Path(topologies.__file__).resolve().parent
# The Python that has the system's packages, and with them maybe Mininet.
_SYSTEM = Path("/usr/bin/python3")
_PYTHON = str(_SYSTEM) if _SYSTEM.exists() else sys.executable
_LONGEST_S = 60
# Of text: 20 000 links.
_MOST_BYTES = 4 * 2**20
# Python, with its threads.
_LIMITS = Limits(cpu_s=20, file_bytes=_MOST_BYTES, processes=8, memory_bytes=512 * 2**20)
# A topology's file does not import more than this.
_MOST_OTHERS = 100
# The error of as_json.py where Mininet is missing, and a file needs more of it than topologies/topo.py has.
_NO_MININET = "No module named 'mininet"


def own_topology(written: str) -> tuple[Path, str] | None:
    """The file and the class of a user's topology, as in ./lab.py:Lab; None for a name."""
    file, colon, name = written.rpartition(":")
    return (Path(file), name) if colon and file.endswith(".py") and name.isidentifier() else None


def parameter_problems(written: str, params: Mapping[str, object]) -> Iterator[tuple[str, object, Allowed | str]]:
    """(parameter, value read, what is allowed) for each that a topology of the catalogue does not accept."""
    topology = CATALOG.get(written)
    for name, value in params.items() if topology else ():
        assert topology is not None
        known = [one.name for one in topology.parameters]
        parameter = topology.parameter(name)
        if parameter is None:
            yield name, None, allowed_instead(f"{written} takes {', '.join(known)}", name, known)
            continue
        try:
            read_parameter(parameter, value)
        except ValueError as error:
            yield name, value, str(error)


def read_parameter(parameter: TopologyParameter, written: object) -> float:
    """The number for the class, from text with a unit; ValueError states what is allowed."""
    allowed = f"{_NOUNS[parameter.kind]} from {show(parameter, parameter.low)} to {show(parameter, parameter.high)}"
    try:
        number = float(_read(parameter, written))
    except ValueError:
        raise ValueError(allowed) from None
    if not parameter.low <= number <= parameter.high:
        raise ValueError(allowed)
    return int(number) if parameter.kind in (COUNT, PACKETS) else number


_NOUNS = {COUNT: "a whole number", RATE: "a rate", TIME: "a time", PACKETS: "a number of packets", SHARE: "a share"}


def _read(parameter: TopologyParameter, written: object) -> Fraction:
    if parameter.kind == COUNT:
        if isinstance(written, bool) or not isinstance(written, int):
            raise ValueError
        return Fraction(written)
    if parameter.kind == SHARE and isinstance(written, str | float | int):
        return Fraction(parse_share(written)) * 100
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
        case "share":
            return f"{value:g} %"
        case _:
            return f"{value:g}"


_NOT_ITS_GRAPH = "its output is not the graph of a Topo"
_PRINTS_NOTHING = "it must print nothing itself: its graph is read from the output"


def build_graph(written: str, params: Mapping[str, object]) -> Graph:
    """The graph of a topology with these parameters; PlanError if its class fails or has options that no run supports."""
    if own := own_topology(written):
        file, name = own
        return _built(written, file, name, json.dumps(params, sort_keys=True), _stamp(written, file))
    topology: Topology = CATALOG[written]
    numbers = {}
    for parameter in topology.parameters:
        if parameter.name in params:
            numbers[parameter.name] = read_parameter(parameter, params[parameter.name])
    return _built(written, _FOLDER / topology.file, topology.topo_class, json.dumps(numbers, sort_keys=True))


def _stamp(written: str, file: Path) -> tuple[int, int]:
    """The time and size of a file, which change with it."""
    try:
        info = file.stat()
    except OSError as error:
        raise PlanError("building topology", written, error.strerror or str(error), "name an existing file") from None
    return info.st_mtime_ns, info.st_size


@lru_cache(maxsize=256)
def _built(written: str, file: Path, name: str, params: str, stamp: tuple[int, int] | None = None) -> Graph:
    """`stamp` belongs to a user's file, which may change while this process is running."""
    attempting = "building topology"
    answer = _ask_once(file, name, params) if stamp is None else _ask_confined(file.resolve(), name, params)
    if answer.output is None:
        if _NO_MININET in answer.problem:
            raise PlanError(attempting, written, "the package mininet is missing", "run `apt-get install mininet`")
        raise PlanError(attempting, written, answer.problem, f"its parameters were {params}")
    try:
        return Graph.read(_printed(answer.output))
    except RecursionError:
        raise PlanError(attempting, written, "its output is nested too deeply") from None
    except (AttributeError, LookupError, TypeError):
        raise PlanError(attempting, written, _NOT_ITS_GRAPH, _PRINTS_NOTHING) from None
    except (ArithmeticError, ValueError) as error:
        raise PlanError(attempting, written, str(error)) from None


def _printed(output: bytes) -> dict[str, Any]:
    """A class's graph as plain data; ValueError if it printed something else, or nothing."""
    if not output.strip():
        raise ValueError("it ended without a graph: a file with a Topo must not end the program that reads it")
    try:
        data = json.loads(output)
    except ValueError:
        raise ValueError(f"{_NOT_ITS_GRAPH}; {_PRINTS_NOTHING}") from None
    if not isinstance(data, dict):
        raise ValueError(f"{_NOT_ITS_GRAPH}; {_PRINTS_NOTHING}")
    return data


def _ask_once(file: Path, name: str, params: str) -> Answer:
    """The graph of a class of the catalogue, from the cache if it was built before: building takes a third of the time before a guest starts."""
    words = "\n".join((_catalogue_hash(), file.name, name, params))
    kept = load_settings().cache / "graphs" / f"{hashlib.sha256(words.encode()).hexdigest()[:32]}.json"
    with contextlib.suppress(OSError):
        return Answer(kept.read_bytes())
    answer = _ask(file, name, params)
    if answer.output is not None:
        # A cache that cannot be written only costs time.
        with contextlib.suppress(OSError):
            kept.parent.mkdir(parents=True, exist_ok=True)
            new = kept.with_name(f".{kept.name}.{os.getpid()}.{threading.get_ident()}")
            new.write_bytes(answer.output)
            new.replace(kept)
    return answer


@cache
def _catalogue_hash() -> str:
    """A hash of the project's topologies and of the code that runs them."""
    code = hashlib.sha256()
    for file in sorted(_FOLDER.glob("*.py")):
        code.update(file.read_bytes())
    return code.hexdigest()


def _ask(file: Path, name: str, params: str) -> Answer:
    """The graph from a file of the project, or of a user who switched confinement off."""
    words = [*replace(_LIMITS, processes=None).words(), _PYTHON, "-I", str(_FOLDER / "as_json.py"), str(file), name]
    return run_untrusted(words, params, longest_s=_LONGEST_S, most_bytes=_MOST_BYTES)


def _ask_confined(file: Path, name: str, params: str) -> Answer:
    settings = load_settings()
    if not settings.confinement:
        return _ask(file, name, params)
    others = sorted(one for one in file.parent.glob("*.py") if one.is_file() and not one.is_symlink() and one != file)
    view = View(
        reads={
            "/as_json.py": _FOLDER / "as_json.py",
            "/topo.py": _FOLDER / "topo.py",
            **{f"/topology/{one.name}": one for one in [file, *others[:_MOST_OTHERS]]},
        },
        environment={"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8"},
        folder="/topology",
    )
    words = confined([_PYTHON, "-I", "/as_json.py", f"/topology/{file.name}", name], view, _LIMITS, settings)
    return run_untrusted(words, params, longest_s=_LONGEST_S, most_bytes=_MOST_BYTES)
