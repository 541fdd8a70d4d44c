"""Every topology of the catalogue builds with the real Mininet, which is a package of the system's Python."""

from __future__ import annotations

import importlib.util
import itertools
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.spec.topology import build_graph, read_parameter, show
from longhaul.topologies import CATALOG, COUNT, Topology
from tests.support.programs import run_program

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
    output = run_program(
        ["/usr/bin/python3", "-I", "-c", SIGNATURE, str(TOPOLOGIES), topology.file, topology.topo_class], check=True
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


@pytest.mark.parametrize("name", CATALOG)
@pytest.mark.parametrize("bound", ["default", "low", "high"])
def test_without_mininet_the_graph_is_the_same_to_the_byte(name: str, bound: str) -> None:
    topology = CATALOG[name]
    bounds = {one.name: getattr(one, bound) for one in topology.parameters}
    numbers = {key: value for key, value in bounds.items() if value is not None}
    with_it, without = (
        run_program(
            [python, "-I", TOPOLOGIES / "as_json.py", TOPOLOGIES / topology.file, topology.topo_class],
            input=json.dumps(numbers),
        )
        for python in ("/usr/bin/python3", sys.executable)
    )
    assert with_it.stdout == without.stdout
    assert with_it.stdout or with_it.returncode == without.returncode != 0
    assert importlib.util.find_spec("mininet") is None, "the packages of this environment have no Mininet"


def test_the_stand_in_orders_nodes_and_links_as_mininet_does(tmp_path: Path) -> None:
    """Links in other orders than the names, two between the same ends, options by default and added later."""
    (tmp_path / "odd.py").write_text(_ODD)
    outputs = {
        run_program(
            [python, "-I", TOPOLOGIES / "as_json.py", tmp_path / "odd.py", "Odd"], input="{}", check=True
        ).stdout
        for python in ("/usr/bin/python3", sys.executable)
    }
    assert len(outputs) == 1, outputs


_ODD = """
from mininet.node import Node
from mininet.topo import Topo

class Router(Node):
    pass

class Odd(Topo):
    def __init__(self):
        super().__init__(lopts={"bw": 7}, hopts={"cpu": 0.5}, sopts={"stp": True})

    def build(self):
        z, b, a = self.addHost("z"), self.addSwitch("b"), self.addHost("a", ip="10.0.0.1/24")
        r = self.addNode("r", cls=Router)
        self.addNode("a", mac="00:00:00:00:00:01")
        self.addLink(z, b)
        self.addLink(r, a, port1=3, bw=9)
        self.addLink(b, a)
        self.addLink(a, z, delay="2ms")
        self.addLink(b, z, params1={"loss": 1})
        self.addLink(r, z)
        self.addLink(self.addHost("a10"), b)
        self.addLink(b, self.addHost("a9"))
        try:
            self.addLink(b, "new")
        except KeyError:
            self.addHost("after")
        self.pairs = [("z", "a")]
        self.order = [self.links(), self.hosts(), self.switches(), self.nodes(), list(self.nodes(sort=False))]
        self.bottlenecks = [*self.links(sort=True), *self.links(), *self.order]
"""
