"""The time-sequence diagram of a flow, as tcptrace draws it: from captured packets if there are some, else what the trace has.

    sequence(run, trace.columns, "app") -> Sequence           the trace: acknowledged, in flight, when it sent again, when packets were lost
    packet_sequence(packets, run, "app") -> PacketSequence    a capture: every segment, acknowledgements, SACK blocks

The trace counts retransmissions and does not know their bytes: they are marked at the time of the ACK that found the count higher. A capture has the bytes of
each segment, and those whose first byte it has seen before were sent again; of more than `points`, all retransmissions and SACK blocks stay as far as they fit, and of the others evenly spaced ones.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.raw_series import Span
from longhaul.orchestrator.analysis.series import Floats, rises
from longhaul.orchestrator.analysis.thinning import thin
from longhaul.orchestrator.analysis.timelines import named_in
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.system.errors import NotFound
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVER, Columns, ColumnSource
from longhaul.orchestrator.trace.segments import Segments

POINTS = 2000
_WRAP = 2**32


@dataclass(frozen=True, slots=True)
class FlowSequence:
    """Bytes over time. `acked_bytes` and `sent_bytes` (with those in flight) have the times `t_s`; retransmissions and losses have counts."""

    flow: str
    t_s: Floats
    acked_bytes: Floats
    sent_bytes: Floats
    retransmit_t_s: Floats
    retransmit_bytes: Floats
    retransmitted: Floats
    drop_t_s: Floats
    of_values: int


@dataclass(frozen=True, slots=True)
class PacketSequence:
    """Segments and SACK blocks from a byte to a byte, acknowledgements up to one; `place` is the interface that saw them."""

    flow: str
    place: str
    segment_t_s: Floats
    segment_from: Floats
    segment_to: Floats
    again: NDArray[np.bool_]
    ack_t_s: Floats
    acked_bytes: Floats
    sack_t_s: Floats
    sack_from: Floats
    sack_to: Floats
    of_segments: int
    retransmissions: int
    of_sacks: int


def sequence(
    run: Run,
    source: ColumnSource,
    flow: str,
    *,
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> FlowSequence:
    """What the trace has, of a part of a run; NotFound."""
    sender = sending(run, flow)
    span = _span(run, begin_s, end_s)
    acks = source("ack", ["acked_bytes", "inflight", "retrans"], sender.id, EVER)
    t_s, acked = acks["t_ns"] / 1e9, _over_connections(acks["acked_bytes"])
    sent = acked + acks["inflight"].astype(np.float64) * run.meaning.mss_bytes
    risen = rises(np.append(0, acks["retrans"]))
    there = (t_s >= span.begin_s) & (t_s <= span.end_s)
    again = np.flatnonzero((risen > 0) & there)
    again = again[_evenly(len(again), points)]
    inside = np.flatnonzero(there)
    kept = inside[np.union1d(*(thin(t_s[inside], line[inside], max(4, points // 2)) for line in (acked, sent)))]
    drops = _drops(run, source, sender, span)
    return FlowSequence(
        flow=flow,
        t_s=t_s[kept],
        acked_bytes=acked[kept],
        sent_bytes=sent[kept],
        retransmit_t_s=t_s[again],
        retransmit_bytes=acked[again],
        retransmitted=risen[again].astype(np.float64),
        drop_t_s=drops[_evenly(len(drops), points)],
        of_values=len(inside),
    )


def packet_sequence(
    packets: Segments,
    run: Run,
    flow: str,
    *,
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> PacketSequence:
    """What captured packets have, of a part of a run; NotFound if the flow has none among them."""
    sender = sending(run, flow)
    place, data, acks = packets.of(sender.port, backward=sender.requests is not None, near=sender.forward)
    if not len(data["t_ns"]):
        hint = "capture it with `longhaul export --to pcapng --flow`, at its sender or the bottleneck"
        raise NotFound("reading the packets of flow", flow, "the capture has no data of it", hint)
    span = _span(run, begin_s, end_s)
    first = int(data["seq"][0])
    begins = _unwrapped(data["seq"], first)
    ends = begins + data["length"]
    # A capture at a queue has what it drops before what still waits, so their order does not say what was sent again.
    again = np.ones(len(begins), dtype=bool)
    again[np.unique(begins, return_index=True)[1]] = False
    t_s = data["t_ns"] / 1e9
    inside = np.flatnonzero((t_s >= span.begin_s) & (t_s <= span.end_s))
    resent = inside[again[inside]]
    resent = resent[_evenly(len(resent), points)]
    fresh = inside[~again[inside]]
    fresh = fresh[_evenly(len(fresh), max(1, points - len(resent)))]
    kept = np.sort(np.concatenate([resent, fresh]))
    ack_s, acked = acks["t_ns"] / 1e9, _unwrapped(acks["ack"], first)
    within = np.flatnonzero((ack_s >= span.begin_s) & (ack_s <= span.end_s))
    shown = within[thin(ack_s[within], acked[within], max(4, points))] if len(within) else within
    blocks = acks["sack_to"] != acks["sack_from"]
    sack_s = np.repeat(ack_s, blocks.sum(axis=1))
    edges = [_unwrapped(acks[name][blocks], first) for name in ("sack_from", "sack_to")]
    sacks = np.flatnonzero((sack_s >= span.begin_s) & (sack_s <= span.end_s))
    listed = sacks[_evenly(len(sacks), points)]
    return PacketSequence(
        flow=flow,
        place=place,
        segment_t_s=t_s[kept],
        segment_from=begins[kept],
        segment_to=ends[kept],
        again=again[kept],
        ack_t_s=ack_s[shown],
        acked_bytes=acked[shown],
        sack_t_s=sack_s[listed],
        sack_from=edges[0][listed],
        sack_to=edges[1][listed],
        of_segments=len(inside),
        retransmissions=int(again[inside].sum()),
        of_sacks=len(sacks),
    )


def sending(run: Run, flow: str) -> Flow:
    """A flow of TCP; NotFound."""
    sender = named_in({one.name: one for one in run.flows}, flow, "reading the sequence of flow")
    if sender.kind == "udp":
        raise NotFound("reading the sequence of flow", flow, "UDP has no sequence numbers", "choose a flow of TCP")
    return sender


def _span(run: Run, begin_s: float, end_s: float | None) -> Span:
    return Span(max(0.0, begin_s), run.duration_us / 1e6 if end_s is None else end_s, 1)


def _over_connections(counter: NDArray[np.integer]) -> Floats:
    """A counter that continues over the connections of a flow."""
    if not len(counter):
        return np.zeros(0)
    return np.cumsum(np.append(counter[:1].astype(np.int64), rises(counter))).astype(np.float64)


def _drops(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Floats:
    """The times at which queues dropped data of the flow, or chance did."""
    field = "source_port" if flow.requests is not None else "destination_port"
    found = [np.zeros(0)]
    for link in run.links:
        drops: Columns = source("drop", [field], link.id, span.ns(run))
        found.append(drops["t_ns"][drops[field] == flow.port] / 1e9)
    return np.sort(np.concatenate(found))


def _unwrapped(seq: NDArray[np.integer], first: int) -> Floats:
    """Bytes since the first one; sequence numbers begin again after 2^32, and none is 2^31 away from its neighbour."""
    if not len(seq):
        return np.zeros(0)
    places = np.append(first, seq).astype(np.int64)
    steps = places[1:] - places[:-1]
    steps = (steps + _WRAP // 2) % _WRAP - _WRAP // 2
    return np.cumsum(steps).astype(np.float64)


def _evenly(count: int, most: int) -> NDArray[np.int64]:
    """Of so many, at most these places, evenly spaced."""
    if count <= most:
        return np.arange(count)
    return np.linspace(0, count - 1, most).astype(np.int64)
