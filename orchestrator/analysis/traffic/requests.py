"""The times of requests: each is an event of the trace when its response is complete."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from longhaul.orchestrator.plan.run_document import RequestNumbers
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST, Records, Trace

_NS_PER_MS = 1e6


def requests_of(trace: Trace, flows: Sequence[int], what: int = EVENT_REQUEST) -> Records:
    """The events of the requests of some flows: of those that were completed, or lost."""
    events = trace.events
    chosen: Records = events[(events["what"] == what) & np.isin(events["id"], flows)]
    return chosen


def request_numbers(trace: Trace, flows: Sequence[int], window_s: tuple[float, float]) -> RequestNumbers:
    """The requests of some flows that were completed in a part of the run."""
    begin_ns, end_ns = (edge_s * 1e9 for edge_s in window_s)
    completed, lost = (
        events["value"][(events["t_ns"] >= begin_ns) & (events["t_ns"] <= end_ns)]
        for events in (requests_of(trace, flows, what) for what in (EVENT_REQUEST, EVENT_REQUEST_LOST))
    )
    times_ms = completed / _NS_PER_MS
    if not len(times_ms):
        return {"completed": 0, "lost": len(lost), "time_ms": None}
    p50, p95, p99 = (float(value) for value in np.percentile(times_ms, (50, 95, 99)))
    mean, largest = float(times_ms.mean()), float(times_ms.max())
    return {
        "completed": len(times_ms),
        "lost": len(lost),
        "time_ms": {"mean": mean, "p50": p50, "p95": p95, "p99": p99, "max": largest},
    }
