"""The part of Mininet's Topo that describes a network, for machines without Mininet; a run in the sandbox needs no more of it.

as_json.py uses it in place of `mininet.topo` and `mininet.node` where the system's Python has no Mininet. Nodes, links and options, and
their order, which decides the plan of a run, are those of Mininet 2.3: tests/contract/test_topologies.py compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

Options = dict[str, Any]


class Node:
    """What a class of nodes is derived from; none is started."""


class Topo:
    """Hosts, switches and links, in the order in which `build` adds them."""

    def __init__(self, *args: Any, **params: Any) -> None:
        self._nodes: dict[str, Options] = {}
        self._links: list[Options] = []
        # For nodes and links without options.
        self.hopts = params.pop("hopts", {})
        self.sopts = params.pop("sopts", {})
        self.lopts = params.pop("lopts", {})
        self.build(*args, **params)

    def build(self, *args: Any, **params: Any) -> None:
        """Add nodes and links; classes override it."""

    def addNode(self, name: str, **opts: Any) -> str:
        """Add a node; one that is there gets these options in place of its own."""
        self._nodes[name] = opts
        return name

    def addHost(self, name: str, **opts: Any) -> str:
        """Add a host."""
        return self.addNode(name, **(opts or self.hopts))

    def addSwitch(self, name: str, **opts: Any) -> str:
        """Add a switch."""
        return self.addNode(name, **{"isSwitch": True, **(opts or self.sopts)})

    def addLink(
        self,
        node1: str,
        node2: str,
        port1: int | None = None,
        port2: int | None = None,
        key: int | None = None,
        **opts: Any,
    ) -> int:
        """Add a link between two nodes that are there; its number among those of the same two ends."""
        for end in (node1, node2):
            if end not in self._nodes:
                raise KeyError(end)
        ends = {"node1": node1, "node2": node2, "port1": port1, "port2": port2}
        self._links.append({**(opts or self.lopts), **ends})
        return sum({link["node1"], link["node2"]} == {node1, node2} for link in self._links)

    def isSwitch(self, name: str) -> bool:
        """Whether a node is a switch."""
        return bool(self._nodes[name].get("isSwitch", False))

    def nodeInfo(self, name: str) -> Options:
        """The options of a node."""
        return self._nodes[name]

    def nodes(self, sort: bool = True) -> list[str]:
        """The names of nodes."""
        return sorted(self._nodes, key=_natural) if sort else list(self._nodes)

    def hosts(self, sort: bool = True) -> list[str]:
        """The names of hosts."""
        return [name for name in self.nodes(sort) if not self.isSwitch(name)]

    def switches(self, sort: bool = True) -> list[str]:
        """The names of switches."""
        return [name for name in self.nodes(sort) if self.isSwitch(name)]

    def iterLinks(self, withKeys: bool = False, withInfo: bool = False) -> Iterator[tuple[Any, ...]]:
        """(end, end[, number][, options]) of each link, grouped by the smaller end, in the order in which ends were first linked."""
        ends = dict.fromkeys(link[end] for link in self._links for end in ("node1", "node2"))
        for end in ends:
            between: dict[str, list[Options]] = {}
            for link in self._links:
                if end in (link["node1"], link["node2"]):
                    between.setdefault(link["node2"] if link["node1"] == end else link["node1"], []).append(link)
            for other, links in between.items():
                for number, link in enumerate(links if end <= other else (), start=1):
                    more = (number,) * withKeys + (link,) * withInfo
                    yield (link["node1"], link["node2"], *more)

    def links(self, sort: bool = False, withKeys: bool = False, withInfo: bool = False) -> list[tuple[Any, ...]]:
        """All of `iterLinks`, by name if `sort`."""
        found = list(self.iterLinks(withKeys, withInfo))
        return sorted(found, key=lambda link: [_natural(end) for end in link[:2]]) if sort else found


def _natural(name: str) -> list[Any]:
    """The order of names in which h10 comes after h2."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]
