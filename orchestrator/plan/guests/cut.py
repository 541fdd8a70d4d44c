"""Cuts a run into parts, each in a guest of its own, at wires whose packets take time (kmod/lh_wire.c).

    a1 --- s1 --[delay, queue, line]--> b1          in one part
    a1 --delay-- | -- s1 --[queue, line]--> b1      in two: the delay before the queue is on the wire, so a part knows that
       <--delay- | --                               long before it arrives

The loop is the same, and so is every packet's time. A link that foresees all of a packet's way keeps its delay, and is given the packet
as soon as it is known. The hosts that send are one side of the cut, dealt out by the packets that they will send; the switches and the
other hosts are the other side. It follows from the run alone.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NoReturn, TypeVar

from longhaul.orchestrator.plan.qdiscs import LINK
from longhaul.orchestrator.plan.run import DeviceChange, End, Node, Qdisc, Run, Wire
from longhaul.orchestrator.plan.traffic.estimate import expected_traffic
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.spec.model import PROGRAM
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# A part waits for another one every quarter of the least delay: lock step would add up the differences of every window.
_WINDOWS_A_DELAY = 4
# The packets of a longer window would not stay in the processor's cache from one guest to the other.
_MOST_PACKETS_A_WINDOW = 4096
# The wires whose packets are handed on ahead of their arrival: each one that arrives is searched among all (kmod/lh_wire.c).
_MOST_AHEAD = 64
_Device = TypeVar("_Device", End, DeviceChange)
_DELAY, _JITTER, _RATE = "delay_ns", "jitter_ns", "rate_bps"
_LOSSES, _OTHER_ORDER = ("loss_2p32", "gemodel_2p32", "corrupt_2p32"), ("reorder_2p32", "duplicate_2p32")
_CHANCES = (*_LOSSES, *_OTHER_ORDER)


@dataclass(frozen=True, slots=True)
class Crossing:
    """A wire between two parts: for each of its ends the part, and the delay of packets that leave it.

    `ahead_ns` is for the end at the switch: the links behind it have all of a packet's delay, and are given it so long before it arrives.
    """

    wire: Wire
    parts: tuple[int, int]
    delays_ns: tuple[int, int]
    ahead_ns: int


@dataclass(frozen=True, slots=True)
class Cut:
    """A run in parts: the nodes of each, and the wires between them. `run` has the delays of those wires taken out of its qdiscs; `whole` is the run itself."""

    whole: Run
    run: Run
    nodes: tuple[frozenset[str], ...]
    crossings: tuple[Crossing, ...]

    @property
    def arena_bytes(self) -> int:
        """The most bytes of packets on the way between two parts: as many as a guest can hold. Pages without packets take no memory."""
        return self.run.memory_mb * 2**20

    def kernel(self, part: int) -> str:
        """The kernel of a part's guest."""
        return next(kernel_of(self.run, node) for node in self.run.nodes if node.name in self.nodes[part])

    @property
    def is_exact(self) -> bool:
        """Whether every byte of the trace is the same in one part.

        A link whose delay is on the wire draws its random losses later by that delay. In the kernel's chain of queueing disciplines, what comes
        and what leaves at one nanosecond do so in the order of timers that the wire does not have.
        """
        pairs = zip(self.whole.ends, self.run.ends, strict=True)
        later = {end.dev for end, now in pairs if end.qdiscs != now.qdiscs}
        later -= {end.dev for crossing in self.crossings for end in crossing.wire.ends}
        states: list[End | DeviceChange] = [*self.whole.ends, *self.whole.device_changes]
        behind = [one for one in states if one.dev in later]
        return not any(len(one.qdiscs) > 1 or any(map(_loses, one.qdiscs)) for one in behind)

    @property
    def window_ns(self) -> int:
        """The virtual time from one barrier to the next."""
        meaning = self.run.meaning
        most_ns = _MOST_PACKETS_A_WINDOW * meaning.frame_bytes * 8 * 10**9 // meaning.bandwidth_bps
        least_delay_ns = min(delay for one in self.crossings for delay in one.delays_ns)
        return max(1, min(least_delay_ns // _WINDOWS_A_DELAY, most_ns))

    def between(self, one: int, other: int) -> list[Crossing]:
        """The wires between two parts; their places in this list are their places in the parts' common memory."""
        return [crossing for crossing in self.crossings if sorted(crossing.parts) == sorted((one, other))]

    def neighbours(self, part: int) -> list[int]:
        """The parts that a part has wires to."""
        return sorted(
            {other for crossing in self.crossings for other in crossing.parts if part in crossing.parts} - {part}
        )

    def document(self, part: int, spins: int) -> dict[str, Any]:
        """The run.json of a part, which looks this often for the others before it sleeps."""
        mine = self.nodes[part]
        document = self.run.as_json()
        document.pop("parts", None)
        for node in document["nodes"]:
            if node["name"] not in mine:
                node |= {"elsewhere": True, "bridge": False, "sysctls": []}
        crossings = {
            one.wire.ends[0].dev: (one, peer, place)
            for peer in self.neighbours(part)
            for place, one in enumerate(self.between(part, peer))
        }
        for wire in document["wires"]:
            if found := crossings.get(wire["ends"][0]["dev"]):
                one, peer, place = found
                wire["crossing"] = {"peer": peer, "place": place, "delay_ns": one.delays_ns[one.parts.index(part)]}
                if one.ahead_ns and part == len(self.nodes) - 1:
                    wire["crossing"]["ahead_ns"] = one.ahead_ns
        for name in ("neighbours", "routes", "links"):
            document[name] = [item for item in document[name] if item["node"] in mine]
        document["part"] = {
            "number": part,
            "window_ns": self.window_ns,
            "arena_bytes": self.arena_bytes,
            "spins": spins,
            "seed": self.run.seed,
            "peers": [self._peer(part, other) for other in self.neighbours(part)],
        }
        return document

    def _peer(self, part: int, other: int) -> dict[str, int]:
        wires = self.between(part, other)
        least_ns = min(one.delays_ns[one.parts.index(other)] for one in wires)
        return {"number": other, "wires": len(wires), "least_delay_ns": least_ns}


def kernel_of(run: Run, node: Node) -> str:
    """The kernel of the guest that a node is in."""
    return node.kernel or run.kernel


def cut_run(run: Run, parts: int) -> Cut:
    """The run in so many parts; PlanError with the reason if it cannot be cut so."""
    cut = try_cut(run, parts)
    return refuse(run, cut) if isinstance(cut, str) else cut


def refuse(run: Run, why: str) -> NoReturn:
    """Raise the error of a run that cannot be in as many guests as were asked for."""
    advice = (
        "give all hosts one kernel" if any(node.kernel for node in run.nodes) else "give fewer parts, or parts: auto"
    )
    raise PlanError("cutting into parts", run.experiment, why, advice)


def try_cut(run: Run, parts: int) -> Cut | str:
    """The run in so many parts, or the reason why it cannot be cut so."""
    if any(flow.tool == IPERF3 for flow in run.flows):
        return "iperf3 has both its programs in one guest"
    if any(flow.kind == PROGRAM for flow in run.flows):
        return "a flow with a command has both its programs in one guest"
    if run.recordings:
        return "a recorded link is replayed in the guest of all hosts"
    if run.policers:
        return "a policer decides in the order in which the packets of all hosts come"
    lanes = _Lanes(run)
    hosts = [name for name in lanes.senders if lanes.may_leave(name)]
    if tied := [node.name for node in run.nodes if node.kernel and node.name not in hosts]:
        return (
            f"{tied[0]} has a kernel of its own, and no wire of its own whose packets come back with a constant delay"
        )
    if not hosts or len(hosts) == len(run.nodes):
        return "no host that sends has a wire of its own whose packets come back with a constant delay"
    if parts - 1 > len(hosts):
        return f"{len(hosts)} of its hosts send over a wire with a delay, so it has at most {len(hosts) + 1} parts"
    outward = [lanes.out_of(name) for name in hosts]
    moved_ns = lanes.common_delay_ns(outward)
    if moved_ns is None:
        return "the packets of its senders meet no constant delay before the first queue"
    sides = _deal_out(run, hosts, parts - 1)
    if isinstance(sides, str):
        return sides
    nodes = (*sides, frozenset(node.name for node in run.nodes) - frozenset(hosts))
    part_of = {name: number for number, names in enumerate(nodes) for name in names}
    ahead = len(hosts) <= _MOST_AHEAD and all(map(lanes.foresees, lanes.after(outward)))
    taken = {} if ahead else dict.fromkeys(lanes.after(outward), moved_ns)
    taken |= {dev: lanes.own_delay_ns(dev) for dev in map(lanes.back_to, hosts)}
    crossings, wires = [], []
    for wire in run.wires:
        near, far = (_less_delay(end, taken.get(end.dev, 0)) for end in wire.ends)
        if part_of[near.node] == part_of[far.node]:
            wires.append(Wire((near, far)))
            continue
        ends = [end if end.node in hosts or lanes.changes(end.dev) else _without_idle(end) for end in (near, far)]
        near_ns, far_ns = (moved_ns if end.node in hosts else taken[end.dev] for end in ends)
        left = Wire((ends[0], ends[1]))
        wires.append(left)
        numbers = (part_of[near.node], part_of[far.node])
        crossings.append(Crossing(left, numbers, (near_ns, far_ns), moved_ns if ahead else 0))
    schedule = tuple(
        _less_delay(change, taken.get(change.dev, 0)) if isinstance(change, DeviceChange) else change
        for change in run.schedule
    )
    parted = replace(run, wires=tuple(wires), schedule=schedule)
    return Cut(run, parted, nodes, tuple(crossings))


class _Lanes:
    """The devices that packets of the flows leave from, and which follows which."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.ends: Mapping[str, End] = {end.dev: end for end in run.ends}
        self._own: dict[str, list[End]] = {}
        for end in run.ends:
            self._own.setdefault(end.node, []).append(end)
        self._other = {end.dev: other for wire in run.wires for end, other in itertools.permutations(wire.ends)}
        self._changes: dict[str, list[DeviceChange]] = {}
        for change in run.device_changes:
            self._changes.setdefault(change.dev, []).append(change)
        paths = [path for flow in run.flows for path in (flow.forward, flow.back)]
        self._next: dict[str, set[str | None]] = {}
        self._before: dict[str, set[str | None]] = {}
        for path in paths:
            for one, other in itertools.pairwise((None, *path, None)):
                if one is not None:
                    self._next.setdefault(one, set()).add(other)
                if other is not None:
                    self._before.setdefault(other, set()).add(one)

    @property
    def senders(self) -> list[str]:
        """The hosts that send, each once."""
        return list(dict.fromkeys(flow.from_node for flow in self.run.flows))

    def out_of(self, host: str) -> str:
        """The device of a host with one wire."""
        return self._own[host][0].dev

    def back_to(self, host: str) -> str:
        """The device of the switch that packets to a host with one wire leave from."""
        return self._other[self.out_of(host)].dev

    def changes(self, dev: str) -> bool:
        """Whether the schedule changes a device."""
        return dev in self._changes

    def may_leave(self, host: str) -> bool:
        """Whether a host with one wire can be in another part than the switch behind it."""
        own = self._own[host]
        if len(own) != 1 or own[0].qdiscs or own[0].offloads or self.changes(own[0].dev):
            return False
        back = self._other[own[0].dev]
        return not back.offloads and self.own_delay_ns(back.dev) > 0

    def own_delay_ns(self, dev: str) -> int:
        """The least delay of a device that does nothing else after it: 0 if there is none."""
        states = self._states(dev)
        if any(len(qdiscs) != 1 or _number(qdiscs[0], _RATE) or _number(qdiscs[0], _JITTER) for qdiscs in states):
            return 0
        return min(_delay_ns(qdiscs[0]) for qdiscs in states)

    def _states(self, dev: str) -> list[tuple[Qdisc, ...]]:
        """The queueing disciplines of a device at the start, and after each change of some of them."""
        first = self.ends[dev].qdiscs
        changed = [{qdisc.handle: qdisc for qdisc in change.qdiscs} for change in self._changes.get(dev, ())]
        return [first, *(tuple(now.get(qdisc.handle, qdisc) for qdisc in first) for now in changed)]

    def foresees(self, dev: str) -> bool:
        """Whether a device knows when a packet leaves as soon as it comes, and does nothing else at its coming."""
        qdiscs = self.ends[dev].qdiscs
        return [qdisc.kind for qdisc in qdiscs] == [LINK] and not self.changes(dev) and not _loses(qdiscs[0])

    def after(self, devices: Sequence[str]) -> set[str]:
        """The devices that packets leave from next."""
        return {dev for one in devices for dev in self._next.get(one, {None}) if dev is not None}

    def common_delay_ns(self, devices: Sequence[str]) -> int | None:
        """The delay that all devices behind these have at their beginning, if nothing else comes to them; None or more than 0."""
        behind = self.after(devices)
        if not behind or any(None in self._next.get(one, set()) for one in devices):
            return None
        if any(not self._before[dev] <= set(devices) for dev in behind):
            return None
        # A change of what is done to packets as they come would find those that are on the wire already.
        if any(len({_as_they_come(qdiscs[0]) for qdiscs in self._states(dev) if qdiscs}) > 1 for dev in behind):
            return None
        return min(_delay_ns(qdiscs[0]) if (qdiscs := self.ends[dev].qdiscs) else 0 for dev in behind) or None


def _number(qdisc: Qdisc, name: str) -> int:
    found = qdisc.options.get(name) or 0
    assert isinstance(found, int)
    return found


def _as_they_come(qdisc: Qdisc) -> tuple[object, ...]:
    """The options that apply to a packet before it waits for the line."""
    return tuple(qdisc.options.get(name) or 0 for name in (_DELAY, _JITTER, *_CHANCES))


def _delay_ns(qdisc: Qdisc) -> int:
    """The part of its delay that is the same for every packet."""
    if any(_number(qdisc, name) for name in _OTHER_ORDER):
        return 0
    return max(0, _number(qdisc, _DELAY) - _number(qdisc, _JITTER))


def _loses(qdisc: Qdisc) -> bool:
    return any(qdisc.options.get(name) for name in _LOSSES)


def _less_delay(one: _Device, taken_ns: int) -> _Device:
    """A device, or a change of it, with so much less delay in its first queueing discipline; a change may leave that one as it is."""
    if not taken_ns or not one.qdiscs or _DELAY not in one.qdiscs[0].options:
        return one
    first, *others = one.qdiscs
    options = {**first.options, _DELAY: _number(first, _DELAY) - taken_ns}
    return replace(one, qdiscs=(replace(first, options=options), *others))


def _without_idle(end: End) -> End:
    """A device without a queueing discipline that has nothing left to do."""
    idle = len(end.qdiscs) == 1 and not _number(end.qdiscs[0], _DELAY) and not _loses(end.qdiscs[0])
    return replace(end, qdiscs=()) if idle else end


def _deal_out(run: Run, hosts: Sequence[str], sides: int) -> tuple[frozenset[str], ...] | str:
    """The hosts, the one that sends most first, each to the side of its kernel that sends least."""
    kernels = {node.name: kernel_of(run, node) for node in run.nodes if node.name in hosts}
    apart = list(dict.fromkeys(kernels.values()))
    if sides < len(apart):
        return f"its senders have {len(apart)} kernels, so it has at least {len(apart) + 1} parts"
    if sides == 1:
        return (frozenset(hosts),)
    sent = expected_traffic(run).of_flows
    weights = {name: sum(sent[flow.id] for flow in run.flows if flow.from_node == name) for name in hosts}
    # The sides that no kernel needs go to the kernel that sends most in each of its own.
    owners = list(apart)
    while len(owners) < sides:
        crowded = [kernel for kernel in apart if list(kernels.values()).count(kernel) > owners.count(kernel)]
        owners.append(max(crowded, key=lambda kernel: _sum(weights, kernels, kernel) / owners.count(kernel)))
    dealt: list[list[str]] = [[] for _ in owners]
    for name in sorted(hosts, key=lambda name: (-weights[name], name)):
        mine = [side for side, owner in zip(dealt, owners, strict=True) if owner == kernels[name]]
        min(mine, key=lambda side: (sum(weights[one] for one in side), len(side))).append(name)
    return tuple(frozenset(side) for side in dealt)


def _sum(weights: Mapping[str, float], kernels: Mapping[str, str], kernel: str) -> float:
    return sum(weight for name, weight in weights.items() if kernels[name] == kernel)
