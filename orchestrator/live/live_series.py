"""The settled samples of a running run, for pages and terminals: in the order of time, up to a front that only rises.

    settled ... settled | held back             everything before the front is settled, and never changes
                         front

A reader that has all samples before some time requests the following ones, and gets every sample once, no matter which process read the trace, in how many pieces,
and how often: a trace in virtual time that is read again, or made again by a restarted guest, gives the same samples. In real time
a second attempt is another run, and has its own name.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.live.downsampling import Samples
from longhaul.orchestrator.live.moments import STALE
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]
# A series as timelines.py names it, and the number of its flow or link.
Key = tuple[str, int]

# The metrics that a page draws: metric -> (series, how many of its units the metric's unit is).
SHOWN: dict[str, tuple[str, float]] = {
    "longhaul_flow_cwnd_packets": ("cwnd", 1.0),
    "longhaul_flow_ssthresh_packets": ("ssthresh", 1.0),
    "longhaul_flow_rtt_seconds": ("rtt", 1000.0),
    "longhaul_flow_inflight_packets": ("inflight", 1.0),
    "longhaul_flow_goodput_bps": ("goodput", 1.0),
    "longhaul_flow_retransmits_total": ("retransmits", 1.0),
    "longhaul_link_queue_packets": ("queue", 1.0),
    "longhaul_link_drops_total": ("drops", 1.0),
}
LINK_SERIES = ("queue", "drops")

# In virtual time, every reader of a trace gets the same samples.
SAME_AGAIN = "v"
_NICE_MS = (100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 60_000)
_MOST_CELLS, _FEWEST_CELLS, _CELLS_OF_ALL = 6000, 600, 30_000
# More steps than this are joined.
_MOST_STEPS = 128


def cell_of(run: Run) -> int:
    """The length of a cell in milliseconds, so that a page gets as many samples of the whole run as it can draw."""
    duration_ms = run.duration_us // 1000
    most = max(_FEWEST_CELLS, min(_MOST_CELLS, _CELLS_OF_ALL // max(1, len(run.flows))))
    return next((cell for cell in _NICE_MS if duration_ms <= cell * most), -(-duration_ms // most))


@dataclass(frozen=True, slots=True)
class LiveEvent:
    """An event of a running run: its kind and fields are those of the service's stream (docs/service.md)."""

    kind: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """The samples from a time (included) to another (not included), milliseconds from the start."""

    begin_ms: int
    end_ms: int
    series: dict[Key, tuple[Ints, Floats]]

    def part(self, begin_ms: int, longest_ms: int) -> Step:
        """The part from that time on, for this long."""
        begin_ms = max(begin_ms, self.begin_ms)
        end_ms = min(self.end_ms, begin_ms + longest_ms)
        if (begin_ms, end_ms) == (self.begin_ms, self.end_ms):
            return self
        cut = {key: slice(*np.searchsorted(ms, [begin_ms, end_ms])) for key, (ms, _) in self.series.items()}
        kept = {key: (ms[cut[key]], values[cut[key]]) for key, (ms, values) in self.series.items()}
        return Step(begin_ms, end_ms, {key: some for key, some in kept.items() if len(some[0])})


class SettledSamples:
    """The settled samples of one run. One thread adds them, any number read them."""

    def __init__(self, attempt: str = SAME_AGAIN) -> None:
        self.attempt = attempt
        self.front_ms = 0
        self._pending: dict[Key, list[tuple[Ints, Floats]]] = {}
        self._steps: list[Step] = []
        self._lock = threading.Lock()

    def begin_again(self, attempt: str) -> None:
        """The run starts again; under another name it is another run."""
        self._pending = {}
        if attempt == self.attempt == SAME_AGAIN:
            return
        with self._lock:
            self.attempt, self.front_ms, self._steps = attempt, 0, []

    def add(self, settled: Sequence[Samples], front_ms: int) -> None:
        """Add samples, which are complete before this time."""
        for one in settled:
            metric, number = one.series
            if metric in SHOWN:
                name, scale = SHOWN[metric]
                some = one.bits != STALE
                values = one.bits[some].view(np.float64) * scale
                self._pending.setdefault((name, number), []).append((one.ms[some], values))
        if front_ms <= self.front_ms:
            return
        settled_now: dict[Key, tuple[Ints, Floats]] = {}
        for key, parts in self._pending.items():
            ms, values = (np.concatenate([part[place] for part in parts]) for place in (0, 1))
            # Earlier samples come again if the trace is read again.
            first, last = np.searchsorted(ms, [self.front_ms, front_ms])
            if first < last:
                settled_now[key] = ms[first:last], values[first:last]
            self._pending[key] = [(ms[last:], values[last:])]
        with self._lock:
            self._steps.append(Step(self.front_ms, front_ms, settled_now))
            self.front_ms = front_ms
            if len(self._steps) > _MOST_STEPS:
                self._steps = [joined(self._steps)]

    def since(self, begin_ms: int, longest_ms: int) -> Step | None:
        """The samples from that time on, at most this long a part at once; None without new ones."""
        with self._lock:
            steps = [step for step in self._steps if step.end_ms > begin_ms]
        if not steps:
            return None
        return joined(steps).part(begin_ms, longest_ms)


def joined(steps: Sequence[Step]) -> Step:
    """Join consecutive steps."""
    if len(steps) == 1:
        return steps[0]
    parts: dict[Key, list[tuple[Ints, Floats]]] = {}
    for step in steps:
        for key, some in step.series.items():
            parts.setdefault(key, []).append(some)
    series = {
        key: (np.concatenate([ms for ms, _ in some]), np.concatenate([values for _, values in some]))
        for key, some in parts.items()
    }
    return Step(steps[0].begin_ms, steps[-1].end_ms, series)


def step_fields(run: Run, step: Step) -> dict[str, Any]:
    """The fields of the event `samples`, with the names of flows and links."""
    names = {flow.id: flow.name for flow in run.flows}
    queues = {link.id: link.name for link in run.links}
    return {
        "from_ms": step.begin_ms,
        "to_ms": step.end_ms,
        "series": [
            {
                "measure": name,
                "of": (queues if name in LINK_SERIES else names)[number],
                "t_ms": ms.tolist(),
                "value": values.round(3).tolist(),
            }
            for (name, number), (ms, values) in step.series.items()
        ],
    }
