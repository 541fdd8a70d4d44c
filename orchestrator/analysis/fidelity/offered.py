"""Checks of a receiver's capped window: the offered window, and the bytes in flight. A verdict a flow for checks.py.

Everything counts in bytes: a sender cuts its segments at half of a small window, so packets are not comparable.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.trace.records import Records, Trace

Facts = dict[str, Any]

# A window is fully open after this many windows of data; a shorter transfer never needed all of it.
_OPEN_AFTER = 3
# The window field has 16 bits, and the kernel scales larger values: by a power of two, rounded up.
_FIELD_BITS = 16


def judge_windows(run: Run, trace: Trace, facts: Facts) -> Iterator[tuple[bool, str]]:
    """Whether the sender was offered each capped window in the end, with never more bytes in flight."""
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        cap, mss = flow.options.window_clamp_bytes, run.meaning.mss_bytes
        # Runs kept before it was read back have none.
        if (found := fact_of[flow.id].get("window_clamp_bytes", cap)) != cap:
            yield False, f"{flow.name}: {cap or 'no'} bytes asked, {found or 'none'} read back"
        acks = of_flow(trace.acks, flow.id)
        if not cap or not len(acks):
            continue
        offered, flying = int(acks["snd_wnd"][-1]), flying_bytes(acks)
        most = cap + (1 << max(cap.bit_length() - _FIELD_BITS, 0)) - 1
        opened = int(acks["acked_bytes"].max()) >= _OPEN_AFTER * cap
        ok = offered <= most and flying <= most and (offered > cap - mss or not opened)
        yield ok, f"{flow.name}: {offered} bytes offered, {cap} asked, {flying} on the way"


def flying_bytes(acks: Records) -> int:
    """A lower bound of the most bytes in flight at once: data sent after a moment is acknowledged a round trip later at the earliest."""
    measured = acks["rtt_us"][acks["rtt_us"] > 0]
    if not len(measured):
        return 0
    # A record shows the sender before its ACK: the last one within the round trip covers those before it.
    t_ns = acks["t_ns"].astype(np.int64)
    last = np.searchsorted(t_ns, t_ns + int(measured.min()) * 1000, side="left") - 1
    acked = acks["acked_bytes"].astype(np.int64)
    return int((acked[last] - acked).max())
