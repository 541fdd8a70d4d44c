"""What happens in a run, moment by moment: flows begin and end, losses, marks, recoveries and timeouts of TCP, and scheduled changes.

    moment_list(run, trace.columns, begin_s=10, end_s=20).page() -> Moments
    moment_list(run, trace.columns).page(skip=4000, most=200) -> Moments

Of many moments, only those of the page are described; all are counted.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.raw_series import Span
from longhaul.orchestrator.analysis.series import rises
from longhaul.orchestrator.plan.placed.policer import Policer
from longhaul.orchestrator.plan.run import Flow, Link, Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.errors import NotFound, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import (
    DROP_RANDOM,
    EVENT_COMPLETED,
    EVENT_CONNECTED,
    EVENT_STOPPED,
    EVER,
    POLICE_DROP,
    Columns,
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
    "mark": "a queue marks packets (ECN), which it counts at its ticks",
    "reduction": "TCP reduces its window because of a mark (CWR)",
    "recovery": "TCP sends lost packets again",
    "timeout": "TCP has waited too long for an acknowledgement",
    "open": "TCP has repaired its losses, or reduced its window, and is open again",
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
_OPEN = "open"


@dataclass(frozen=True, slots=True)
class Moment:
    """`of` is a flow, a link or the link of a policer; None for a change of the schedule."""

    t_s: float
    kind: str
    of: str | None
    text: str


@dataclass(frozen=True, slots=True)
class Moments:
    """Some moments of a part of a run, the number of those before them, and how many it has."""

    total: int
    moments: tuple[Moment, ...]
    skipped: int = 0


@dataclass(frozen=True, slots=True)
class _Some:
    """Moments of one flow or link: their times, and the function that describes one."""

    t_ns: NDArray[np.int64]
    describe: Callable[[int], Moment]


class MomentList:
    """The moments of a part of a run in the order of time. A page of them is described when it is read."""

    def __init__(self, groups: Sequence[_Some]) -> None:
        self._groups = groups
        none = np.zeros(0, np.int64)
        numbers = np.concatenate([none, *(np.full(len(one.t_ns), at) for at, one in enumerate(groups))])
        places = np.concatenate([none, *(np.arange(len(one.t_ns)) for one in groups)])
        times = np.concatenate([none, *(one.t_ns for one in groups)])
        order = np.argsort(times, kind="stable")
        self._numbers, self._places, self._times = numbers[order], places[order], times[order]

    def page(self, skip: int = 0, most: int | None = None, near_s: float | None = None) -> Moments:
        """Moments after the first `skip`; with `near_s`, those around the one that is nearest to this time."""
        total = len(self._times)
        if near_s is not None and total:
            skip = max(0, min(self._nearest(near_s) - (most or 0) // 2, total - (most or 0)))
        skip = min(skip, total)
        end = total if most is None else min(total, skip + most)
        chosen = zip(self._numbers[skip:end].tolist(), self._places[skip:end].tolist(), strict=True)
        return Moments(total, tuple(self._groups[number].describe(place) for number, place in chosen), skip)

    def _nearest(self, t_s: float) -> int:
        after = int(np.searchsorted(self._times, t_s * 1e9))
        near = [at for at in (after - 1, after) if 0 <= at < len(self._times)]
        return min(near, key=lambda at: abs(float(self._times[at]) - t_s * 1e9))


def moment_list(
    run: Run,
    source: ColumnSource,
    *,
    kinds: Sequence[str] = (),
    about: Sequence[str] = (),
    begin_s: float = 0.0,
    end_s: float | None = None,
) -> MomentList:
    """The moments of these kinds and about these flows and links, by default all, of a part of a run; NotFound for an unknown one.

    A loss is about the flow of its packet and about its link.
    """
    if unknown := [kind for kind in kinds if kind not in KINDS]:
        hint = f"known: {', '.join(KINDS)}{nearest(unknown[0], KINDS)}"
        raise NotFound("reading moments", unknown[0], "there is no such kind of moment", hint)
    places = [*(one.name for one in run.flows), *(one.name for one in run.links), *(one.name for one in run.policers)]
    places = list(dict.fromkeys(places))
    if unknown := [name for name in about if name not in places]:
        hint = f"known: {', '.join(places)}{nearest(unknown[0], places)}"
        raise NotFound("reading moments", unknown[0], "the run has no such flow or link", hint)
    end_s = run.duration_us / 1e6 if end_s is None else end_s
    span = Span(max(0.0, begin_s), end_s, 1).ns(run)
    return MomentList(list(_groups(run, source, span, set(kinds or KINDS), set(about))))


def moments_csv(moments: Iterable[Moment]) -> str:
    """A line for each: time, kind, flow or link, text."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["t_s", "kind", "of", "text"])
    lines.writerows([f"{one.t_s:.9f}", one.kind, one.of or "", one.text] for one in moments)
    return text.getvalue()


def _groups(run: Run, source: ColumnSource, span: SpanNs, wanted: set[str], about: set[str]) -> Iterator[_Some]:
    if "change" in wanted and not about:
        yield _changes(run, span)
    for flow in run.flows:
        if about and flow.name not in about:
            continue
        if wanted & {"start", "stop"}:
            yield _ends(source, flow, span, wanted)
        if flow.kind != "udp" and wanted & {"reduction", "recovery", "timeout", "open"}:
            yield _states(source, flow, span, wanted)
    ports = {port: flow.name for flow in run.flows for port in (flow.port, flow.client_port) if port}
    # Of a link that is not asked for, only the packets of these flows.
    its_ports = np.array([port for port, name in ports.items() if name in about], dtype=np.int64)
    for link in run.links:
        only = its_ports if about and link.name not in about else None
        if "drop" in wanted:
            yield _drops(source, link, span, ports, only)
        if "mark" in wanted and only is None:
            yield _marks(source, link, span)
    if "drop" in wanted:
        for policer in run.policers:
            yield _policed(source, policer, span, ports, its_ports if about and policer.name not in about else None)


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
    acks = source("ack", ["state", "cwnd", "inflight", "retrans"], flow.id, EVER)
    # In disorder, TCP waits whether packets are lost or late.
    settled = np.where(acks["state"] < min(_STATES), 0, acks["state"]).astype(np.int64)
    changed = np.flatnonzero(np.diff(settled, prepend=0))
    # Where the latest episode began: the first ACK in another state than open.
    began = changed[
        np.maximum.accumulate(np.where(np.append(0, settled[changed[:-1]]) == 0, np.arange(len(changed)), 0))
    ]
    kinds = np.array([_kind(state) in wanted for state in settled[changed].tolist()], dtype=bool)
    times = acks["t_ns"].astype(np.int64)
    here = (
        kinds & (times[changed] >= span[0]) & (times[changed] <= span[1]) if len(changed) else np.zeros(0, dtype=bool)
    )
    kept, began = changed[here], began[here]
    # Not all ACKs stay in memory. A connection's count of retransmissions falls to 0 where another one begins.
    again = acks["retrans"].astype(np.int64)
    again = np.maximum(again[kept] - again[np.maximum(began - 1, 0)], 0)
    lasted = times[kept] - times[began]
    times, states, cwnd, inflight = (column[kept] for column in (times, settled, acks["cwnd"], acks["inflight"]))

    def describe(at: int) -> Moment:
        kind = _kind(int(states[at]))
        text = _STATES[int(states[at])][1] if kind != _OPEN else _ended(int(lasted[at]), int(again[at]))
        more = f"; window {cwnd[at]} packets, {inflight[at]} in flight"
        return Moment(int(times[at]) / 1e9, kind, flow.name, f"{flow.name} {text}{more}")

    return _Some(times, describe)


def _kind(state: int) -> str:
    return _STATES[state][0] if state in _STATES else _OPEN


def _ended(lasted_ns: int, again: int) -> str:
    """How an episode ended: its length, and how many packets it sent again."""
    length = f"{lasted_ns / 1e6:.3f} ms"
    if not again:
        return f"is open again after {length}"
    return f"has repaired its losses after {length}, {again} packet{'' if again == 1 else 's'} sent again"


def _marks(source: ColumnSource, link: Link, span: SpanNs) -> _Some:
    """Ticks at which the count of a queue's marks has risen; those of a tick are one moment."""
    counts = source("link", ["marks"], link.id, EVER)
    risen = rises(np.append(0, counts["marks"]))
    times = counts["t_ns"].astype(np.int64)
    kept = np.flatnonzero((risen > 0) & (times >= span[0]) & (times <= span[1]))
    times, risen = times[kept], risen[kept]

    def describe(at: int) -> Moment:
        text = "1 packet is marked" if risen[at] == 1 else f"{risen[at]} packets are marked"
        return Moment(int(times[at]) / 1e9, "mark", link.name, f"{text} ({link.name})")

    return _Some(times, describe)


def _policed(
    source: ColumnSource, policer: Policer, span: SpanNs, ports: dict[int, str], only: NDArray[np.int64] | None
) -> _Some:
    decisions = source("decision", ["state", "source_port", "destination_port"], policer.id, span)
    dropped = np.flatnonzero((decisions["state"] == POLICE_DROP) & _are_of(decisions, only))

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


def _are_of(packets: Columns, only: NDArray[np.int64] | None) -> NDArray[np.bool_]:
    """Which packets have one of these ports; without ports, all."""
    if only is None:
        return np.ones(len(packets["t_ns"]), dtype=bool)
    return np.isin(packets["source_port"], only) | np.isin(packets["destination_port"], only)


def _drops(
    source: ColumnSource, link: Link, span: SpanNs, ports: dict[int, str], only: NDArray[np.int64] | None
) -> _Some:
    names = ["state", "queue_packets", "source_port", "destination_port"]
    drops = source("drop", names, link.id, span)
    if only is not None:
        theirs = _are_of(drops, only)
        drops = {name: column[theirs] for name, column in drops.items()}

    def describe(at: int) -> Moment:
        packet = _packet_of(int(drops["source_port"][at]), int(drops["destination_port"][at]), ports)
        cause = (
            "is lost by chance"
            if drops["state"][at] == DROP_RANDOM
            else f"is dropped; {drops['queue_packets'][at]} packets wait"
        )
        return Moment(int(drops["t_ns"][at]) / 1e9, "drop", link.name, f"{packet} {cause} ({link.name})")

    return _Some(drops["t_ns"].astype(np.int64), describe)
