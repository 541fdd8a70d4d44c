"""Which device does the work of each lane, with which queueing disciplines, in each state of the path.

A lane's work belongs to the device that it leaves from, but an end host never shapes what it sends: a delay line there would remove TCP's
packets from its accounts, and a full queue would report to TCP at once instead of losing packets. So the work of such a lane moves on

    b1 ---> s1 ---> a1      to the next device, if it consists of delay and loss and no other traffic passes there
    t1 --- x1 ---> s1       otherwise to a stage, a bridge between the host and the next node

The bottleneck's work on acknowledgements moves on in the same way: a flow's own round trip is added there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from longhaul.orchestrator.plan.link_parameters import Buffer, LaneState, Path, PathState
from longhaul.orchestrator.plan.placement import Placement
from longhaul.orchestrator.plan.qdiscs import COUNTS_BYTES, NETEM, Impairment, netem, plain_link, queue, tbf
from longhaul.orchestrator.plan.queues.policers import police
from longhaul.orchestrator.plan.recordings import RecordedLane
from longhaul.orchestrator.plan.run import Qdisc
from longhaul.orchestrator.plan.seeds import derive_seed
from longhaul.orchestrator.plan.tcp_settings import HostOptions
from longhaul.orchestrator.plan.wifi_channels import Sender, check_channels, find_channels, find_senders, transmitter
from longhaul.orchestrator.spec.graph import Graph, Lane
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration

# Limits of queues in bytes are 32 bits wide.
_LARGEST_BYTES = 2**32 - 1

States = Sequence[LaneState]


@dataclass(frozen=True, slots=True)
class Layout:
    """`wires` are the links with stages inserted; `devices` the qdiscs of each lane of a wire, one set per state."""

    stages: tuple[str, ...]
    wires: tuple[Lane, ...]
    devices: Mapping[Lane, Sequence[tuple[Qdisc, ...]]]
    # Each lane of the graph as lanes of the wires, and the one of them that has its rate, if it has one.
    hops: Mapping[Lane, tuple[Lane, ...]]
    rates: Mapping[Lane, Lane]
    # The lane of the wires at which each recording is replayed.
    replays: Mapping[Lane, Lane]
    # The lane of the wires at which each policer is.
    policers: Mapping[Lane, Lane]

    def through(self, lanes: Sequence[Lane]) -> list[Lane]:
        """Lanes of the graph as lanes of the wires."""
        return [hop for lane in lanes for hop in self.hops[lane]]


def lay_out(placement: Placement, path: Path, seed: int, *, single: bool) -> Layout:
    """The device of every lane's work; PlanError for what is not possible. With `single` a plain link is one qdisc."""
    graph, states = placement.graph, path.states
    work = {lane: [state.lanes[lane] for state in states] for lane in graph.lanes}
    _move_on(work, placement, path.bottlenecks)
    _add_own_round_trips(work, placement, states)
    used = {lane for journey in placement.journeys for lane in (*journey.forward, *journey.back)}
    channels = find_channels(graph)
    check_channels(graph, channels, states)
    senders = find_senders(graph, channels, placement.journeys)
    staged = {link: number for number, link in enumerate(_links_to_stage(graph, work), 1)}
    names = _stage_names(graph, len(staged))
    wires: list[Lane] = []
    devices: dict[Lane, Sequence[tuple[Qdisc, ...]]] = {}
    hops: dict[Lane, tuple[Lane, ...]] = {}
    rates: dict[Lane, Lane] = {}
    replays: dict[Lane, Lane] = {}
    policers: dict[Lane, Lane] = {}
    for link in graph.links:
        stage = names[staged[link] - 1] if link in staged else None
        wires += [link] if stage is None else [(link[0], stage), (stage, link[1])]
        for lane in (link, (link[1], link[0])):
            hops[lane] = (lane,) if stage is None else ((lane[0], stage), (stage, lane[1]))
            apart = graph.is_end(lane[0]) or _overtakes(work[lane]) or _polices(work[lane])
            last = hops[lane][-1] if apart else hops[lane][0]
            if lane in used and work[lane][0].rate_bps is not None:
                rates[lane] = last
            first, rest = _parts(work[lane], lane)
            if _polices(work[lane]):
                _check_policed(lane, work[lane], channels)
                policers[lane] = hops[lane][0]
                devices[hops[lane][0]] = police([state.police for state in work[lane]], "-".join(lane))
            for place, part in ((hops[lane][0], first), (last, rest)):
                qdiscs = _qdiscs(part, place, states[0].frame_bytes, seed, senders.get(lane))
                recorded = part[0].recording
                joined = _joined_in_one(qdiscs) if single or recorded else None
                if recorded:
                    _check_replay(recorded, joined)
                    replays[lane] = place
                if qdiscs[0]:
                    devices[place] = joined or qdiscs
    return Layout(tuple(names), tuple(wires), devices, hops, rates, replays, policers)


def _check_policed(lane: Lane, states: States, channels: Mapping[Lane, int]) -> None:
    name = f"links.{'-'.join(lane)}.police"
    if _overtakes(states):
        what = "the packets of a policed link cannot overtake each other"
        raise PlanError("compiling", name, what, "leave reorder out, or give another link the policer")
    if lane in channels:
        what = "the link is a shared 802.11 channel, whose transmitter is its only queue"
        raise PlanError("compiling", name, what, "give the policer to a wired link")


def _check_replay(recorded: RecordedLane, joined: Sequence[tuple[Qdisc, ...]] | None) -> None:
    if joined is None:
        what = "a recorded link has a delay, losses and a drop-tail queue alone"
        raise PlanError("compiling", recorded.subject, what, "leave out the other impairments of this link")


def changed_qdiscs(before: Sequence[Qdisc], after: Sequence[Qdisc]) -> tuple[Qdisc, ...]:
    """The qdiscs of a device whose options a change alters; a new seed of netem alone does not count."""
    return tuple(new for old, new in zip(before, after, strict=True) if _meaning(old) != _meaning(new))


def _joined_in_one(states: Sequence[tuple[Qdisc, ...]]) -> list[tuple[Qdisc, ...]] | None:
    """One qdisc in each state; None unless the link is plain in all of them."""
    joined: list[Qdisc] = []
    for index, chain in enumerate(states):
        link = plain_link(chain)
        if link is None:
            return None
        # Where delay and losses stay the same, the draws continue.
        if joined and _meaning(chain[0]) == _meaning(states[index - 1][0]):
            link = replace(link, options={**link.options, "seed": joined[-1].options["seed"]})
        joined.append(link)
    return [(link,) for link in joined]


def _meaning(qdisc: Qdisc) -> dict[str, object]:
    return {name: value for name, value in qdisc.options.items() if not (qdisc.handle == NETEM and name == "seed")}


def _move_on(work: dict[Lane, list[LaneState]], placement: Placement, bottlenecks: Sequence[Lane]) -> None:
    """Move delay and loss of end hosts, and of the bottlenecks' reverse, one lane further where that is the same for every flow."""
    before: dict[Lane, set[Lane | None]] = {}
    after: dict[Lane, set[Lane | None]] = {}
    for journey in placement.journeys:
        for lanes in (journey.forward, journey.back):
            for one, other in zip((None, *lanes), (*lanes, None), strict=True):
                if one is not None:
                    after.setdefault(one, set()).add(other)
                if other is not None:
                    before.setdefault(other, set()).add(one)
    backward = {(y, x) for x, y in bottlenecks}
    for lane in after:
        ends = placement.graph.is_end(lane[0])
        if all(state.impairment.nothing for state in work[lane]) or not (ends or lane in backward):
            continue
        if (
            (ends and _has_rate(work[lane]))
            or _overtakes(work[lane])
            or work[lane][0].recording
            or _polices(work[lane])
        ):
            continue
        targets = [target for target in after[lane] if target is not None]
        if len(targets) == len(after[lane]) and all(
            before[target] == {lane} and _delays_only(work[target]) for target in targets
        ):
            for target in targets:
                work[target] = [_joined(one, other) for one, other in zip(work[lane], work[target], strict=True)]
            work[lane] = [replace(state, impairment=Impairment()) for state in work[lane]]


def _has_rate(states: States) -> bool:
    return any(state.rate_bps is not None for state in states)


def _polices(states: States) -> bool:
    return any(state.police for state in states)


def _overtakes(states: States) -> bool:
    """Packets that overtake in netem leave its device at once, past the rate and the queue below it: so not there."""
    return _has_rate(states) and any(state.impairment.reorder_2p32 for state in states)


def _delays_only(states: States) -> bool:
    return (
        not _has_rate(states)
        and not states[0].recording
        and not _polices(states)
        and all(replace(state.impairment, delay_us=0).nothing for state in states)
    )


def _joined(moved: LaneState, there: LaneState) -> LaneState:
    delay_us = moved.impairment.delay_us + there.impairment.delay_us
    return replace(there, impairment=replace(moved.impairment, delay_us=delay_us))


def _add_own_round_trips(work: dict[Lane, list[LaneState]], placement: Placement, states: Sequence[PathState]) -> None:
    for host, options in placement.options.items():
        if options.rtt_us is None:
            continue
        journeys = [journey for journey in placement.journeys if journey.sender == host]
        lane = journeys[0].back[-1]
        for index, state in enumerate(states):
            bases_us = {state.rtt_us(journey) for journey in journeys}
            if len(bases_us) > 1:
                what = f"{host} sends to hosts at different distances, so its flows cannot all have the requested round trip"
                raise PlanError("compiling", "flows.rtt", what, "give each flow its own sender")
            work[lane][index] = _lengthened(work[lane][index], options, bases_us.pop())


def _lengthened(state: LaneState, options: HostOptions, base_us: int) -> LaneState:
    assert options.rtt_us is not None
    delay_us = state.impairment.delay_us + options.rtt_us - base_us
    if delay_us < 0:
        least_us = base_us - state.impairment.delay_us
        what = f"the flow's {format_duration(options.rtt_us)} is shorter than the delay it shares with others, {format_duration(least_us)}"
        raise PlanError("resolving", "flows.rtt", what, "give path.one_way a shorter forward delay")
    return replace(state, impairment=replace(state.impairment, delay_us=delay_us))


def _links_to_stage(graph: Graph, work: Mapping[Lane, States]) -> list[Lane]:
    staged = []
    for link in graph.links:
        for lane in (link, (link[1], link[0])):
            busy = (
                _has_rate(work[lane])
                or work[lane][0].recording
                or not all(state.impairment.nothing for state in work[lane])
            )
            if graph.is_end(lane[0]) and _overtakes(work[lane]):
                what = f"{lane[0]} is an end host, whose packets cannot both overtake and keep to a rate"
                raise PlanError("compiling", f"links.{'-'.join(lane)}.reorder", what, "put a switch between them")
            apart = (graph.is_end(lane[0]) and busy) or _overtakes(work[lane]) or _polices(work[lane])
            if apart and link not in staged:
                staged.append(link)
    return staged


def _stage_names(graph: Graph, count: int) -> list[str]:
    """x1, x2, ... without names of the topology."""
    free = (
        name for number in range(1, count + len(graph.neighbours) + 1) if (name := f"x{number}") not in graph.neighbours
    )
    return [next(free) for _ in range(count)]


def _parts(states: States, lane: Lane) -> tuple[States, States]:
    """The work at the lane's first device and at its last; with one device, all of it is the last's."""
    nothing = [LaneState(Impairment()) for _ in states]
    if not _overtakes(states):
        return nothing, states
    first = [
        LaneState(replace(state.impairment, loss_2p32=0, gemodel_2p32=None, duplicate_2p32=0, corrupt_2p32=0))
        for state in states
    ]
    rest = [
        replace(state, impairment=replace(state.impairment, delay_us=0, jitter_us=0, reorder_2p32=0))
        for state in states
    ]
    return first, rest


def _qdiscs(lane: States, place: Lane, frame_bytes: int, seed: int, sender: Sender | None) -> list[tuple[Qdisc, ...]]:
    """The qdiscs of one device, for each state; `sender` is what it is on a shared channel, if on any."""
    impaired = any(not state.impairment.nothing or state.recording for state in lane)
    # A shrinking delay would let later packets overtake, as jitter does.
    ordered = len({state.impairment.delay_us for state in lane}) > 1 or any(
        state.impairment.jitter_us for state in lane
    )
    # TCP counts what it has sent up to the first delay, and sends less as soon as about a millisecond of it waits. That is wrong for a switch's
    # queue, so a netem without a delay is in front of it: one that keeps the order removes packets from that count.
    if sender is None and any(state.rate_bps is not None for state in lane):
        accounted = not any(state.impairment.delay_us or state.impairment.jitter_us for state in lane)
        impaired, ordered = impaired or accounted, ordered or accounted
    # Order is not kept where packets are to overtake.
    ordered = ordered and not any(state.impairment.reorder_2p32 for state in lane)
    devices = []
    name = "-".join(place)
    if len({state.rate_bps is None for state in lane}) > 1:
        what = f"{name} has a rate at one time and none at another: a queue can be changed, but not created or removed"
        raise PlanError("compiling", "schedule", what, "give it a rate from the start")
    for index, state in enumerate(lane):
        device: list[Qdisc] = []
        if impaired:
            device.append(netem(state.impairment, keep_order=ordered, seed=derive_seed(seed, f"netem {name} {index}")))
        if state.rate_bps is not None and sender is not None:
            device.append(transmitter(state, lane[0], sender, name, seed, below_netem=impaired))
        elif state.rate_bps is not None:
            child = _queue(state, lane[0], frame_bytes, name)
            limit = child.options.get("limit", state.buffer.packets if state.buffer else 0)
            assert isinstance(limit, int)
            device += [tbf(state.rate_bps, frame_bytes, limit, below_netem=impaired, bucket=state.bucket), child]
        devices.append(tuple(device))
    return devices


def _queue(state: LaneState, start: LaneState, frame_bytes: int, name: str) -> Qdisc:
    buffer, first = state.buffer, start.buffer
    assert buffer is not None and first is not None and state.rate_bps is not None
    if state.queue == "droptail" and buffer.in_bytes != first.in_bytes:
        what = (
            f"{buffer.text} after {first.text}: one counts packets and the other bytes, and a queue cannot change that"
        )
        raise PlanError("resolving", "schedule.path.buffer", what, "give all in packets or BDP, or all in KB or ms")
    # RED's tables cannot be computed for a limit that the kernel cannot hold.
    if buffer.in_bytes or state.queue in COUNTS_BYTES:
        _check_counted(buffer, name, buffer.size_bytes)
    qdisc = queue(
        state.queue,
        packets=buffer.packets,
        size_bytes=buffer.size_bytes,
        in_bytes=buffer.in_bytes,
        rate_bps=state.rate_bps,
        frame_bytes=frame_bytes,
        ecn=state.ecn,
        mark_at_bytes=state.mark_at_bytes,
        dual=state.dual,
        cake=state.cake,
    )
    memory = qdisc.options.get("memory_bytes", 0)
    assert isinstance(memory, int)
    _check_counted(buffer, name, memory)
    return qdisc


def _check_counted(buffer: Buffer, name: str, counted: int) -> None:
    if counted > _LARGEST_BYTES:
        what = f"{buffer.text} at {name} is {counted} bytes, more than a queue that counts bytes can hold"
        raise PlanError("resolving", "path.buffer", what, "give it in packets or BDP, with a queue that counts packets")
