"""The rule by which a trace becomes samples: the same for a trace that still grows and for one that is kept.

    |-- cell --|-- cell --|      of `cell_ms` each (10 by default) from the start of the experiment
    low    high     high low

A state keeps the lowest and the highest value of each cell, each at its own millisecond, in order of arrival (of
equal ones the first; one sample where they are the same; where both are of one millisecond, the second has the next one, or the
first the one before at a cell's end). A counter keeps the last value of each cell. A rate is the mean of a cell, at its end, from
the cell in which its flow starts to the end of the run; its cells are whole ticks of the trace. `longhaul_run_info` is 1 every second.
moments.py adds the events of a run.
Records after the end of the run count at its end. After the last sample every series gets Prometheus' mark of an ended series,
one cell after the end. Only rates are averaged, and the result does not depend on the pieces in which a trace arrives.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.live.moments import STALE, START, Moments
from longhaul.orchestrator.live.readings import COUNTS, INFO, STATES, Floats, Rate, Reading, labels, rates, without_sack
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import Records, Trace

CELL_MS = 10

# Records of different flows may be out of order by this much; a later one does not change settled samples.
_SLACK_NS = 500_000_000
_INFO_MS = 1000

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
# The key of a series in `Downsampler.labels`.
Key = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Samples:
    """The samples of one series: milliseconds from the start of the experiment, rising, and the bits of the values."""

    series: Key
    ms: Ints
    bits: Bits

    def placed(self, begin_ms: int) -> tuple[Ints, Bits]:
        """Times and values of a run that begins at this time; its start is itself a value."""
        if self.series[0] != START:
            return self.ms + begin_ms, self.bits
        return self.ms + begin_ms, np.where(self.bits == STALE, STALE, np.float64(begin_ms / 1000).view(np.uint64))


class Downsampler:
    """The samples of one run, from its records in any pieces."""

    def __init__(self, run: Run, run_id: str, cell_ms: int = CELL_MS, slack_ns: int = _SLACK_NS) -> None:
        self._run = run
        self._run_id = run_id
        self._cell_ms = cell_ms
        self._slack_ns = slack_ns
        self._end_ns = run.duration_us * 1000
        self._newest_ns = -1
        self._info_until_ms = -_INFO_MS
        self._begun: dict[Key, dict[str, str]] = {}
        self._cells = {kind: _Cells(run, kind, cell_ms, self._end_ns) for kind in ("ack", "link")}
        self._flows = _Arrivals(run, "flow", self._end_ns)
        self._rates = [_Rising(run, rate, cell_ms, self._end_ns) for rate in rates(run)]
        self._moments = Moments(run)

    @property
    def newest_ns(self) -> int:
        """The time of the newest record; -1 before the first."""
        return self._newest_ns

    def labels(self, series: Key) -> dict[str, str]:
        """The labels of a series with samples."""
        return self._begun[series]

    def feed(self, trace: Trace) -> list[Samples]:
        """Take more records; the samples that they settle."""
        arrived = {
            "ack": self._cells["ack"].arrive(trace.acks),
            "link": self._cells["link"].arrive(trace.links),
            "flow": self._flows.arrive(trace.flows),
        }
        for records in (*arrived.values(), trace.events, trace.drops, trace.states):
            if len(records):
                self._newest_ns = max(self._newest_ns, min(int(records["t_ns"].max()), self._end_ns))
        for rate in self._rates:
            rate.arrive(arrived[rate.record])
        self._moments.arrive(trace.events)
        return self._settled(self._newest_ns - self._slack_ns)

    def finish(self, *, at_the_end: bool = True) -> list[Samples]:
        """The remaining samples after the last record, and the end mark of every series; before the run's end if it broke off."""
        if at_the_end:
            self._newest_ns = self._end_ns
        if self._newest_ns < 0:
            return []
        last_ms = self._newest_ns // 1_000_000
        # Past the last cell, so that it is settled too.
        found = self._settled(self._newest_ns + self._cell_ms * 1_000_000 + _SLACK_NS)
        mark = np.array([last_ms + self._cell_ms], dtype=np.int64)
        return found + [Samples(series, mark, np.array([STALE])) for series in self._begun]

    def _settled(self, until_ns: int) -> list[Samples]:
        found = [samples for cells in self._cells.values() for samples in cells.settle(until_ns)]
        for rate in self._rates:
            # A run that broke off has no rates after its last record.
            found += rate.settle(until_ns, self._newest_ns)
        found += [
            Samples((metric, of), ms, bits) for metric, of, ms, bits in self._moments.settle(until_ns, self._newest_ns)
        ]
        found += self._info()
        for samples in found:
            if samples.series not in self._begun:
                self._begun[samples.series] = labels(self._run, self._run_id, *samples.series)
        return found

    def _info(self) -> list[Samples]:
        if self._newest_ns < 0:
            return []
        ms = np.arange(self._info_until_ms + _INFO_MS, self._newest_ns // 1_000_000 + 1, _INFO_MS, dtype=np.int64)
        if not len(ms):
            return []
        self._info_until_ms = int(ms[-1])
        zeros = np.zeros(len(ms))
        return [Samples((INFO, 0), ms, (zeros + 1).view(np.uint64)), Samples((START, 0), ms, zeros.view(np.uint64))]


class _Arrivals:
    """Prepared records of one kind: of known flows or links, by number, with times that never fall or pass the end."""

    def __init__(self, run: Run, kind: str, end_ns: int) -> None:
        of = run.links if kind == "link" else run.flows
        self.count = max((one.id for one in of), default=-1) + 1
        known = np.zeros(2**16, dtype=bool)
        known[[one.id for one in of]] = True
        self._known = known
        self._end_ns = end_ns
        self.last_ns = np.full(self.count, -1, dtype=np.int64)
        web = [flow.id for flow in run.flows if flow.kind in ("web", "program")] if kind == "ack" else []
        self._webs = [_Connections(number) for number in web]

    def arrive(self, records: Records) -> Records:
        """These records, prepared."""
        records = records[self._known[records["id"]]]
        records = records[np.argsort(records["id"], kind="stable")]
        if not len(records):
            return records
        np.minimum(records["t_ns"], np.uint64(self._end_ns), out=records["t_ns"])
        first, last = _groups(records["id"])
        t_ns = records["t_ns"].astype(np.int64)
        numbers = records["id"][first]
        before = np.concatenate([[0], np.diff(t_ns)])
        before[first] = t_ns[first] - self.last_ns[numbers]
        if (before < 0).any():
            for begin, end, number in zip(first, last + 1, numbers, strict=True):
                t_ns[begin:end] = np.maximum.accumulate(np.maximum(t_ns[begin:end], self.last_ns[number]))
            records["t_ns"] = t_ns
        self.last_ns[numbers] = t_ns[last]
        for web in self._webs:
            web.join(records)
        return records


@dataclass(slots=True)
class _Connections:
    """The connections of a web user follow one another, and each counts from 0: their counters are added up."""

    number: int
    _last: dict[str, tuple[int, int]] = field(default_factory=dict)

    def join(self, records: Records) -> None:
        chosen = records["id"] == self.number
        if not chosen.any():
            return
        for name in ("delivered", "acked_bytes", "retrans"):
            column = records[name][chosen].astype(np.int64)
            last, total = self._last.get(name, (0, 0))
            totals = total + np.cumsum(np.maximum(np.diff(column, prepend=last), 0))
            self._last[name] = int(column[-1]), int(totals[-1])
            records[name][chosen] = totals


class _Cells:
    """States and counters of one kind of record, cell by cell."""

    def __init__(self, run: Run, kind: str, cell_ms: int, end_ns: int) -> None:
        self._arrivals = _Arrivals(run, kind, end_ns)
        self._states = [one for one in STATES if one.record == kind]
        self._counts = [one for one in COUNTS if one.record == kind]
        self._cell_ms = cell_ms
        self._waiting: list[Records] = []
        smoothed = np.zeros(self._arrivals.count, dtype=bool)
        if kind == "ack":
            smoothed[[flow.id for flow in run.flows if without_sack(run, flow)]] = True
        self._smoothed = smoothed

    def arrive(self, records: Records) -> Records:
        """Take more records; returns them prepared."""
        ready = self._arrivals.arrive(records)
        if len(ready):
            if self._smoothed.any():
                ready = ready.copy()
                ready["rtt_us"] = np.where(self._smoothed[ready["id"]], ready["srtt_us"], ready["rtt_us"])
            self._waiting.append(ready)
        return ready

    def settle(self, until_ns: int) -> Iterator[Samples]:
        """The samples of complete cells: a later record of the flow has arrived, or a much later one of any flow."""
        if not self._waiting:
            return
        records = np.concatenate(self._waiting)
        records = records[np.argsort(records["id"], kind="stable")]
        cells = records["t_ns"].astype(np.int64) // (self._cell_ms * 1_000_000)
        open_cell = np.maximum(self._arrivals.last_ns, until_ns) // (self._cell_ms * 1_000_000)
        settled = cells < open_cell[records["id"]]
        rest = records[~settled]
        self._waiting = [rest] if len(rest) else []
        records, cells = records[settled], cells[settled]
        if not len(records):
            return
        ms = (records["t_ns"] // np.uint64(1_000_000)).astype(np.int64)
        for state in self._states:
            yield from self._extremes(state, records, cells, ms)
        for count in self._counts:
            _, last = _groups(records["id"], cells)
            yield from _by_series(count, records["id"][last], ms[last], records[count.field][last])

    def _extremes(self, state: Reading, records: Records, cells: Ints, ms: Ints) -> Iterator[Samples]:
        numbers, values = records["id"], records[state.field]
        if state.none is not None:
            some = values != state.none
            numbers, values, cells, ms = numbers[some], values[some], cells[some], ms[some]
        if not len(values):
            return
        first, last = _groups(numbers, cells)
        group = np.repeat(np.arange(len(first)), last + 1 - first)
        low = _first_of_each(values == np.minimum.reduceat(values, first)[group], group)
        high = _first_of_each(values == np.maximum.reduceat(values, first)[group], group)
        early, late = np.minimum(low, high), np.maximum(low, high)
        two = early != late
        early_ms, late_ms = ms[early], ms[late]
        # Two values of one series cannot share a millisecond; a cell has two or more.
        same = two & (early_ms == late_ms)
        at_the_end = same & ((late_ms + 1) % self._cell_ms == 0)
        early_ms = early_ms - at_the_end
        late_ms = late_ms + (same & ~at_the_end)
        places = np.stack([early, late], axis=1).ravel()
        kept = np.stack([np.ones(len(two), dtype=bool), two], axis=1).ravel()
        places, kept_ms = places[kept], np.stack([early_ms, late_ms], axis=1).ravel()[kept]
        yield from _by_series(state, numbers[places], kept_ms, values[places])


class _Rising:
    """One rate: counters at the edges of cells, as known there."""

    def __init__(self, run: Run, rate: Rate, cell_ms: int, end_ns: int) -> None:
        self._run = run
        self._rate = rate
        self.record = rate.record
        seen = rate.record == "ack"
        # A tick is slightly late, in real time more: its values count at the time of its tick.
        tick_us = run.trace.ack_us if seen and run.clock == "real" else run.trace.tick_us
        whole = run.clock == "real" or not seen
        ticks = -(-cell_ms * 1000 // tick_us) if whole else 1
        self._cell_ns = ticks * tick_us * 1000 if whole else cell_ms * 1_000_000
        self._grace_ns = tick_us * 1000 // 2 if whole else 1
        self._end_ns = end_ns
        self._settled_cell = rate.start_us * 1000 // self._cell_ns
        self._at = np.zeros(len(rate.fields), dtype=np.float64)
        self._t_ns: Ints = np.zeros(0, dtype=np.int64)
        self._values: list[Floats] = [np.zeros(0) for _ in rate.fields]
        self._last_ns = -1

    def arrive(self, records: Records) -> None:
        """Take records of its kind, sorted by number."""
        begin, end = np.searchsorted(records["id"], [self._rate.about, self._rate.about + 1])
        if begin == end:
            return
        mine = records[begin:end]
        self._t_ns = np.concatenate([self._t_ns, mine["t_ns"].astype(np.int64)])
        self._values = [
            np.concatenate([before, mine[name].astype(np.float64)])
            for before, name in zip(self._values, self._rate.fields, strict=True)
        ]
        self._last_ns = int(self._t_ns[-1])

    def settle(self, until_ns: int, newest_ns: int) -> Iterator[Samples]:
        """The cells before that time, and before the last record."""
        known_ns = max(self._last_ns, until_ns)
        last = min((known_ns - self._grace_ns) // self._cell_ns, min(self._end_ns, newest_ns) // self._cell_ns)
        if last <= self._settled_cell:
            return
        edges = np.arange(self._settled_cell + 1, last + 1, dtype=np.int64) * self._cell_ns
        # Indices into the counts, with the count before all of them first.
        places = np.searchsorted(self._t_ns, edges + self._grace_ns, side="left")
        rises = []
        for number, values in enumerate(self._values):
            at = np.concatenate([[self._at[number]], values])[places]
            rises.append(np.diff(at, prepend=self._at[number]))
            self._at[number] = at[-1]
        done = int(places[-1])
        self._t_ns = self._t_ns[done:]
        self._values = [values[done:] for values in self._values]
        self._settled_cell = int(last)
        bps = self._rate.bits(self._run, rises) / (self._cell_ns / 1e9)
        yield Samples((self._rate.metric, self._rate.about), edges // 1_000_000, bps.astype(np.float64).view(np.uint64))


def _groups(*keys: NDArray[Any]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first and the last index of each stretch of equal keys."""
    changes = np.zeros(len(keys[0]), dtype=bool)
    for key in keys:
        changes[1:] |= key[1:] != key[:-1]
    changes[:1] = True
    first = np.flatnonzero(changes)
    return first, np.append(first[1:], len(keys[0])) - 1


def _first_of_each(chosen: NDArray[np.bool_], group: NDArray[np.intp]) -> NDArray[np.intp]:
    """The first chosen index of each group; every group has one."""
    places = np.flatnonzero(chosen)
    begins, _ = _groups(group[places])
    return places[begins]


def _by_series(reading: Reading, numbers: NDArray[Any], ms: Ints, stored: NDArray[Any]) -> Iterator[Samples]:
    bits = (stored.astype(np.float64) * reading.scale / reading.a_unit).view(np.uint64)
    first, last = _groups(numbers)
    for begin, end in zip(first.tolist(), (last + 1).tolist(), strict=True):
        yield Samples((reading.metric, int(numbers[begin])), ms[begin:end], bits[begin:end])


def joined(pieces: Sequence[Samples]) -> dict[Key, Samples]:
    """The samples of each series, joined."""
    of: dict[Key, list[Samples]] = {}
    for piece in pieces:
        of.setdefault(piece.series, []).append(piece)
    return {
        series: Samples(series, np.concatenate([one.ms for one in some]), np.concatenate([one.bits for one in some]))
        for series, some in of.items()
    }
