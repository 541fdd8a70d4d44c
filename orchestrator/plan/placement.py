"""Where the flows run: which host sends, which one receives, over which nodes, and the TCP options of that host.

Flows of one host share its options. Without a `sender` or `receiver`, the pairs of the topology are given to the flows in turn; a topology
that grows with its flows (the dumbbell) gets a pair for each set of flows that differ in host options or round trip.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from fnmatch import fnmatchcase

from longhaul.orchestrator.plan.tcp_settings import HostOptions
from longhaul.orchestrator.spec.graph import Graph, Lane
from longhaul.orchestrator.spec.model import Experiment, Flow
from longhaul.orchestrator.spec.topology import build_graph
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import parse_duration
from longhaul.topologies import CATALOG

# Options whose name in an experiment differs.
_WRITTEN = {"rtt_us": "rtt", "ect1": "ect"}


@dataclass(frozen=True, slots=True)
class Journey:
    """One flow's path there and back."""

    sender: str
    receiver: str
    forward: tuple[Lane, ...]
    back: tuple[Lane, ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """`journeys` has one for each flow, in the order of their names; `options` one for each host that sends."""

    graph: Graph
    journeys: tuple[Journey, ...]
    options: Mapping[str, HostOptions]


def place_flows(experiment: Experiment) -> Placement:
    """The graph, made for these flows, and where each of them runs; PlanError."""
    flows = [flow for flow in experiment.flows for _ in flow.names]
    wanted = [host_options(flow, experiment) for flow in flows]
    topology = CATALOG.get(experiment.topology)
    params = dict(experiment.params)
    # Flows that belong together have one turn, if they have one sender.
    turns = (flow.of_one_sender for flow in experiment.flows for _ in range(0, len(flow.names), flow.of_one_sender))
    chosen = [turn for turn, together in enumerate(turns) for _ in range(together)]
    if topology is not None and topology.grows is not None and topology.grows not in params:
        kinds = list(dict.fromkeys(wanted))
        named = any(flow.sender is not None or flow.receiver is not None for flow in flows)
        parameter = topology.parameter(topology.grows)
        assert parameter is not None
        if len(kinds) > parameter.high:
            what = f"{len(kinds)} different round trips and host options"
            raise PlanError("compiling", "flows", what, f"{parameter.high:g} are possible")
        if not named:
            params[topology.grows] = len(kinds)
            chosen = [kinds.index(options) for options in wanted]
    graph = build_graph(experiment.topology, params)
    journeys = tuple(_journeys(graph, experiment, chosen))
    options: dict[str, HostOptions] = {}
    for flow, journey, asked in zip(flows, journeys, wanted, strict=True):
        # UDP needs no host options, and TCP's requests apply even if a UDP flow comes first.
        if flow.kind == "udp":
            continue
        present = options.setdefault(journey.sender, asked)
        options[journey.sender] = present = replace(present, cc=present.cc or asked.cc)
        if present != replace(asked, cc=asked.cc or present.cc):
            _refuse_sharing(flow, journey.sender, present, replace(asked, cc=asked.cc or present.cc))
    for flow, journey, asked in zip(flows, journeys, wanted, strict=True):
        if flow.requests is not None and asked.ecn:
            # The client connects, so its host asks for ECN.
            options.setdefault(journey.receiver, HostOptions(ecn=asked.ecn))
        if flow.kind == "udp" and options.setdefault(journey.sender, asked).ect1 and flow.ect == 0:
            what = f"it sends ECT(0) from {journey.sender}, whose packets leave as ECT(1) because of another flow"
            raise PlanError("compiling", f"flows.{flow.name}.ect", what, "give it a sender of its own")
    return Placement(graph, journeys, options)


def host_options(flow: Flow, experiment: Experiment) -> HostOptions:
    """The TCP options that a flow requests of its sender's host."""
    if flow.kind == "udp":
        # UDP has no round trip to keep; it shares the host of plain flows.
        return HostOptions(ecn=experiment.path.ecn)
    rtt_us = None if flow.rtt is None else parse_duration(flow.rtt)
    ecn = experiment.path.ecn if flow.ecn is None else flow.ecn
    return HostOptions(
        rtt_us,
        flow.sack,
        ecn,
        ect1=flow.ect == 1,
        recovery=flow.recovery,
        initial_window=flow.initial_window,
        delayed_ack=flow.delayed_ack,
        cc="" if flow.command is None else experiment.control(flow.cc).name,
    )


def _journeys(graph: Graph, experiment: Experiment, chosen: Sequence[int]) -> list[Journey]:
    made: list[Journey] = []
    for flow in experiment.flows:
        senders = _matches(graph, flow, "sender")
        receivers = _matches(graph, flow, "receiver")
        for place in range(len(flow.names)):
            # All connections of programs, and all streams of a transfer, are between the same two hosts.
            pair = graph.pairs[chosen[len(made)] % len(graph.pairs)] if graph.pairs else (None, None)
            sender = senders[place // flow.of_one_sender % len(senders)] if senders else pair[0]
            receiver = receivers[place // flow.together % len(receivers)] if receivers else pair[1]
            if sender is None or receiver is None:
                what = f"{experiment.topology} has no pairs, so each flow needs its sender and its receiver"
                raise PlanError("compiling", f"flows.{flow.name}", what, f"hosts: {_listed(graph.hosts)}")
            made.append(_journey(graph, flow, sender, receiver))
            if place % flow.together and made[-2].receiver != receiver:
                what = f"its receivers would be {made[-2].receiver} and {receiver}, and a barrier is of one client"
                raise PlanError("compiling", f"flows.{flow.name}.receiver", what, "name one receiver")
    return made


def _matches(graph: Graph, flow: Flow, end: str) -> list[str]:
    pattern: str | None = getattr(flow, end)
    if pattern is None:
        return []
    found = [name for name in graph.hosts if fnmatchcase(name, pattern)]
    if not found:
        raise PlanError(
            "compiling", f"flows.{flow.name}.{end}", f"no host is named {pattern}", f"hosts: {_listed(graph.hosts)}"
        )
    return found


def _journey(graph: Graph, flow: Flow, sender: str, receiver: str) -> Journey:
    if sender == receiver:
        raise PlanError("compiling", f"flows.{flow.name}", f"it would go from {sender} to itself", "name another host")
    route = graph.route(sender, receiver)
    if route is None:
        raise PlanError("compiling", f"flows.{flow.name}", f"no path leads from {sender} to {receiver}")
    forward = tuple(itertools.pairwise(route))
    return Journey(sender, receiver, forward, tuple((y, x) for x, y in reversed(forward)))


def _listed(names: Sequence[str], most: int = 20) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _refuse_sharing(flow: Flow, host: str, present: HostOptions, asked: HostOptions) -> None:
    name = next(one.name for one in fields(HostOptions) if getattr(present, one.name) != getattr(asked, one.name))
    written = _WRITTEN.get(name, name)
    what = f"it sends from {host} as another flow does, with another {written}, which belongs to the host"
    raise PlanError("compiling", f"flows.{flow.name}.{written}", what, "give it a sender of its own")
