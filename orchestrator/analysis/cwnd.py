"""Measures of a flow's congestion window: its size, the time of its peak, its share after a loss, and the time until it is back."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.plan.run_document import CongestionWindow
from longhaul.orchestrator.trace.records import STATE_RECOVERING, Records

# A window is at its peak from this share of its maximum on.
_PEAK = 0.95


def window_packets(acks: Records) -> CongestionWindow | None:
    """The mean over time and the largest; null without an ACK."""
    if not len(acks):
        return None
    cwnd = acks["cwnd"].astype(np.float64)
    held_ns = np.diff(acks["t_ns"].astype(np.int64))
    mean = float((cwnd[:-1] * held_ns).sum() / held_ns.sum()) if len(held_ns) and held_ns.sum() else float(cwnd.mean())
    return {"mean": mean, "max": int(cwnd.max())}


def peak_s(acks: Records, start_s: float) -> float | None:
    """Seconds from the flow's start until its window is within 5 % of its maximum in these ACKs; null without an ACK."""
    if not len(acks):
        return None
    cwnd = acks["cwnd"]
    first = int(np.argmax(cwnd >= _PEAK * cwnd.max()))
    return float(acks["t_ns"][first]) / 1e9 - start_s


def backoff(acks: Records) -> float | None:
    """The window at the end of a recovery over the one before it: the mean over the recoveries; null without any."""
    before, after = _recoveries(acks)
    if not len(before):
        return None
    return float((acks["cwnd"][after] / acks["cwnd"][before]).mean())


def regrowth_s(acks: Records) -> float | None:
    """Seconds from the end of a recovery until the window has its earlier size again: the mean of those that reach it; null without any."""
    before, after = _recoveries(acks)
    # A window with another loss before that never reached it.
    ends = np.append(before[1:] + 1, len(acks))[: len(after)]
    took_ns = []
    for loss, begin, end in zip(before, after, ends, strict=True):
        back = np.flatnonzero(acks["cwnd"][begin:end] >= acks["cwnd"][loss])
        if len(back):
            took_ns.append(int(acks["t_ns"][begin + back[0]]) - int(acks["t_ns"][begin]))
    return float(np.mean(took_ns)) / 1e9 if took_ns else None


def _recoveries(acks: Records) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each whole recovery among these ACKs, the last ACK before it and the first one after it."""
    steps = np.diff((acks["state"] >= STATE_RECOVERING).astype(np.int8))
    before, after = np.flatnonzero(steps > 0), np.flatnonzero(steps < 0) + 1
    if len(before) and len(after) and after[0] <= before[0]:
        # These ACKs begin inside a recovery.
        after = after[1:]
    return before[: len(after)], after[: len(before)]
