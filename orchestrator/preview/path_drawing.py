"""The content of a run's drawing, as plain numbers: nodes, links with what each direction does to packets, the paths of the flows.

    a1 --- s1 ===[ bottleneck ]=== s2 --- b1        nodes a1 s1 s2 b1; links a1-s1 s1-s2 s2-b1; path of a flow: a1 s1 s2 b1

It is made of the experiment at one point, before a plan hides links behind devices and queueing disciplines. Of a very large
graph, the parts that flows use are drawn first, and the rest is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhaul.orchestrator.plan.link_parameters import LaneState, PathState, resolve_path
from longhaul.orchestrator.plan.placement import Journey, Placement, place_flows
from longhaul.orchestrator.plan.schedule import path_changes
from longhaul.orchestrator.spec.graph import Graph, Lane
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_MOST_NODES = 120
_MOST_FLOWS = 100


@dataclass(frozen=True, slots=True)
class Direction:
    """One direction of a link; without a rate it has no queue. `bursts`: losses follow the Gilbert-Elliott model."""

    rate_bps: int | None
    delay_us: int
    jitter_us: int
    loss: float
    bursts: bool
    reorder: float
    duplicate: float
    corrupt: float
    queue: str | None
    buffer_text: str | None
    buffer_packets: int | None
    buffer_us: int | None
    ecn: bool
    medium: str | None


@dataclass(frozen=True, slots=True)
class PathNode:
    """`kind` is host, router or switch."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True)
class PathLink:
    """`name` is its name in an experiment's `links`; `ends` are in the order of its forward direction."""

    name: str
    ends: tuple[str, str]
    bottleneck: bool
    forward: Direction
    reverse: Direction


@dataclass(frozen=True, slots=True)
class PathFlow:
    """`entry` is its position in the experiment's list of flows, `rtt_us` its base round trip."""

    name: str
    entry: int
    kind: str
    cc: str | None
    way: tuple[str, ...]
    rtt_us: int


@dataclass(frozen=True, slots=True)
class Drawing:
    """`hosts` are the end hosts that flows may name; nodes and flows that do not fit are counted."""

    nodes: tuple[PathNode, ...]
    links: tuple[PathLink, ...]
    flows: tuple[PathFlow, ...]
    hosts: tuple[str, ...]
    more_nodes: int
    more_flows: int


def drawing_of(experiment: Experiment) -> Drawing:
    """The drawing of an experiment without a sweep; PlanError as in compiling it."""
    placement = place_flows(experiment)
    path = resolve_path(experiment, placement, path_changes(experiment))
    graph, state = placement.graph, path.states[0]
    drawn = _drawn_nodes(graph, placement.journeys[:_MOST_FLOWS])
    names = [(position, name) for position, flow in enumerate(experiment.flows) for name in flow.names]
    flows = [
        _flow(experiment, placement, state, *one) for one in zip(names[:_MOST_FLOWS], placement.journeys, strict=False)
    ]
    return Drawing(
        nodes=tuple(PathNode(name, _kind(graph, name)) for name in graph.neighbours if name in drawn),
        links=tuple(_links(graph, state, path.bottlenecks, drawn)),
        flows=tuple(flows),
        hosts=tuple(graph.hosts[:_MOST_NODES]),
        more_nodes=len(graph.neighbours) - len(drawn),
        more_flows=len(names) - len(flows),
    )


def _drawn_nodes(graph: Graph, journeys: Sequence[Journey]) -> set[str]:
    used = [name for journey in journeys for lane in journey.forward for name in lane]
    return set(list(dict.fromkeys([*used, *graph.neighbours]))[:_MOST_NODES])


def _kind(graph: Graph, name: str) -> str:
    return "switch" if name in graph.switches else "host" if graph.is_end(name) else "router"


def _links(graph: Graph, state: PathState, bottlenecks: Sequence[Lane], drawn: set[str]) -> Iterator[PathLink]:
    for x, y in graph.links:
        if x not in drawn or y not in drawn:
            continue
        forward = (y, x) if (y, x) in bottlenecks else (x, y)
        reverse = (forward[1], forward[0])
        yield PathLink(
            "-".join(forward),
            forward,
            forward in bottlenecks,
            _direction(state.lanes[forward]),
            _direction(state.lanes[reverse]),
        )


def _direction(lane: LaneState) -> Direction:
    impairment, buffer = lane.impairment, lane.buffer
    return Direction(
        rate_bps=lane.rate_bps,
        delay_us=impairment.delay_us,
        jitter_us=impairment.jitter_us,
        loss=_share(impairment.loss_2p32),
        bursts=impairment.gemodel_2p32 is not None,
        reorder=_share(impairment.reorder_2p32),
        duplicate=_share(impairment.duplicate_2p32),
        corrupt=_share(impairment.corrupt_2p32),
        queue=lane.queue if lane.rate_bps else None,
        buffer_text=buffer.text if buffer else None,
        buffer_packets=buffer.packets if buffer else None,
        buffer_us=buffer.size_bytes * 8_000_000 // lane.rate_bps if buffer and lane.rate_bps else None,
        ecn=lane.ecn,
        medium=lane.medium,
    )


def _share(word: int) -> float:
    """netem's probability, in as many digits as people write."""
    return float(f"{word / 2**32:.4g}")


def _flow(
    experiment: Experiment, placement: Placement, state: PathState, named: tuple[int, str], journey: Journey
) -> PathFlow:
    position, name = named
    written = experiment.flows[position]
    own_us = placement.options[journey.sender].rtt_us
    return PathFlow(
        name=name,
        entry=position,
        kind=written.kind,
        cc=None if written.kind == "udp" else experiment.control(written.cc).name,
        way=(journey.sender, *(lane[1] for lane in journey.forward)),
        rtt_us=max(state.rtt_us(journey), own_us or 0),
    )
