"""The one list of topologies an experiment may name: where the Mininet class is, and which parameters it takes.

The list is readable without Mininet; the class is imported only by whoever builds the graph with it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class TopologyParameter:
    """A whole number that a topology takes."""

    name: str
    default: int
    low: int
    high: int
    about: str


@dataclass(frozen=True, slots=True)
class Topology:
    """`topo_class` is module:Class, a Mininet Topo."""

    name: str
    topo_class: str
    about: str
    parameters: tuple[TopologyParameter, ...] = ()


CATALOG: Mapping[str, Topology] = {
    topology.name: topology
    for topology in (
        Topology(
            "dumbbell",
            "topologies.dumbbell:Dumbbell",
            "senders that share one bottleneck to one receiver",
            (
                TopologyParameter(
                    "senders",
                    2,
                    1,
                    250,
                    "sender hosts; an experiment has one for each set of flows that differ in round trip or host options",
                ),
            ),
        ),
    )
}
