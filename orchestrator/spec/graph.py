"""The graph of a topology: hosts, switches and links, each direction of a link by itself, as the topology's author wrote it.

    a1 --- s1 === b1        nodes a1 s1 b1; links a1-s1 and s1-b1; lanes a1>s1 s1>a1 s1>b1 b1>s1

A host with more than one link is a router. `Graph.read` takes the output of topologies/as_json.py for a Mininet Topo and refuses, by name,
options that no run supports. Addresses are not read: a run assigns its own.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# (from node, to node): one direction of a link.
Lane = tuple[str, str]

# The shared channels: over the DSSS PHY, and over that of 802.11n with aggregates of frames.
WIFI, WIFI_N = "802.11", "802.11n"

_NODE_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}")
_LINK_OPTIONS = ("bw", "delay", "jitter", "loss", "max_queue_size", "medium", "aggregate", "frame_loss")
_MOST_AGGREGATE = 64
_MOST_NODES, _MOST_LINKS = 1024, 4096
# Names and addresses: a run assigns its own, which changes no packet's path.
_ADDRESSING = {"ip", "mac", "defaultRoute", "dpid", "inNamespace", "routes", "intfName", "intfName1", "intfName2"}
_ADDRESSING |= {"addr1", "addr2", "ifconfig", "cls1", "cls2"}
# Classes of nodes that are supported: end hosts, routers, switches.
_NODE_CLASSES = {"Host", "Node", "Router", "LinuxRouter", "Switch", "LinuxBridge", "OVSSwitch", "OVSKernelSwitch"}
_NODE_CLASSES |= {"OVSBridge", "UserSwitch", "IVSSwitch"}
_LINK_CLASSES = {"Link", "TCLink", "TCULink", "OVSLink"}

# tc's units of time, in microseconds; a number alone is in microseconds.
_TC_TIMES = {"": 1.0, "us": 1.0, "usec": 1.0, "usecs": 1.0, "ms": 1e3, "msec": 1e3, "msecs": 1e3}
_LONGEST_US = 3_600e6
_TC_TIMES |= {"s": 1e6, "sec": 1e6, "secs": 1e6}
_TC_TIME = re.compile(r"\s*([0-9]*\.?[0-9]+(?:[eE][+-]?[0-9]+)?)\s*([a-z]*)\s*")


@dataclass(frozen=True, slots=True)
class Carriage:
    """A topology's values for one lane; `rate_bps` None is no limit, `medium` names a shared channel.

    On one of 802.11n, `aggregate` is the most frames of a transmission and `frame_loss` the share that fails without a collision.
    """

    rate_bps: int | None = None
    delay_us: int = 0
    jitter_us: int = 0
    loss: float = 0.0
    queue_packets: int | None = None
    medium: str | None = None
    aggregate: int | None = None
    frame_loss: float = 0.0


@dataclass(frozen=True, slots=True)
class Graph:
    """`pairs` are the hosts that send to each other unless flows name others, `bottlenecks` the lanes that `path` describes."""

    switches: frozenset[str]
    # Every node with its neighbours, both in the order in which they were added.
    neighbours: Mapping[str, tuple[str, ...]]
    lanes: Mapping[Lane, Carriage]
    pairs: tuple[tuple[str, str], ...]
    bottlenecks: tuple[Lane, ...]

    @property
    def hosts(self) -> list[str]:
        """End hosts and routers."""
        return [name for name in self.neighbours if name not in self.switches]

    @property
    def links(self) -> list[Lane]:
        """Each link once, as it was written."""
        return list(self.lanes)[::2]

    def is_end(self, name: str) -> bool:
        """Whether a node is an end host: it has one link and forwards nothing."""
        return name not in self.switches and len(self.neighbours[name]) < 2

    def lane_of(self, link: str) -> Lane | None:
        """The lane from x to y of a link called x-y, whichever end was written first."""
        return next((lane for lane in self.lanes if "-".join(lane) == link), None)

    def route(self, source: str, target: str) -> list[str] | None:
        """The nodes of a shortest path, which no end host forwards on; None if there is none."""
        previous: dict[str, str | None] = {source: None}
        waiting = deque([source])
        while waiting and target not in previous:
            here = waiting.popleft()
            for there in self.neighbours[here] if here == source or not self.is_end(here) else ():
                if there not in previous:
                    previous[there] = here
                    waiting.append(there)
        if target not in previous:
            return None
        nodes: list[str] = []
        step: str | None = target
        while step is not None:
            nodes.insert(0, step)
            step = previous[step]
        return nodes

    @staticmethod
    def read(data: Mapping[str, Any]) -> Graph:
        """The graph that as_json.py printed; ValueError names the node or link and the option that is not supported."""
        neighbours: dict[str, list[str]] = {}
        switches = set()
        if len(data["nodes"]) > _MOST_NODES or len(data["links"]) > _MOST_LINKS:
            raise ValueError(f"more than {_MOST_NODES} nodes or {_MOST_LINKS} links: too many for a guest")
        for node in data["nodes"]:
            _check_node(node)
            neighbours[node["name"]] = []
            if node["switch"]:
                switches.add(node["name"])
        lanes: dict[Lane, Carriage] = {}
        for link in data["links"]:
            x, y = link["ends"]
            if (x, y) in lanes:
                raise ValueError(f"two links between {x} and {y}: a flow would use one of them")
            lanes[x, y], lanes[y, x] = _read_link(link)
            neighbours[x].append(y)
            neighbours[y].append(x)
        graph = Graph(
            frozenset(switches),
            {name: tuple(nodes) for name, nodes in neighbours.items()},
            lanes,
            tuple((source, target) for source, target in data["pairs"]),
            tuple((source, target) for source, target in data["bottlenecks"]),
        )
        _check_graph(graph)
        return graph


def _check_node(node: Mapping[str, Any]) -> None:
    name, options = node["name"], dict(node["options"])
    if not _NODE_NAME.fullmatch(name):
        raise ValueError(f"node {name[:40]!r}: a name of a letter and up to 31 letters, digits, - and _ is needed")
    kind = options.pop("cls", None)
    if kind is not None and kind not in _NODE_CLASSES:
        raise ValueError(f"node {name}: its class {kind} is not supported; hosts, routers and switches are")
    if unsupported := sorted(set(options) - _ADDRESSING):
        raise ValueError(f"node {name}: {unsupported[0]} is not supported")


def _read_link(link: Mapping[str, Any]) -> Iterator[Carriage]:
    x, y = link["ends"]
    common = dict(link["options"])
    kind = common.pop("cls", None)
    if kind is not None and kind not in _LINK_CLASSES:
        raise ValueError(f"link {x}-{y}: its class {kind} is not supported; Link and TCLink are")
    for own in link["end_options"]:
        try:
            yield _carriage({**common, **own})
        except ValueError as error:
            raise ValueError(f"link {x}-{y}: {error}") from None


def _carriage(options: Mapping[str, Any]) -> Carriage:
    known = set(_LINK_OPTIONS) | _ADDRESSING
    if unsupported := sorted(name for name, value in options.items() if name not in known and value):
        raise ValueError(f"{unsupported[0]} is not supported; options of a link are {', '.join(_LINK_OPTIONS)}")
    medium = options.get("medium")
    if medium not in (None, WIFI, WIFI_N):
        raise ValueError(f"medium {medium!r} is unknown; {WIFI} and {WIFI_N} are known")
    rate_bps = _number(options, "bw", 1e6, "Mbit/s")
    if medium is not None and not rate_bps:
        raise ValueError("a medium needs its bw")
    return Carriage(
        # The kernel counts bytes.
        rate_bps=rate_bps // 8 * 8 if rate_bps else None,
        delay_us=_time_us(options.get("delay"), "delay"),
        jitter_us=_time_us(options.get("jitter"), "jitter"),
        loss=_number(options, "loss", 1, "per cent", most=100) / 100,
        queue_packets=_number(options, "max_queue_size", 1, "packets") or None,
        medium=medium,
        aggregate=_aggregate(options, medium),
        frame_loss=_number(options, "frame_loss", 1, "per cent", most=100) / 100,
    )


def _aggregate(options: Mapping[str, Any], medium: str | None) -> int | None:
    written = options.get("aggregate")
    if medium != WIFI_N:
        if unfit := next((name for name in ("aggregate", "frame_loss") if options.get(name)), None):
            raise ValueError(f"{unfit} needs a medium of {WIFI_N}")
        return None
    if written is None:
        return 1
    if isinstance(written, bool) or not isinstance(written, int) or not 1 <= written <= _MOST_AGGREGATE:
        raise ValueError(f"aggregate {written!r}: a whole number of frames from 1 to {_MOST_AGGREGATE} is needed")
    return written


def _number(options: Mapping[str, Any], name: str, scale: float, unit: str, most: float = 1e6) -> Any:
    value = options.get(name)
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= most:
        raise ValueError(f"{name} {value!r}: a number of {unit} up to {most:g} is needed")
    return value if name.endswith("loss") else round(value * scale)


def _time_us(value: object, name: str) -> int:
    """Rounded to the microsecond."""
    match = _TC_TIME.fullmatch(str(value or 0))
    time_us = float(match[1]) * _TC_TIMES[match[2]] if match and match[2] in _TC_TIMES else None
    if time_us is None or time_us > _LONGEST_US:
        raise ValueError(f"{name} {value!r}: a time as in 10ms is needed, of at most an hour")
    return round(time_us)


def _check_graph(graph: Graph) -> None:
    named = [name for pair in (*graph.pairs, *graph.bottlenecks) for name in pair]
    if unknown := [name for name in named if name not in graph.neighbours]:
        raise ValueError(f"{unknown[0]}, of pairs or bottlenecks, is not a node")
    if unlinked := [lane for lane in graph.bottlenecks if lane not in graph.lanes]:
        raise ValueError(f"no link joins {' and '.join(unlinked[0])}, of bottlenecks")
    for pair in graph.pairs:
        for name in pair:
            if name in graph.switches:
                raise ValueError(f"{name}, of pairs, is a switch: hosts send and receive")
    if loop := _switch_loop(graph):
        raise ValueError(f"switches {', '.join(loop)} form a loop, which none of them breaks: make them routers")


def _switch_loop(graph: Graph) -> Sequence[str] | None:
    """Switches that would flood in circles: a part of the graph of switches alone has more links than a tree."""
    seen: set[str] = set()
    for start in graph.switches:
        part, waiting = {start}, [start]
        while waiting and start not in seen:
            for there in graph.neighbours[waiting.pop()]:
                if there in graph.switches and there not in part:
                    part.add(there)
                    waiting.append(there)
        inner = sum(x in part and y in part for x, y in graph.links)
        if start not in seen and inner >= len(part):
            return sorted(part)
        seen |= part
    return None
