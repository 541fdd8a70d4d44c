"""What happens in a run, moment by moment: flows begin and end, losses, recoveries and timeouts of TCP, and scheduled changes.

    trace_moments(run, trace.columns, begin_s=10, end_s=20) -> Moments

Of many moments, those are described that come first; all are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.raw_series import Span
from longhaul.orchestrator.plan.placed.policer import Policer
from longhaul.orchestrator.plan.run import Flow, Link, Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.errors import NotFound, nearest
from longhaul.orchestrator.trace.records import (
    DROP_RANDOM,
    EVENT_COMPLETED,
    EVENT_CONNECTED,
    EVENT_STOPPED,
    EVER,
    POLICE_DROP,
    ColumnSource,
    SpanNs,
)

MOST = 500
# The kinds, and what each is.
KINDS: dict[str, str] = {
    "start": "a flow is connected, or sends its first packet",
    "stop": "a flow stops, or its last byte has arrived",
    "change": "the schedule changes the path or a flow",
    "drop": "a packet is dropped by a queue or a policer, or lost by chance",
    "reduction": "TCP reduces its window because of a mark (CWR)",
    "recovery": "TCP sends lost packets again",
    "timeout": "TCP has waited too long for an acknowledgement",
    "open": "TCP has repaired its losses",
}
_EVENTS = {
    EVENT_CONNECTED: ("start", "begins"),
    EVENT_STOPPED: ("stop", "stops"),
    EVENT_COMPLETED: ("stop", "is complete"),
}
# States of TCP (tcp_ca_state) from which and to which a change is a moment.
_STATES = {
    2: ("reduction", "reduces its window"),
    3: ("recovery", "recovers from losses"),
    4: ("timeout", "is in loss"),
}
_OPEN = ("open", "has repaired its losses")


@dataclass(frozen=True, slots=True)
class Moment:
    """`of` is a flow, a link or the link of a policer; None for a change of the schedule."""

    t_s: float
    kind: str
    of: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Moments:
    """The first moments of a part of a run, and how many it has."""

    total: int
    moments: tuple[Moment, ...]


@dataclass(frozen=True, slots=True)
class _Some:
    """Moments of one flow or link: their times, and the function that describes one."""

    t_ns: NDArray[np.int64]
    describe: Callable[[int], Moment]


def trace_moments(
    run: Run,
    source: ColumnSource,
    *,
    kinds: Sequence[str] = (),
    begin_s: float = 0.0,
    end_s: float | None = None,
    most: int = MOST,
) -> Moments:
    """The moments of these kinds, by default all, of a part of a run; NotFound for an unknown kind."""
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        hint = f"known: {', '.join(KINDS)}{nearest(unknown[0], KINDS)}"
        raise NotFound("reading moments", unknown[0], "there is no such kind of moment", hint)
    wanted = set(kinds or KINDS)
    end_s = run.duration_us / 1e6 if end_s is None else end_s
    span = Span(max(0.0, begin_s), end_s, 1).ns(run)
    groups = list(_groups(run, source, span, wanted))
    numbers = np.concatenate([np.zeros(0, np.int64), *(np.full(len(one.t_ns), at) for at, one in enumerate(groups))])
    places = np.concatenate([np.zeros(0, np.int64), *(np.arange(len(one.t_ns)) for one in groups)])
    times = np.concatenate([np.zeros(0, np.int64), *(one.t_ns for one in groups)])
    first = np.argsort(times, kind="stable")[:most]
    found = (groups[numbers[at]].describe(int(places[at])) for at in first.tolist())
    return Moments(len(times), tuple(found))


def _groups(run: Run, source: ColumnSource, span: SpanNs, wanted: set[str]) -> Iterator[_Some]:
    if "change" in wanted:
        yield _changes(run, span)
    for flow in run.flows:
        if wanted & {"start", "stop"}:
            yield _ends(source, flow, span, wanted)
        if flow.kind != "udp" and wanted & {"reduction", "recovery", "timeout", "open"}:
            yield _states(source, flow, span, wanted)
    if "drop" in wanted:
        ports = {port: flow.name for flow in run.flows for port in (flow.port, flow.client_port) if port}
        for link in run.links:
            yield _drops(source, link, span, ports)
        for policer in run.policers:
            yield _policed(source, policer, span, ports)


def _changes(run: Run, span: SpanNs) -> _Some:
    marks = [mark for mark in run_marks(run) if span[0] <= mark.at_us * 1000 <= span[1]]
    times = np.array([mark.at_us * 1000 for mark in marks], dtype=np.int64)
    return _Some(times, lambda at: Moment(marks[at].t_s, "change", None, marks[at].text))


def _ends(source: ColumnSource, flow: Flow, span: SpanNs, wanted: set[str]) -> _Some:
    events = source("event", ["what"], flow.id, span)
    # The sender of a transfer stops a round trip after its last byte has arrived.
    ends = [what for what, (kind, _) in _EVENTS.items() if kind in wanted]
    ends = [what for what in ends if what != EVENT_STOPPED or EVENT_COMPLETED not in events["what"]]
    chosen = np.isin(events["what"], ends)
    times, whats = events["t_ns"][chosen].astype(np.int64), events["what"][chosen]

    def describe(at: int) -> Moment:
        kind, text = _EVENTS[int(whats[at])]
        return Moment(int(times[at]) / 1e9, kind, flow.name, f"{flow.name} {text}")

    return _Some(times, describe)


def _states(source: ColumnSource, flow: Flow, span: SpanNs, wanted: set[str]) -> _Some:
    """Where the state of TCP, as an ACK found it, became another one."""
    acks = source("ack", ["state", "cwnd", "inflight"], flow.id, EVER)
    # In disorder, TCP waits whether packets are lost or late.
    settled = np.where(acks["state"] < min(_STATES), 0, acks["state"]).astype(np.int64)
    changed = np.flatnonzero(np.diff(settled, prepend=0))
    kinds = np.array([_STATES.get(state, _OPEN)[0] in wanted for state in settled[changed].tolist()], dtype=bool)
    times = acks["t_ns"][changed].astype(np.int64)
    kept = changed[kinds & (times >= span[0]) & (times <= span[1])] if len(changed) else changed

    def describe(at: int) -> Moment:
        place = kept[at]
        kind, text = _STATES.get(int(settled[place]), _OPEN)
        more = f"; window {acks['cwnd'][place]} packets, {acks['inflight'][place]} in flight"
        return Moment(int(acks["t_ns"][place]) / 1e9, kind, flow.name, f"{flow.name} {text}{more}")

    return _Some(acks["t_ns"][kept].astype(np.int64), describe)


def _policed(source: ColumnSource, policer: Policer, span: SpanNs, ports: dict[int, str]) -> _Some:
    decisions = source("decision", ["state", "source_port", "destination_port"], policer.id, span)
    dropped = np.flatnonzero(decisions["state"] == POLICE_DROP)

    def describe(at: int) -> Moment:
        place = dropped[at]
        packet = _packet_of(int(decisions["source_port"][place]), int(decisions["destination_port"][place]), ports)
        text = f"{packet} is dropped by the policer ({policer.name})"
        return Moment(int(decisions["t_ns"][place]) / 1e9, "drop", policer.name, text)

    return _Some(decisions["t_ns"][dropped].astype(np.int64), describe)


def _packet_of(here: int, there: int, ports: dict[int, str]) -> str:
    """Whose packet has these ports."""
    if there not in ports and here in ports:
        return f"an acknowledgement of {ports[here]}"
    flow = ports.get(there) or ports.get(here)
    return f"a packet of {flow}" if flow else "a packet"


def _drops(source: ColumnSource, link: Link, span: SpanNs, ports: dict[int, str]) -> _Some:
    names = ["state", "queue_packets", "source_port", "destination_port", "seq"]
    drops = source("drop", names, link.id, span)

    def describe(at: int) -> Moment:
        packet = _packet_of(int(drops["source_port"][at]), int(drops["destination_port"][at]), ports)
        cause = (
            "is lost by chance"
            if drops["state"][at] == DROP_RANDOM
            else f"is dropped; {drops['queue_packets'][at]} packets wait"
        )
        return Moment(int(drops["t_ns"][at]) / 1e9, "drop", link.name, f"{packet} {cause} ({link.name})")

    return _Some(drops["t_ns"].astype(np.int64), describe)
