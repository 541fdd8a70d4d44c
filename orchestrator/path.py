"""The path in numbers: what the text of `path` comes to, at the start and after each scheduled change, and the qdiscs it becomes.

    s1 ---                     forward delay, jitter, loss, ... then the rate and its queue: bridge r, device r-d
           \\    r-d
    s2 ---- r ======== d       reverse delay and loss: bridge r, the device towards each sender (r-s1, r-s2)
            r-s1    d-r        reverse rate, if there is one: the receiver's device d-r, which carries acknowledgements only

The forward delay is shared by all flows, so a flow's own round trip is made up in the reverse delay of its sender. Without
`one_way`, forward is half of the smallest round trip in the experiment; for equal round trips that is half and half.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from orchestrator.errors import PlanError
from orchestrator.experiment import Path, PathNumbers
from orchestrator.qdiscs import NETEM, QUEUE, RATE, SKB_BYTES, Impairment, netem, queue, share_2p32, tbf
from orchestrator.run import Qdisc
from orchestrator.seeds import derive_seed
from orchestrator.units import (
    format_duration,
    format_size,
    parse_duration,
    parse_multiple,
    parse_packets,
    parse_rate,
    parse_share,
    parse_size,
)

# Ethernet header; no frame check sequence or preamble crosses a veth.
FRAME_HEADER_BYTES = 14
# IP and TCP headers, with timestamps.
HEADER_BYTES = 52

# Limits of queues in bytes are 32 bits wide.
_LARGEST_BYTES = 2**32 - 1

_ALTERNATIVES = {"rtt": "one_way", "one_way": "rtt", "loss": "burst", "burst": "loss"}

# Acknowledgements that may wait for the reverse rate.
_REVERSE_QUEUE_PACKETS = 1000


@dataclass(frozen=True, slots=True)
class Buffer:
    """Waiting room; `in_bytes` where it was written in bytes or time."""

    text: str
    packets: int
    size_bytes: int
    in_bytes: bool


@dataclass(frozen=True, slots=True)
class PathState:
    """The path between two scheduled changes.

    `rtt_us` is the base path's; a flow may have its own. `mtu` is what senders may send now, `frame_bytes` the largest frame
    that the queues are made for, which is the start's.
    """

    bandwidth_bps: int
    rtt_us: int
    forward_us: int
    mtu: int
    frame_bytes: int
    buffer: Buffer
    queue: str
    ecn: bool
    impairment: Impairment
    reverse_loss_2p32: int
    reverse_bandwidth_bps: int | None

    @property
    def bdp_bytes(self) -> int:
        return self.bandwidth_bps * self.rtt_us // 8_000_000

    def reverse_us(self, flow_rtt_us: int | None) -> int:
        """Reverse delay of a sender whose flows have this round trip (None: the path's)."""
        return (self.rtt_us if flow_rtt_us is None else flow_rtt_us) - self.forward_us


def path_states(path: Path, changes: Sequence[PathNumbers], flow_rtts_us: Sequence[int]) -> list[PathState]:
    """The state at the start and after each change."""
    frame_bytes = path.mtu + FRAME_HEADER_BYTES
    states = [_resolve(path, frame_bytes, flow_rtts_us, None)]
    for change in changes:
        path = _merge(path, change)
        kept = None if change.buffer is not None else states[-1].buffer
        states.append(_resolve(path, frame_bytes, flow_rtts_us, kept))
        if path.queue == "droptail" and states[-1].buffer.in_bytes != states[0].buffer.in_bytes:
            what = f"{path.buffer} after {states[0].buffer.text}: one counts packets and the other bytes, and a queue cannot change that"
            raise PlanError("resolving", "schedule.path.buffer", what, "give all in packets or BDP, or all in KB or ms")
    return states


def sender_qdiscs(states: Sequence[PathState], sender: str, seed: int) -> list[tuple[Qdisc, ...]]:
    """Device <sender>-r, for each state: the forward delay where packets overtake, see `_overtaking`."""
    if not _overtaking(states):
        return [() for _ in states]
    return [
        (
            netem(
                replace(state.impairment, loss_2p32=0, gemodel_2p32=None, duplicate_2p32=0, corrupt_2p32=0),
                keep_order=False,
                seed=derive_seed(seed, f"delay {sender} {index}"),
            ),
        )
        for index, state in enumerate(states)
    ]


def _overtaking(states: Sequence[PathState]) -> bool:
    """Packets that netem lets overtake leave its device at once, past the rate and the queue below it: so not there."""
    return any(state.impairment.reorder_2p32 for state in states)


def forward_qdiscs(states: Sequence[PathState], seed: int) -> list[tuple[Qdisc, ...]]:
    """Device r-d, for each state."""
    if _overtaking(states):
        states = [
            replace(state, impairment=replace(state.impairment, delay_us=0, jitter_us=0, reorder_2p32=0))
            for state in states
        ]
    impaired = any(not state.impairment.nothing for state in states)
    # A delay that shrinks would let later packets overtake, as jitter does.
    ordered = len({state.impairment.delay_us for state in states}) > 1 or any(
        state.impairment.jitter_us for state in states
    )
    devices = []
    for index, state in enumerate(states):
        child = _queue(state)
        limit = child.options.get("limit", state.buffer.packets)
        assert isinstance(limit, int)
        device = [tbf(state.bandwidth_bps, state.frame_bytes, limit, below_netem=impaired), child]
        if impaired:
            device.insert(0, netem(state.impairment, keep_order=ordered, seed=derive_seed(seed, f"forward {index}")))
        devices.append(tuple(device))
    return devices


def reverse_qdiscs(
    states: Sequence[PathState], flow_rtt_us: int | None, sender: str, seed: int
) -> list[tuple[Qdisc, ...]]:
    """Device r-<sender>, for each state."""
    impairments = [Impairment(state.reverse_us(flow_rtt_us), loss_2p32=state.reverse_loss_2p32) for state in states]
    if all(impairment.nothing for impairment in impairments):
        return [() for _ in states]
    keep_order = len({impairment.delay_us for impairment in impairments}) > 1
    return [
        (netem(impairment, keep_order=keep_order, seed=derive_seed(seed, f"reverse {sender} {index}")),)
        for index, impairment in enumerate(impairments)
    ]


def receiver_qdiscs(states: Sequence[PathState]) -> list[tuple[Qdisc, ...]]:
    """Device d-r, for each state."""
    devices: list[tuple[Qdisc, ...]] = []
    for state in states:
        if state.reverse_bandwidth_bps is None:
            devices.append(())
            continue
        child = Qdisc("pfifo", QUEUE, f"{RATE}1", {"limit": _REVERSE_QUEUE_PACKETS})
        devices.append(
            (tbf(state.reverse_bandwidth_bps, state.frame_bytes, _REVERSE_QUEUE_PACKETS, below_netem=False), child)
        )
    return devices


def changed_qdiscs(before: Sequence[Qdisc], after: Sequence[Qdisc]) -> tuple[Qdisc, ...]:
    """Those of a device that a change gives other options; a netem's new seed alone is no change."""
    return tuple(new for old, new in zip(before, after, strict=True) if _meaning(old) != _meaning(new))


def _meaning(qdisc: Qdisc) -> dict[str, object]:
    return {name: value for name, value in qdisc.options.items() if not (qdisc.handle == NETEM and name == "seed")}


def _queue(state: PathState) -> Qdisc:
    counted = state.buffer.packets * SKB_BYTES if state.queue == "cake" else state.buffer.size_bytes
    if counted > _LARGEST_BYTES and (state.queue in ("red", "cake") or state.buffer.in_bytes):
        what = f"{state.buffer.text} is {format_size(state.buffer.size_bytes)}, more than a queue that counts bytes can hold"
        raise PlanError("resolving", "path.buffer", what, "give it in packets or BDP, with a queue that counts packets")
    return queue(
        state.queue,
        packets=state.buffer.packets,
        size_bytes=state.buffer.size_bytes,
        in_bytes=state.buffer.in_bytes,
        rate_bps=state.bandwidth_bps,
        frame_bytes=state.frame_bytes,
        ecn=state.ecn,
    )


def _merge(path: Path, change: PathNumbers) -> Path:
    update = {name: getattr(change, name) for name in change.model_fields_set if getattr(change, name) is not None}
    # Of these, the one that is written takes the other's place.
    replaced = {other: None for name, other in _ALTERNATIVES.items() if name in update}
    return path.model_copy(update=update | replaced)


def _resolve(path: Path, frame_bytes: int, flow_rtts_us: Sequence[int], kept: Buffer | None) -> PathState:
    bandwidth_bps = parse_rate(path.bandwidth)
    if path.one_way is not None:
        forward_us = parse_duration(path.one_way.forward)
        rtt_us = forward_us + parse_duration(path.one_way.reverse)
    else:
        rtt_us = parse_duration(path.rtt or "")
        forward_us = min(rtt_us, *flow_rtts_us) // 2 if flow_rtts_us else rtt_us // 2
    for flow_rtt_us in flow_rtts_us:
        if flow_rtt_us < forward_us:
            what = f"the flow's {format_duration(flow_rtt_us)} is shorter than the forward delay it shares, {format_duration(forward_us)}"
            raise PlanError("resolving", "flows.rtt", what, "give path.one_way a shorter forward delay")
    return PathState(
        bandwidth_bps=bandwidth_bps,
        rtt_us=rtt_us,
        forward_us=forward_us,
        mtu=path.mtu,
        frame_bytes=frame_bytes,
        buffer=kept or resolve_buffer(path.buffer, bandwidth_bps, rtt_us, frame_bytes),
        queue=path.queue,
        ecn=path.ecn,
        impairment=_impairment(path, forward_us),
        reverse_loss_2p32=share_2p32(parse_share(path.reverse_loss or 0)),
        reverse_bandwidth_bps=parse_rate(path.reverse_bandwidth) if path.reverse_bandwidth is not None else None,
    )


def resolve_buffer(text: str, bandwidth_bps: int, rtt_us: int, frame_bytes: int) -> Buffer:
    """A buffer in packets and bytes. BDP and packets count packets, sizes and times count bytes."""
    multiple = parse_multiple(text, "BDP")
    if multiple is not None:
        packets = max(1, round(multiple * Fraction(bandwidth_bps * rtt_us, 8_000_000 * frame_bytes)))
        return Buffer(text, packets, packets * frame_bytes, in_bytes=False)
    try:
        packets = parse_packets(text)
        return Buffer(text, packets, packets * frame_bytes, in_bytes=False)
    except ValueError:
        pass
    try:
        size_bytes = parse_size(text)
    except ValueError:
        size_bytes = bandwidth_bps * parse_duration(text) // 8_000_000
    if size_bytes < frame_bytes:
        raise PlanError(
            "resolving",
            "path.buffer",
            f"{text} is {size_bytes} bytes, less than one frame of {frame_bytes}",
            "give it at least 1 packet",
        )
    return Buffer(text, size_bytes // frame_bytes, size_bytes, in_bytes=True)


def _impairment(path: Path, forward_us: int) -> Impairment:
    jitter_us = parse_duration(path.jitter) if path.jitter is not None else 0
    if jitter_us > forward_us:
        what = f"{path.jitter} is more than the forward delay, {format_duration(forward_us)}"
        raise PlanError("resolving", "path.jitter", what, "no packet can arrive before it was sent")
    reorder = share_2p32(parse_share(path.reorder or 0))
    if reorder and not forward_us:
        raise PlanError(
            "resolving",
            "path.reorder",
            "packets overtake by skipping the forward delay, and there is none",
            "give the path a round trip",
        )
    gemodel = None
    if path.burst is not None:
        p, r, good, bad = (
            share_2p32(parse_share(share)) for share in (path.burst.p, path.burst.r, path.burst.good, path.burst.bad)
        )
        gemodel = (p, r, 2**32 - 1 - bad, good)
    return Impairment(
        delay_us=forward_us,
        jitter_us=jitter_us,
        loss_2p32=share_2p32(parse_share(path.loss or 0)),
        gemodel_2p32=gemodel,
        duplicate_2p32=share_2p32(parse_share(path.duplicate or 0)),
        corrupt_2p32=share_2p32(parse_share(path.corrupt or 0)),
        reorder_2p32=reorder,
    )
