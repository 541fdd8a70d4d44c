"""The events of a run as samples: flows start and stop, the schedule changes a setting.

`longhaul_flow_active`       1 from when a flow is connected, and once a second, until it stops or is complete; there its series ends
`longhaul_run_change_info`   1 when a change was made, with its text as a label
`longhaul_link_rate_bps`     the rate that a link is set to, from the start, at each change and once a second

A lasting state is repeated once a second: a query of Prometheus looks back for minutes, but not for the length of a run.
"""

from __future__ import annotations

from collections.abc import Iterator
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.trace.records import (
    EVENT_COMPLETED,
    EVENT_CONNECTED,
    EVENT_FLOW_CHANGE,
    EVENT_PATH_CHANGE,
    EVENT_STOPPED,
    Records,
)

ACTIVE, LINK_RATE = "longhaul_flow_active", "longhaul_link_rate_bps"
CHANGE, START = "longhaul_run_change_info", "longhaul_run_start_seconds"
EVERY_MS = 1000
# The bits of the NaN by which Prometheus marks an ended series.
STALE = np.uint64(0x7FF0000000000002)

Ints = NDArray[np.int64]
Bits = NDArray[np.uint64]
# Metric, and the number of a flow or a link or of a moment of the schedule; milliseconds from the start; bits of the values.
SeriesSamples = tuple[str, int, Ints, Bits]


class Moments:
    """The samples of one run's moments, from its events in any pieces."""

    def __init__(self, run: Run) -> None:
        self._end_ms = run.duration_us // 1000
        self._flows = {flow.id for flow in run.flows}
        # The moment of each change, by its index in the schedule.
        at_us = [mark.at_us for mark in run_marks(run)]
        self._moments = [at_us.index(change.at_us) for change in run.schedule]
        self._rates = {link.id: run.link_rates(link) for link in run.links}
        self._waiting: list[tuple[int, int, int, int]] = []
        self._active: dict[int, int] = {}
        self._ended: dict[int, int] = {}
        self._changed: set[int] = set()
        self._settled_ms = -1

    def arrive(self, events: Records) -> None:
        """Take more events."""
        for event in events:
            ms = min(int(event["t_ns"]) // 1_000_000, self._end_ms)
            self._waiting.append((ms, int(event["what"]), int(event["id"]), int(event["value"])))

    def settle(self, until_ns: int, newest_ns: int) -> Iterator[SeriesSamples]:
        """The samples before that time, when no earlier event can arrive any more; none after the newest record."""
        until_ms = min(until_ns, newest_ns) // 1_000_000
        if until_ms <= self._settled_ms:
            return
        due = sorted((event for event in self._waiting if event[0] <= until_ms), key=itemgetter(0))
        self._waiting = [event for event in self._waiting if event[0] > until_ms]
        for ms, what, number, value in due:
            yield from self._happened(ms, what, number, value)
        for flow, from_ms in self._active.items():
            seconds = _seconds(from_ms, until_ms)
            if len(seconds):
                self._active[flow] = int(seconds[-1])
                yield ACTIVE, flow, seconds, _ones(len(seconds))
        for link, rates in self._rates.items():
            changed = np.array([begin_us // 1000 for begin_us, _, _ in rates], dtype=np.int64)
            at = np.union1d(_seconds(self._settled_ms // EVERY_MS * EVERY_MS, until_ms), changed)
            at = at[(at > self._settled_ms) & (at <= until_ms)]
            if len(at):
                bps = np.array([rate_bps for _, _, rate_bps in rates], dtype=np.float64)
                yield LINK_RATE, link, at, bps[np.searchsorted(changed, at, side="right") - 1].view(np.uint64)
        self._settled_ms = until_ms

    def _happened(self, ms: int, what: int, number: int, value: int) -> Iterator[SeriesSamples]:
        if what == EVENT_CONNECTED and number in self._flows and number not in self._active:
            # A millisecond holds one sample of a series.
            ms = max(ms, self._ended.get(number, -1) + 1)
            if ms < self._end_ms:
                self._active[number] = ms
                yield ACTIVE, number, _at(ms), _ones(1)
        elif what in (EVENT_STOPPED, EVENT_COMPLETED) and number in self._active:
            begun_ms = self._active.pop(number)
            ms = self._ended[number] = max(ms, begun_ms + 1)
            seconds = _seconds(begun_ms, ms - 1)
            if len(seconds):
                yield ACTIVE, number, seconds, _ones(len(seconds))
            # A flow that lasts to the end of the run ends with all the others.
            if ms < self._end_ms:
                yield ACTIVE, number, _at(ms), np.array([STALE])
        elif what in (EVENT_PATH_CHANGE, EVENT_FLOW_CHANGE) and value < len(self._moments):
            moment = self._moments[value]
            if moment not in self._changed:
                self._changed.add(moment)
                yield CHANGE, moment, _at(ms), _ones(1)


def _seconds(after_ms: int, until_ms: int) -> Ints:
    """Once a second, after a time and up to another."""
    return np.arange(after_ms + EVERY_MS, until_ms + 1, EVERY_MS, dtype=np.int64)


def _at(ms: int) -> Ints:
    return np.array([ms], dtype=np.int64)


def _ones(count: int) -> Bits:
    return np.ones(count, dtype=np.float64).view(np.uint64)
