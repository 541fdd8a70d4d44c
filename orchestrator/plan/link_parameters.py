"""The path in numbers: what each direction of each link does to packets, at the start and after each scheduled change.

A lane's numbers come from three places, later ones taking precedence: the topology, `path` (for every bottleneck of the topology), `links`
(for one link). Forward is the direction in which a bottleneck, or the name of a link, is written.

    forward    delay, jitter, loss, ... then the rate and its queue
    reverse    delay and loss; a rate only if one is given

Without `one_way`, forward is half of the round trip; on a bottleneck shared by flows with their own round trips, it is half of the
smallest, so that the rest can be added where the path is not shared.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from longhaul.orchestrator.plan import recordings
from longhaul.orchestrator.plan.placement import Journey, Placement
from longhaul.orchestrator.plan.qdiscs import (
    CAKE,
    DUALPI2,
    FRAME_HEADER_BYTES,
    GAIN_STEPS,
    Bucket,
    DualQueue,
    Impairment,
    share_2p32,
)
from longhaul.orchestrator.plan.queues.cake import cake_options, check_cake, check_reverse
from longhaul.orchestrator.plan.queues.policers import PolicerBucket, read_bucket
from longhaul.orchestrator.plan.queues.shaper import read_shaper, refuse_shaper
from longhaul.orchestrator.plan.recordings import RecordedLane
from longhaul.orchestrator.plan.run import Option
from longhaul.orchestrator.plan.schedule import Moment
from longhaul.orchestrator.spec.graph import Carriage, Graph, Lane
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.recordings import FIELDS
from longhaul.orchestrator.spec.sections.path_model import Link, LinkNumbers
from longhaul.orchestrator.spec.sections.queue_parameters import DualPI2
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import (
    parse_duration,
    parse_multiple,
    parse_packets,
    parse_packets_or_size,
    parse_rate,
    parse_share,
    parse_size,
)

# IP and TCP headers, with timestamps.
HEADER_BYTES = 52

_ALTERNATIVES = {"rtt": "one_way", "one_way": "rtt", "loss": "burst", "burst": "loss"}

# Acknowledgements that may wait for the reverse rate.
_REVERSE_QUEUE_PACKETS = 1000


@dataclass(frozen=True, slots=True)
class Buffer:
    """A buffer; `in_bytes` if it was written in bytes or time."""

    text: str
    packets: int
    size_bytes: int
    in_bytes: bool


@dataclass(frozen=True, slots=True)
class LaneState:
    """One direction of a link between two scheduled changes; a lane with a rate has a buffer."""

    impairment: Impairment
    rate_bps: int | None = None
    buffer: Buffer | None = None
    queue: str = "droptail"
    ecn: bool = False
    mark_at_bytes: int = 0
    dual: DualQueue | None = None
    medium: str | None = None
    recording: RecordedLane | None = None
    police: PolicerBucket | None = None
    cake: Mapping[str, Option] | None = None
    bucket: Bucket | None = None

    def carriage(self) -> Carriage:
        """The values that a topology can have; a probability in as many digits as people write."""
        impairment = self.impairment
        return Carriage(
            rate_bps=self.rate_bps,
            delay_us=impairment.delay_us,
            jitter_us=impairment.jitter_us,
            loss=float(f"{impairment.loss_2p32 / 2**32:.4g}"),
            queue_packets=self.buffer.packets if self.buffer else None,
            medium=self.medium,
        )


@dataclass(frozen=True, slots=True)
class PathState:
    """Every lane; `mtu` is that of the senders now, `frame_bytes` the largest frame that queues are made for, the start's."""

    lanes: Mapping[Lane, LaneState]
    mtu: int
    frame_bytes: int

    def delay_us(self, lanes: Iterable[Lane]) -> int:
        """Propagation delay over these lanes, one after the other."""
        return sum(self.lanes[lane].impairment.delay_us for lane in lanes)

    def rtt_us(self, journey: Journey) -> int:
        """Base round trip, without the delay added for a flow's own."""
        return self.delay_us(journey.forward) + self.delay_us(journey.back)

    def drawn_on(self, graph: Graph) -> Graph:
        """The graph with these numbers instead of its topology's."""
        return replace(graph, lanes={lane: self.lanes[lane].carriage() for lane in graph.lanes})


@dataclass(frozen=True, slots=True)
class Path:
    """The state at the start and after each of the `moments`, and the lanes that `path` describes."""

    states: Sequence[PathState]
    moments: Sequence[Moment]
    bottlenecks: tuple[Lane, ...]


def resolve_path(experiment: Experiment, placement: Placement, moments: Sequence[Moment]) -> Path:
    """The path in numbers. Changes at 0 s are part of the start: no packet meets the state before."""
    check_cake(experiment)
    reading = _Reading(experiment, placement)
    states = reading.states(moments)
    first = sum(moment.at_us == 0 for moment in moments)
    return Path(states[first:], moments[first:], reading.bottlenecks)


def named_lane(graph: Graph, name: str) -> Lane:
    """The forward lane of a link by its name; PlanError with the known names."""
    lane = graph.lane_of(name)
    if lane is None:
        known = ", ".join("-".join(one) for one in graph.links[:20])
        raise PlanError("compiling", f"links.{name}", "no link of the topology has this name", f"links: {known}")
    return lane


class _Reading:
    """The numbers of one experiment, through its schedule."""

    def __init__(self, experiment: Experiment, placement: Placement) -> None:
        self._experiment, self._graph, self._journeys = experiment, placement.graph, placement.journeys
        self._frame_bytes = experiment.path.mtu + FRAME_HEADER_BYTES
        self._own_rtts_us = [parse_duration(flow.rtt) for flow in experiment.flows if flow.rtt is not None]
        self._queues = {named_lane(self._graph, name): link.queue for name, link in experiment.links.items()}
        self._marks = {named_lane(self._graph, name): link.mark_at for name, link in experiment.links.items()}
        self._duals = {named_lane(self._graph, name): link.dualpi2 for name, link in experiment.links.items()}
        self._links = {named_lane(self._graph, name): link for name, link in experiment.links.items()}
        self.bottlenecks = self._graph.bottlenecks or self._slowest()
        self._lacks_rate = experiment.topology == "dumbbell" and "bw" not in experiment.params
        self._recordings = self._open_recordings()
        self._written: dict[Lane, LinkNumbers] = {}
        # The field of a lane's numbers, for errors.
        self._subjects: dict[Lane, str] = {}
        self._buffers: dict[Lane, Buffer] = {}

    def _open_recordings(self) -> dict[Lane, dict[str, RecordedLane]]:
        """The recordings of each link by its forward lane; those of a link come before the path's."""
        found: dict[Lane, dict[str, RecordedLane]] = {}
        named = ((named_lane(self._graph, name), one, f"links.{name}") for name, one in self._experiment.links.items())
        for lane, link, subject in (*((lane, self._experiment.path, "path") for lane in self.bottlenecks), *named):
            for name in FIELDS:
                if (written := getattr(link, name)) is not None:
                    recorded = recordings.open_recording(written, f"{subject}.{name}", self._frame_bytes)
                    recordings.check_beside(recorded, link, name, needs_rate=self._lacks_rate and subject == "path")
                    found.setdefault(lane, {})[name] = recorded
        return found

    def _slowest(self) -> tuple[Lane, ...]:
        """For a topology without a bottleneck: the lowest rate on the first flow's path, or its first link."""
        forward = self._journeys[0].forward
        rates = {lane: self._graph.lanes[lane].rate_bps for lane in forward}
        limited = [lane for lane in forward if rates[lane]]
        return (min(limited, key=lambda lane: rates[lane] or 0) if limited else forward[0],)

    def states(self, moments: Sequence[Moment]) -> list[PathState]:
        path = self._experiment.path
        mtu = path.mtu
        start = path if "buffer" in path.model_fields_set else path.model_copy(update={"buffer": None})
        self._merge(start, dict(self._experiment.links), strict=True)
        states = [self._state(mtu, [])]
        for moment in moments:
            changed = moment.path
            mtu = mtu if changed is None or changed.mtu is None else changed.mtu
            renewed = self._merge(changed, moment.links)
            states.append(self._state(mtu, renewed))
        return states

    def _merge(self, path: LinkNumbers | None, links: Mapping[str, LinkNumbers], *, strict: bool = False) -> list[Lane]:
        """Merge new values; the lanes whose buffers were given."""
        named: list[Lane] = []
        written = [(lane, path, "path") for lane in self.bottlenecks] if path is not None else []
        for name, numbers in links.items():
            lane = named_lane(self._graph, name)
            backward = (lane[1], lane[0])
            if backward in self.bottlenecks or (backward in self._written and not strict):
                what = f"forward is from {backward[0]} to {backward[1]} on this link"
                raise PlanError("compiling", f"links.{name}", what, f"write it as {'-'.join(backward)}")
            written.append((lane, numbers, f"links.{name}"))
        for lane, numbers, subject in written:
            if not strict:
                recordings.refuse_changes(self._recordings.get(lane, {}), numbers)
            self._written[lane] = _merged(self._written.get(lane), numbers)
            self._subjects[lane] = subject
            if numbers.buffer is not None:
                named.append(lane)
        return named

    def _state(self, mtu: int, renewed: Sequence[Lane]) -> PathState:
        lanes: dict[Lane, LaneState] = {}
        for link in self._graph.links:
            backward = (link[1], link[0])
            forward = backward if backward in self._written else link
            lanes |= self._both(forward, (forward[1], forward[0]))
        state = PathState(lanes, mtu, self._frame_bytes)
        for lane in renewed:
            self._buffers.pop(lane, None)
        return replace(
            state,
            lanes={lane: self._with_buffer(state, lane) if one.rate_bps else one for lane, one in lanes.items()},
        )

    def _both(self, forward: Lane, reverse: Lane) -> dict[Lane, LaneState]:
        there, back = self._graph.lanes[forward], self._graph.lanes[reverse]
        numbers = self._written.get(forward, LinkNumbers())
        forward_us, reverse_us = self._delays(forward, numbers, there, back)
        subject = self._subjects.get(forward, "path")
        path = self._experiment.path
        recorded, recorded_back = (self._recordings.get(forward, {}).get(name) for name in FIELDS)
        queue = self._queues.get(forward) or path.queue
        link = self._links.get(forward)
        reverse_queue = (link and link.reverse_queue) or path.reverse_queue
        one = LaneState(
            recordings.without_losses(
                recorded, _impairment(numbers, there, recordings.delay_with(recorded, forward_us), subject)
            ),
            recordings.rate_with(recorded, numbers.bandwidth, there.rate_bps),
            queue=queue,
            ecn=bool(path.ecn),
            mark_at_bytes=parse_packets_or_size(self._marks.get(forward) or path.mark_at or "0 B", self._frame_bytes),
            dual=_dual_queue(self._duals.get(forward) or path.dualpi2 or DualPI2()) if queue == DUALPI2 else None,
            medium=there.medium,
            recording=recorded,
            cake=cake_options((link and link.cake) or path.cake) if queue == CAKE else None,
            bucket=self._bucket(forward, link, numbers, there, subject),
            police=read_bucket(numbers.police, self._frame_bytes, subject),
        )
        reverse_us = recordings.delay_with(recorded_back, reverse_us)
        reverse_bps = recordings.rate_with(recorded_back, numbers.reverse_bandwidth, back.rate_bps)
        if forward in self.bottlenecks or (link and link.reverse_queue):
            check_reverse(subject, reverse_queue, reverse_bps)
        loss = back.loss if numbers.reverse_loss is None else parse_share(numbers.reverse_loss)
        other = LaneState(
            recordings.without_losses(
                recorded_back, Impairment(reverse_us, min(back.jitter_us, reverse_us), share_2p32(loss))
            ),
            reverse_bps,
            queue=reverse_queue,
            cake=cake_options((link and link.reverse_cake) or path.reverse_cake) if reverse_queue == CAKE else None,
            medium=back.medium,
            recording=recorded_back,
        )
        return {forward: one, reverse: other}

    def _bucket(
        self, forward: Lane, link: Link | None, numbers: LinkNumbers, there: Carriage, subject: str
    ) -> Bucket | None:
        """The bucket of a link's rate: its own, or, at a bottleneck, the path's."""
        written = (link and link.shaper) or (self._experiment.path.shaper if forward in self.bottlenecks else None)
        if written is not None and self._recordings.get(forward):
            refuse_shaper(subject, "a recorded link carries what its recording says, and has no bucket")
        if written is not None and there.medium is not None:
            refuse_shaper(subject, "the link is a shared 802.11 channel, which has no bucket")
        rate_bps = there.rate_bps if numbers.bandwidth is None else parse_rate(numbers.bandwidth)
        return read_shaper(written, rate_bps, self._frame_bytes, subject)

    def _delays(self, forward: Lane, numbers: LinkNumbers, there: Carriage, back: Carriage) -> tuple[int, int]:
        if numbers.one_way is not None:
            return parse_duration(numbers.one_way.forward), parse_duration(numbers.one_way.reverse)
        if numbers.rtt is None:
            return there.delay_us, back.delay_us
        rtt_us = parse_duration(numbers.rtt)
        shared = forward in self.bottlenecks
        forward_us = min([rtt_us, *self._own_rtts_us] if shared else [rtt_us]) // 2
        return forward_us, rtt_us - forward_us

    def _with_buffer(self, state: PathState, lane: Lane) -> LaneState:
        one = state.lanes[lane]
        assert one.rate_bps is not None
        if lane not in self._buffers:
            self._buffers[lane] = self._buffer(state, lane, one.rate_bps)
        return replace(one, buffer=self._buffers[lane])

    def _buffer(self, state: PathState, lane: Lane, rate_bps: int) -> Buffer:
        """As written; else the topology's; else 1 BDP, or room for acknowledgements on a lane that only they use."""
        written = self._written[lane].buffer if lane in self._written else None
        carriage = self._graph.lanes[lane]
        if written is None and carriage.queue_packets is not None:
            written = f"{carriage.queue_packets} packets"
        crossing = next((journey for journey in self._journeys if lane in journey.forward), None)
        if written is None:
            written = f"{_REVERSE_QUEUE_PACKETS} packets" if crossing is None else "1 BDP"
        rtt_us = state.rtt_us(crossing or self._journeys[0])
        return resolve_buffer(written, rate_bps, rtt_us, self._frame_bytes, self._subjects.get(lane, "path"))


def _dual_queue(written: DualPI2) -> DualQueue:
    try:
        step, in_packets = parse_packets(written.step), True
    except ValueError:
        step, in_packets = parse_duration(written.step), False
    return DualQueue(
        target_us=parse_duration(written.target),
        tupdate_us=parse_duration(written.tupdate),
        # The kernel's defaults are 41 and 819: it rounds these down.
        alpha=int(written.alpha * GAIN_STEPS + 0.5),
        beta=int(written.beta * GAIN_STEPS + 0.5),
        step=step,
        step_in_packets=in_packets,
        coupling=written.coupling,
        classic_percent=round(parse_share(written.classic_protection) * 100),
        drop_overload=written.overload == "drop",
        drop_early=written.drop_at == "enqueue",
    )


def _merged(before: LinkNumbers | None, new: LinkNumbers) -> LinkNumbers:
    written = {name: getattr(new, name) for name in LinkNumbers.model_fields if getattr(new, name) is not None}
    # A new value replaces its alternative.
    replaced = {other: None for name, other in _ALTERNATIVES.items() if name in written}
    return (before or LinkNumbers()).model_copy(update=written | replaced)


def resolve_buffer(text: str, rate_bps: int, rtt_us: int, frame_bytes: int, subject: str = "path") -> Buffer:
    """A buffer in packets and bytes. BDP and packets count packets, sizes and times count bytes."""
    multiple = parse_multiple(text, "BDP")
    if multiple is not None:
        packets = max(1, round(multiple * Fraction(rate_bps * rtt_us, 8_000_000 * frame_bytes)))
        return Buffer(text, packets, packets * frame_bytes, in_bytes=False)
    try:
        packets = parse_packets(text)
        return Buffer(text, packets, packets * frame_bytes, in_bytes=False)
    except ValueError:
        pass
    try:
        size_bytes = parse_size(text)
    except ValueError:
        size_bytes = rate_bps * parse_duration(text) // 8_000_000
    if size_bytes < frame_bytes:
        raise PlanError(
            "resolving",
            f"{subject}.buffer",
            f"{text} is {size_bytes} bytes, less than one frame of {frame_bytes}",
            "give it at least 1 packet",
        )
    return Buffer(text, size_bytes // frame_bytes, size_bytes, in_bytes=True)


def _impairment(numbers: LinkNumbers, carriage: Carriage, forward_us: int, subject: str) -> Impairment:
    jitter_us = parse_duration(numbers.jitter) if numbers.jitter is not None else carriage.jitter_us
    if jitter_us > forward_us:
        what = f"{jitter_us} us is more than the forward delay, {forward_us} us"
        raise PlanError("resolving", f"{subject}.jitter", what, "give a jitter of at most the forward delay")
    reorder = share_2p32(parse_share(numbers.reorder or 0))
    if reorder and not forward_us:
        raise PlanError(
            "resolving",
            f"{subject}.reorder",
            "packets overtake by skipping the forward delay, and there is none",
            "give the path a round trip",
        )
    gemodel = None
    if (burst := numbers.burst) is not None:
        p, r, good, bad = (share_2p32(parse_share(share)) for share in (burst.p, burst.r, burst.good, burst.bad))
        gemodel = (p, r, 2**32 - 1 - bad, good)
    loss = 0.0 if gemodel else carriage.loss if numbers.loss is None else parse_share(numbers.loss)
    return Impairment(
        delay_us=forward_us,
        jitter_us=jitter_us,
        loss_2p32=share_2p32(loss),
        gemodel_2p32=gemodel,
        duplicate_2p32=share_2p32(parse_share(numbers.duplicate or 0)),
        corrupt_2p32=share_2p32(parse_share(numbers.corrupt or 0)),
        reorder_2p32=reorder,
    )
