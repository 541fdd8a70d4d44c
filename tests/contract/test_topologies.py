"""Every topology of the catalogue builds with the real Mininet, which is a package of the system's Python."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.spec.topology import build_graph, read_parameter, show
from longhaul.topologies import CATALOG, COUNT, Topology

TOPOLOGIES = Path(__file__).resolve().parents[2] / "topologies"

SIGNATURE = """
import inspect, json, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from as_json import load_class
build = load_class(Path(sys.argv[1]) / sys.argv[2], sys.argv[3]).build
print(json.dumps({name: one.default for name, one in inspect.signature(build).parameters.items() if name != "self"}))
"""


def written(topology: Topology, bound: str) -> dict[str, Any]:
    values = {one.name: (one, getattr(one, bound)) for one in topology.parameters}
    return {
        name: int(value) if one.kind == COUNT else show(one, value)
        for name, (one, value) in values.items()
        if value is not None
    }


@pytest.mark.parametrize("name", CATALOG)
@pytest.mark.parametrize("bound", ["default", "low"])
def test_a_topology_builds_by_default_and_at_its_smallest(name: str, bound: str) -> None:
    graph = build_graph(name, written(CATALOG[name], bound))
    assert graph.pairs
    assert graph.bottlenecks
    for pair in graph.pairs:
        way = graph.route(*pair)
        assert way is not None
        assert {lane in itertools.pairwise(way) for lane in graph.bottlenecks} >= {True}


@pytest.mark.parametrize("name", CATALOG)
def test_the_catalogue_has_the_classes_parameters_and_their_defaults(name: str) -> None:
    topology = CATALOG[name]
    output = subprocess.run(
        ["/usr/bin/python3", "-I", "-c", SIGNATURE, str(TOPOLOGIES), topology.file, topology.topo_class],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert {one.name: one.default for one in topology.parameters} == json.loads(output)


@pytest.mark.parametrize("name", CATALOG)
def test_parameters_in_the_catalogue_are_written_as_in_an_experiment(name: str) -> None:
    for one in CATALOG[name].parameters:
        for value in (one.low, one.high):
            text = show(one, value)
            assert text
            assert one.kind == COUNT or " " in text
            assert read_parameter(one, int(text) if one.kind == COUNT else text) == value
