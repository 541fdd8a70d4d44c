"""Place a plan made for the sandbox on real hosts: nodes become hosts, and the real path replaces the emulated one.

The first sending side of the topology is the first host, the receiving side the second; with more hosts each node is named. The experiment's
path is what is expected there, and the reference of charts and shares. It is not emulated, unless a middle box is named between the two:
then that host forwards with the queues that the sandbox would have. What real hosts do not support, or what would change them for other
users, is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from longhaul.orchestrator.plan.hosts.authorization import not_allowed
from longhaul.orchestrator.plan.placed.host import PlacedHost
from longhaul.orchestrator.plan.placement import Placement, host_options
from longhaul.orchestrator.plan.qdiscs import DCF
from longhaul.orchestrator.plan.run import (
    BoxEnd,
    DeviceChange,
    Flow,
    Link,
    MiddleBox,
    ModuleChange,
    Node,
    Qdisc,
    Run,
)
from longhaul.orchestrator.plan.tcp_settings import HostOptions
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.presets import ERAS
from longhaul.orchestrator.system.errors import PlanError

if TYPE_CHECKING:
    from longhaul.orchestrator.spec.host_policy import Policy

_PLACING = "placing on hosts"
# A host's defaults.
_USUAL = HostOptions()
_HINT = "leave it out, or run it in the sandbox"


class Places:
    """The hosts that the user named for an experiment, with their policy."""

    def __init__(self, policy: Policy, named: Sequence[str]) -> None:
        self._policy = policy
        self._by_node = dict(_pair(name) for name in named if "=" in name)
        self._sides = [name for name in named if "=" not in name]
        self._box = self._sides.pop(1) if len(self._sides) == 3 else None
        if bool(self._by_node) == bool(self._sides) or (self._sides and len(set(self._sides)) != 2):
            what = "two hosts are needed, or a host for each node"
            raise PlanError(_PLACING, ",".join(named), what, "give --hosts FROM,TO or --hosts a1=FROM,b1=TO,a2=OTHER")
        for name in [*self._sides, *self._by_node.values(), *([self._box] if self._box else [])]:
            policy.host(name)
        self._asked_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

    def place(self, run: Run, placement: Placement, experiment: Experiment) -> Run:
        """The run between these hosts; PlanError if they do not support it, or the policy does not allow it."""
        refuse_unsupported(run, experiment)
        at = self._hosts_of(run, placement)
        flows = tuple(self._flow(flow, at) for flow in run.flows)
        names = list(dict.fromkeys(name for flow in flows for name in (flow.from_node, flow.to_node)))
        links = tuple(self._links(run, flows))
        numbers = {link.node: link.id for link in links}
        placed = replace(
            run,
            sysctls=(),
            nodes=tuple(Node(name, False, ()) for name in names),
            wires=(),
            neighbours=(),
            routes=(),
            links=links,
            flows=flows,
            hosts=tuple(self._placed(name, numbers.get(name)) for name in names),
            asked_at=self._asked_at,
            box=self._emulating(self._box, run, flows) if self._box else None,
        )
        if problems := list(not_allowed(self._policy, placed)):
            what = "; ".join(problems)
            raise PlanError(_PLACING, run.experiment, what, "see the operator's host policy for what is allowed")
        return placed

    @staticmethod
    def notes(run: Run) -> Iterator[str]:
        """Notes for readers of the plan."""
        hosts = ", ".join(f"{host.node} ({host.device} {host.address})" for host in run.hosts)
        if run.box:
            devices = " and ".join(end.dev for end in run.box.ends)
            yield f"on real hosts: {hosts}; {run.box.host.node} between them emulates the path on {devices}, in addition to the real path"
        else:
            yield f"on real hosts: {hosts}; bandwidth, round trip, buffer and losses are what is expected there, without emulation"
        yield "on real hosts each flow's socket paces it, at the host's cap unless the flow has a rate"

    def _hosts_of(self, run: Run, placement: Placement) -> Mapping[str, str]:
        """Node of the topology -> host."""
        nodes = dict.fromkeys(name for flow in run.flows for name in (flow.from_node, flow.to_node))
        if self._by_node:
            if missing := [node for node in nodes if node not in self._by_node]:
                what = f"no host is named for {', '.join(missing)}"
                raise PlanError(_PLACING, run.experiment, what, "name one for each node that sends or receives")
            return self._by_node
        first, second = self._sides
        at = {node: host for pair in placement.graph.pairs for node, host in zip(pair, (first, second), strict=True)}
        for flow in run.flows:
            other = {first: second, second: first}
            at.setdefault(flow.from_node, other[at[flow.to_node]] if flow.to_node in at else first)
            at.setdefault(flow.to_node, other[at[flow.from_node]])
        return at

    def _flow(self, flow: Flow, at: Mapping[str, str]) -> Flow:
        sender, receiver = at[flow.from_node], at[flow.to_node]
        if sender == receiver:
            raise PlanError(_PLACING, flow.name, f"it would go from {sender} to itself", "name another host")
        host = self._policy.host(receiver)
        return replace(
            flow,
            from_node=sender,
            to_node=receiver,
            address=host.traffic.address,
            port=host.ports[0] + flow.id,
            forward=(),
            back=(),
        )

    def _links(self, run: Run, flows: Sequence[Flow]) -> Iterator[Link]:
        """The queue of each sending host's device: the only visible queue of a real path."""
        for number, name in enumerate(dict.fromkeys(flow.from_node for flow in flows)):
            device = self._policy.host(name).traffic.device
            yield Link(
                number,
                f"{name}-{device}",
                name,
                device,
                "root",
                run.meaning.bandwidth_bps,
                run.meaning.forward_us,
                0,
                0,
            )

    def _emulating(self, name: str, run: Run, placed: Sequence[Flow]) -> MiddleBox:
        """The middle box with the queues that the experiment's path has towards each side."""
        queues = {end.dev: end.qdiscs for end in run.ends}
        towards: dict[str, tuple[Qdisc, ...]] = {}
        for flow, there in zip(run.flows, placed, strict=True):
            for side, devices in ((there.to_node, flow.forward), (there.from_node, flow.back)):
                on_path = [queues[device] for device in devices if queues[device]]
                first = on_path[0] if on_path else ()
                if len(on_path) > 1 or towards.setdefault(side, first) != first:
                    what = "flows pass several queues; a middle box has one per direction"
                    raise PlanError(_PLACING, run.experiment, what, "choose a topology with one link, as dumbbell")
        emulates = self._policy.host(name).emulates
        for side in towards:
            if side not in emulates:
                what = f"the policy names no device of it towards {side}"
                raise PlanError(_PLACING, name, what, "its operator adds it under `emulates`")
        for qdisc in (one for way in towards.values() for one in way):
            # The project's own kind of queue has a module that only guests load.
            if qdisc.kind == DCF:
                what = f"{qdisc.kind} works in guests only"
                raise PlanError(_PLACING, run.experiment, what, "leave the middle box out, or run it in the sandbox")
        ends = tuple(BoxEnd(emulates[side], way) for side, way in towards.items() if way)
        return MiddleBox(self._placed(name, None), ends)

    def _placed(self, name: str, link: int | None) -> PlacedHost:
        host = self._policy.host(name)
        return PlacedHost(name, host.traffic.address, host.traffic.device, host.rate_bps, link)


def refuse_unsupported(run: Run, experiment: Experiment) -> None:
    """PlanError for the first part of an experiment that real hosts do not support."""
    for flow in run.flows:
        if flow.tool == IPERF3:
            raise PlanError(_PLACING, f"flows.{flow.name}.tool", "iperf3 obeys no rate limit", "use tool: lh-flow")
    for change in run.schedule:
        if isinstance(change, DeviceChange):
            raise PlanError(_PLACING, "schedule", "it changes the path, which is real here", _HINT)
        if isinstance(change, ModuleChange):
            what = "it changes a module while flows run, and the module belongs to the whole machine"
            raise PlanError(_PLACING, "schedule", what, _HINT)
    for module in run.modules:
        if module.source:
            what = "a user-supplied module is loaded into guests only"
            hint = (
                "leave it out of modules to use the hosts' own"
                if module.replaces
                else "deploy it with `longhaul hosts deploy`"
            )
            raise PlanError(_PLACING, module.replaces or module.name, what, f"{hint}, or run it in the sandbox")
    if run.knobs:
        raise PlanError(
            _PLACING, "knobs", "they belong to a user-supplied module, which is loaded into guests only", _HINT
        )
    for name, option in _unusual(experiment):
        what = f"{option} belongs to the whole host, and so to its other connections"
        raise PlanError(_PLACING, name, what, _HINT)


def _unusual(experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Host options of an experiment other than the defaults; those of an era of kernels belong to the study, and a real host has its own."""
    era = ERAS[experiment.cc_era].fields if experiment.cc_era else {}
    for flow in experiment.flows:
        if flow.kind == "udp":
            continue
        asked = host_options(flow, experiment)
        for one in fields(HostOptions):
            value = getattr(asked, one.name)
            if value != getattr(_USUAL, one.name) and era.get(one.name) != value:
                yield f"flows.{flow.name}", one.name.removesuffix("_us")


def _pair(text: str) -> tuple[str, str]:
    node, _, host = text.partition("=")
    return node, host
