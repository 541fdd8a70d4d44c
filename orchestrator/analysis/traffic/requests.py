"""The times of requests, and of the rounds of a barrier: each is an event of the trace when its last response is complete."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longhaul.orchestrator.plan.run_document import RequestNumbers, RequestTimes, RoundNumbers
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST, EVENT_ROUND, Records, Trace

_NS_PER_MS = 1e6


def requests_of(trace: Trace, flows: Sequence[int], what: int = EVENT_REQUEST) -> Records:
    """The events of the requests of some flows: of those that were completed, or lost, or of their rounds."""
    events = trace.events
    chosen: Records = events[(events["what"] == what) & np.isin(events["id"], flows)]
    return chosen


def request_numbers(trace: Trace, flows: Sequence[int], window_s: tuple[float, float]) -> RequestNumbers:
    """The requests of some flows that were completed in a part of the run."""
    completed, lost = (_within(trace, flows, what, window_s) for what in (EVENT_REQUEST, EVENT_REQUEST_LOST))
    return {"completed": len(completed), "lost": len(lost), "time_ms": _times(completed)}


def round_numbers(trace: Trace, flows: Sequence[int], window_s: tuple[float, float]) -> RoundNumbers:
    """The rounds of the flows of one barrier that ended in a part of the run."""
    completed = _within(trace, flows, EVENT_ROUND, window_s)
    return {"completed": len(completed), "time_ms": _times(completed)}


def _within(trace: Trace, flows: Sequence[int], what: int, window_s: tuple[float, float]) -> Records:
    begin_ns, end_ns = (edge_s * 1e9 for edge_s in window_s)
    events = requests_of(trace, flows, what)
    return events[(events["t_ns"] >= begin_ns) & (events["t_ns"] <= end_ns)]


def _times(events: Records) -> RequestTimes | None:
    times_ms = events["value"] / _NS_PER_MS
    if not len(times_ms):
        return None
    p50, p95, p99 = (float(value) for value in np.percentile(times_ms, (50, 95, 99)))
    return {"mean": float(times_ms.mean()), "p50": p50, "p95": p95, "p99": p99, "max": float(times_ms.max())}
