"""A recording in numbers, and a part of it as means over intervals, from which charts are drawn.

Rows are read a chunk at a time: only those of the part are in memory. PlanError for a malformed file, and for a part that is empty.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import NS_PER_S, Ints
from longhaul.orchestrator.recorded_links.formats import LOSSES
from longhaul.orchestrator.recorded_links.recorded_file import RecordedFile
from longhaul.orchestrator.recorded_links.replay import Window
from longhaul.orchestrator.recorded_links.summary import find_outages
from longhaul.orchestrator.system.errors import PlanError

_NS_PER_MS, _HOUR_NS = 10**6, 3600 * NS_PER_S
# The highest rate of opportunities is that of such an interval.
_EVERY_NS = NS_PER_S // 10
# A part of a recording is shown in so many intervals at most.
_MOST_SHOWN = 400


def describe(recorded: RecordedFile, name: str, begin_ns: int = 0, length_ns: int | None = None) -> dict[str, Any]:
    """Length, rates, outages, delays, losses; `shown` has means over the intervals of a part. Without a length that is the rest, at most an hour."""
    found = {"file": name, **numbers_of(recorded)}
    if recorded.format == LOSSES:
        return found
    summary = recorded.summary
    length_ns = _HOUR_NS if length_ns is None else length_ns
    if begin_ns >= summary.length_ns or not length_ns:
        at_end = f"{begin_ns / NS_PER_S:g} s is not before its end, {summary.length_ns / NS_PER_S:g} s"
        what = at_end if length_ns else "a part of 0 s is empty"
        raise PlanError("showing the recording", name, what, "choose another part")
    end_ns = min(begin_ns + length_ns, summary.length_ns)
    shown = _shown(recorded, begin_ns, end_ns)
    if summary.mean_bps is None:
        return {**found, "highest_bps": None, "outages": None, "shown": shown}
    assert summary.longest_outage_ns is not None and summary.outage_ns is not None
    outages = {
        "count": summary.outages,
        "longest_s": summary.longest_outage_ns / NS_PER_S,
        "total_s": summary.outage_ns / NS_PER_S,
    }
    shown["outage"] = _outage_shares(recorded, begin_ns, _edges(begin_ns, end_ns))
    return {**found, "highest_bps": _highest_bps(recorded), "outages": outages, "shown": shown}


def numbers_of(recorded: RecordedFile) -> dict[str, Any]:
    """The numbers that one pass over the file gives."""
    summary, found = recorded.summary, {"format": recorded.format}
    if recorded.format == LOSSES:
        return found | {"packets": summary.rows, "lost_packets": summary.lost_packets, "loss": summary.mean_loss}
    delays = {"least": summary.least_delay_ns, "mean": summary.mean_delay_ns, "highest": summary.highest_delay_ns}
    return found | {
        "rows": summary.rows,
        "length_s": summary.length_ns / NS_PER_S,
        "mean_bps": summary.mean_bps,
        "delay_ms": {name: ns / _NS_PER_MS for name, ns in delays.items() if ns is not None} or None,
        "loss": summary.mean_loss,
    }


def _edges(begin_ns: int, end_ns: int) -> Ints:
    """The ends of intervals of a part, from 0 on: 1, 2 or 5 times a power of ten, and at most so many that they can be drawn."""
    length_ns = end_ns - begin_ns
    steps_ns = (digit * 10**power for power in range(6, 18) for digit in (1, 2, 5))
    step_ns = next(one for one in steps_ns if one * _MOST_SHOWN >= length_ns)
    return np.append(np.arange(0, length_ns, step_ns), length_ns)


def _shown(recorded: RecordedFile, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Mean rates, delays and losses of each interval of a part; only the rows of the part are in memory."""
    edges_ns = _edges(begin_ns, end_ns)
    spans_ns, length_ns = np.diff(edges_ns), end_ns - begin_ns
    found: dict[str, Any] = {"from_s": begin_ns / NS_PER_S, "to_s": end_ns / NS_PER_S}
    found["every_s"] = int(spans_ns[0]) / NS_PER_S
    part = recorded.replay(Window(begin_ns, length_ns))
    if recorded.summary.mean_bps is not None:
        # A part in front of the first opportunity has no rows.
        has_rows = bool(part.rows.keys() & {"rates", "opportunities"})
        offered = part.offered_bytes(edges_ns) if has_rows else np.zeros(len(edges_ns), dtype=np.int64)
        # Bytes of the first instant belong to the first interval.
        offered[0] = 0
        found["rate_bps"] = (np.diff(offered) * 8 / (spans_ns / NS_PER_S)).tolist()
    for kind, name, a_unit in (("delays", "delay_ms", _NS_PER_MS), ("losses", "loss", 2**32)):
        if kind in part.rows:
            at, value = part.rows[kind]
            ends = np.append(at, length_ns)
            sums = np.append(0.0, np.cumsum(value * np.diff(ends).astype(np.float64)))
            found[name] = (np.diff(np.interp(edges_ns, ends, sums)) / spans_ns / a_unit).tolist()
    return found


def _highest_bps(recorded: RecordedFile) -> float | None:
    """The highest rate of a row; of opportunities, that of an interval."""
    summary = recorded.summary
    if summary.opportunities is None:
        return summary.highest_bps
    last, unfinished, highest = -1, 0.0, 0.0
    for chunk in recorded.chunks():
        assert chunk.opportunities is not None
        intervals, place = np.unique((np.maximum(chunk.at_ns, 1) - 1) // _EVERY_NS, return_inverse=True)
        sums = np.bincount(place, weights=chunk.opportunities)
        sums[0] += unfinished if intervals[0] == last else 0.0
        last, unfinished, highest = int(intervals[-1]), float(sums[-1]), max(highest, float(sums.max()))
    return highest * 8 * NS_PER_S / _EVERY_NS


def _outage_shares(recorded: RecordedFile, begin_ns: int, edges_ns: Ints) -> list[float]:
    """The share of each interval of a part, which begins there, that is within outages."""
    ends_ns, sums_ns = [0], [0]
    for outage in find_outages(recorded.chunks(), recorded.summary.length_ns):
        first_ns, last_ns = (min(max(one - begin_ns, 0), int(edges_ns[-1])) for one in outage)
        if last_ns > first_ns:
            ends_ns += [first_ns, last_ns]
            sums_ns += [sums_ns[-1], sums_ns[-1] + last_ns - first_ns]
    shares: list[float] = (np.diff(np.interp(edges_ns, ends_ns, sums_ns)) / np.diff(edges_ns)).tolist()
    return shares
