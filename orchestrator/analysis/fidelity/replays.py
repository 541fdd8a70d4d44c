"""Checks of recorded links: what left the line, compared with what its recording could carry. A verdict a link for checks.py."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.series import Floats, held, of_flow
from longhaul.orchestrator.plan.qdiscs import LINK
from longhaul.orchestrator.plan.run import Link, Run
from longhaul.orchestrator.trace.records import Records, Trace

Facts = dict[str, Any]

# Of timers, and of the samples of counters, in real time.
_LATENESS_US = 100_000


def judge_replays(run: Run, trace: Trace, facts: Facts) -> Iterator[tuple[bool, str]]:
    """Whether each recorded line carried no more than its recording, and all of it while packets waited."""
    for link in run.links:
        if link.offered_bytes:
            yield _judge_line(run, trace, link, facts)


def _judge_line(run: Run, trace: Trace, link: Link, facts: Facts) -> tuple[bool, str]:
    header = max(table.header_bytes for table in run.recordings if table.dev == link.dev)
    frame = run.meaning.frame_bytes
    payload = frame - header
    records = of_flow(trace.links, link.id)
    edges_us = np.append(np.arange(len(link.offered_bytes)) * link.offered_every_us, run.duration_us)
    # A record of that very instant counts.
    moments_s = edges_us / 1e6 + 1e-9
    sent = np.diff(held(records, "tx_bytes", moments_s) - header * held(records, "tx_packets", moments_s))
    offered = np.array(link.offered_bytes, dtype=np.float64) * payload / frame
    excess, shortfall = (
        float((sent - offered).max()),
        _shortfall(sent - offered, _busy(records, edges_us, offered, run)),
    )
    recorded = sum(link.offered_bytes) * payload // frame
    read_back, used = _counted(link, facts)
    # A packet leaves with bytes that it collected in intervals before; a real timer is late, and then sends all that was due.
    slack = frame + (_LATENESS_US / link.offered_every_us * float(offered.max()) if run.clock == "real" else 0)
    ok = excess <= slack and shortfall <= slack
    if run.clock == "virtual":
        ok &= abs(read_back - recorded) <= 1 and used <= read_back
    most = f"in an interval at most {max(excess, 0):.0f} bytes more than it could carry, and {max(shortfall, 0):.0f} less while packets waited"
    return ok, f"{link.name}: {used} bytes used and {read_back - used} wasted, of {recorded} in the recording; {most}"


def _busy(records: Records, edges_us: Floats, offered: Floats, run: Run) -> NDArray[np.bool_]:
    """The intervals at each of whose ticks more waited than the line could carry in the whole interval."""
    ticks = int(edges_us[1] - edges_us[0]) // run.trace.tick_us
    found = np.ones(len(offered), dtype=bool)
    for tick in range(ticks):
        waiting = held(records, "queue_bytes", (edges_us[:-1] + tick * run.trace.tick_us) / 1e6 + 1e-9)
        found &= waiting > offered + run.meaning.frame_bytes
    return found


def _shortfall(surplus: Floats, busy: NDArray[np.bool_]) -> float:
    """The most bytes that a stretch of busy intervals carried too few."""
    most = running = 0.0
    for more, is_busy in zip(surplus.tolist(), busy.tolist(), strict=True):
        running = max(running - more, 0.0) if is_busy else 0.0
        most = max(most, running)
    return most


def _counted(link: Link, facts: Facts) -> tuple[int, int]:
    """The bytes that the kernel's line could carry, and those that packets used."""
    device = next(one for one in facts["devices"] if (one["node"], one["dev"]) == (link.node, link.dev))
    counted = next(one["link"] for one in device["qdiscs"] if one["kind"] == LINK)
    return counted["offered_bytes"], counted["used_bytes"]
