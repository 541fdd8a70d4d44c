"""Reads each series over time from the columns of a trace: values as recorded, counts as they rise, rates in bins.

    at_acks(field)          the state of TCP as each ACK found it
    counted_at_acks(field)  a counter of TCP, which continues over a web user's connections
    at_ticks(field)         the state or a counter of a queue, or a count of the receiver, at every tick
    goodput ...             rates, each the mean of its bin, at the bin's middle

Values stay as they are stored; a caller that keeps some of them converts only those.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.series import (
    Counter,
    Floats,
    bins_s,
    counter,
    delays_ms,
    frame_bytes,
    held,
    rises,
    rtt_field,
    ticks_within_s,
)
from longhaul.orchestrator.plan.run import Flow, Link, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVER, Columns, ColumnSource, SpanNs

# TCP's values without a slow start threshold, and without a limit of its pacing.
NO_SSTHRESH, NO_PACING = 2**31 - 1, 2**64 - 1

# A rate over less than this shows single packets.
_LEAST_BIN_S = 0.1
# Kinds of flow whose connections follow one another.
_FOLLOWING = ("web", "program")


@dataclass(frozen=True, slots=True)
class Span:
    """A part of a run, and the number of bins of its rates."""

    begin_s: float
    end_s: float
    bins: int

    def ns(self, run: Run) -> SpanNs:
        """The span of records in nanoseconds; those of the run's last instant have times just after it."""
        last = EVER[1] if self.end_s >= run.duration_us / 1e6 else max(0, round(self.end_s * 1e9))
        return round(self.begin_s * 1e9), last

    def edges_s(self, least_s: float = _LEAST_BIN_S) -> Floats:
        """The edges of a rate's bins, none of them shorter than that."""
        length_s = max(0.0, self.end_s - self.begin_s)
        edges = bins_s(self.begin_s, self.end_s, max(least_s, length_s / self.bins))
        return edges if len(edges) > 1 or not length_s else np.array([self.begin_s, self.end_s])


@dataclass(frozen=True, slots=True)
class Raw:
    """Times and values as stored, with the number of each that makes a second and a unit."""

    t: NDArray[Any]
    values: NDArray[Any]
    a_second: float = 1.0
    a_unit: float = 1.0


FlowReader = Callable[[Run, ColumnSource, Flow, Span], Raw]
LinkReader = Callable[[Run, ColumnSource, Link, Span], Raw]


def at_acks(field: str, a_unit: float = 1.0, none: int | None = None) -> FlowReader:
    """A field as each ACK found it; `none` means no value."""

    def read(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Raw:
        acks = source("ack", [field], flow.id, span.ns(run))
        if none is not None:
            acks = _where(acks, acks[field] != none)
        return Raw(acks["t_ns"], acks[field], a_second=1e9, a_unit=a_unit)

    return read


def counted_at_acks(field: str) -> FlowReader:
    """A counter as each ACK found it, over all connections of a flow."""
    as_recorded = at_acks(field)

    def read(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Raw:
        if flow.kind not in _FOLLOWING:
            return as_recorded(run, source, flow, span)
        acks = _over_connections(source("ack", [field], flow.id, EVER))
        first, last = span.ns(run)
        acks = _where(acks, (acks["t_ns"] >= first) & (acks["t_ns"] <= last))
        return Raw(acks["t_ns"], acks[field], a_second=1e9)

    return read


def round_trips(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Raw:
    """The round trips that ACKs measured, in milliseconds."""
    acks, field = source("ack", ["rtt_us"], flow.id, span.ns(run)), "rtt_us"
    if rtt_field(acks["rtt_us"]) != field:
        # All ACKs of the flow determine the field, also for a part of the run without a measurement.
        field = rtt_field(source("ack", ["rtt_us"], flow.id, EVER)["rtt_us"])
        acks = source("ack", [field], flow.id, span.ns(run))
    acks = _where(acks, acks[field] > 0)
    return Raw(acks["t_ns"], acks[field], a_second=1e9, a_unit=1000)


def goodput(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Raw:
    """Bytes in order at the receiver, over a round trip or more: bytes behind a gap count all at once when it is filled."""
    received = counter(source("flow", ["app_bytes"], flow.id, EVER), "app_bytes", run)
    return _rates(received, 8, span, max(_LEAST_BIN_S, run.meaning.rtt_us / 1e6))


def flow_throughput(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Raw:
    """Whole frames that reach the receiver: TCP reports them itself, UDP receivers count."""
    if flow.kind == "udp":
        received = counter(source("flow", ["packets"], flow.id, EVER), "packets", run)
        return _rates(received, 8.0 * run.meaning.frame_bytes, span)
    acks = source("ack", ["delivered", "acked_bytes"], flow.id, EVER)
    if flow.kind in _FOLLOWING:
        acks = _over_connections(acks)
    edges_s = span.edges_s()
    packets, payload = (np.diff(counter(acks, name, run).at(edges_s)) for name in ("delivered", "acked_bytes"))
    bits = packets * frame_bytes(run, packets, payload) * 8
    return Raw(_middles(edges_s), bits / np.diff(edges_s))


def received_bytes(run: Run, source: ColumnSource, flow: Flow, span: Span) -> Raw:
    """Bytes in order at the receiver so far."""
    t_s = ticks_within_s(run, span.begin_s, span.end_s)
    return Raw(t_s, held(source("flow", ["app_bytes"], flow.id, EVER), "app_bytes", t_s))


def at_ticks(field: str) -> LinkReader:
    """A field of a queue at every tick."""

    def read(run: Run, source: ColumnSource, link: Link, span: Span) -> Raw:
        t_s = ticks_within_s(run, span.begin_s, span.end_s)
        return Raw(t_s, held(source("link", [field], link.id, EVER), field, t_s))

    return read


def queue_delays(run: Run, source: ColumnSource, link: Link, span: Span) -> Raw:
    """The time until the last byte of a queue leaves, at every tick, in milliseconds."""
    t_s = ticks_within_s(run, span.begin_s, span.end_s)
    values = delays_ms(run, source("link", ["queue_bytes"], link.id, EVER), link, t_s)
    return Raw(t_s[: len(values)], values)


def link_throughput(run: Run, source: ColumnSource, link: Link, span: Span) -> Raw:
    """The rate at which frames leave a queue."""
    return _rates(counter(source("link", ["tx_bytes"], link.id, EVER), "tx_bytes", run), 8, span)


def _rates(of: Counter, a_count: float, span: Span, least_s: float = _LEAST_BIN_S) -> Raw:
    edges_s = span.edges_s(least_s)
    return Raw(_middles(edges_s), of.rates(edges_s), a_unit=1 / a_count)


def _middles(edges_s: Floats) -> Floats:
    return (edges_s[:-1] + edges_s[1:]) / 2


def _where(records: Columns, chosen: NDArray[np.bool_]) -> Columns:
    return records if chosen.all() else {name: column[chosen] for name, column in records.items()}


def _over_connections(acks: Columns) -> Columns:
    return {
        name: column if name == "t_ns" else np.cumsum(np.append(column[:1].astype(np.int64), rises(column)))
        for name, column in acks.items()
    }
