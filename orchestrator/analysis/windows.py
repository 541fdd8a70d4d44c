"""What the trace tells of a flow's congestion window: its size, when it peaks, and what is left of it after a loss."""

from __future__ import annotations

from typing import Any

import numpy as np

from orchestrator.trace import STATE_RECOVERING, Records

# A window is at its peak from this share of its largest on.
_PEAK = 0.95


def window_packets(acks: Records) -> dict[str, Any] | None:
    """The mean over time and the largest; null without an ACK."""
    if not len(acks):
        return None
    cwnd = acks["cwnd"].astype(np.float64)
    held_ns = np.diff(acks["t_ns"].astype(np.int64))
    mean = float((cwnd[:-1] * held_ns).sum() / held_ns.sum()) if len(held_ns) and held_ns.sum() else float(cwnd.mean())
    return {"mean": mean, "max": int(cwnd.max())}


def peak_s(acks: Records, start_s: float) -> float | None:
    """Seconds from the flow's start until its window is within 5 % of the largest of these ACKs; null without an ACK."""
    if not len(acks):
        return None
    cwnd = acks["cwnd"]
    first = int(np.argmax(cwnd >= _PEAK * cwnd.max()))
    return float(acks["t_ns"][first]) / 1e9 - start_s


def backoff(acks: Records) -> float | None:
    """The window that a recovery ends with, over the one before it began: the mean over the recoveries; null without any."""
    recovering = (acks["state"] >= STATE_RECOVERING).astype(np.int8)
    steps = np.diff(recovering)
    begins = np.flatnonzero(steps > 0)
    ends = np.flatnonzero(steps < 0) + 1
    if len(begins) and len(ends) and ends[0] <= begins[0]:
        # These ACKs begin inside a recovery.
        ends = ends[1:]
    pairs = min(len(begins), len(ends))
    if not pairs:
        return None
    before, after = (acks["cwnd"][places[:pairs]].astype(np.float64) for places in (begins, ends))
    return float((after / before).mean())
