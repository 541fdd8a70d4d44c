"""The two queues of a dualpi2 link, measured apart: how long packets waited in each, and how many were marked or dropped.

A packet that came marked from an earlier queue counts as marked. A dropped packet belongs to the queue that most packets with its ports left.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.qdiscs import DUALPI2
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import Delays, DualQueueNumbers, QueueNumbers
from longhaul.orchestrator.trace.records import DROP_QUEUE, ECN_MARKED, QUEUE_CLASSIC, QUEUE_L4S, Records, Trace


def dual_links(run: Run) -> set[int]:
    """The links whose departures the trace has."""
    dual = {end.dev for end in run.ends if any(qdisc.kind == DUALPI2 for qdisc in end.qdiscs)}
    return {link.id for link in run.links if link.dev in dual} if run.trace.departures else set()


def measure_queues(trace: Trace, link_id: int, begin_s: float, end_s: float) -> DualQueueNumbers:
    """Both queues of a link between two times."""
    left = _between(of_flow(trace.departures, link_id), begin_s, end_s)
    drops = _between(of_flow(trace.drops, link_id), begin_s, end_s)
    dropped_from = _queues_of(drops[drops["state"] == DROP_QUEUE], left)
    classic, l4s = (
        _queue(left[left["state"] == queue], int(np.count_nonzero(dropped_from == queue)))
        for queue in (QUEUE_CLASSIC, QUEUE_L4S)
    )
    base, coupled = classic["signalled"], l4s["signalled"]
    coupling = None if not base or coupled is None else coupled / math.sqrt(base)
    return {"classic": classic, "l4s": l4s, "coupling": coupling}


def _between(records: Records, begin_s: float, end_s: float) -> Records:
    t_ns = records["t_ns"]
    return records[(t_ns >= begin_s * 1e9) & (t_ns <= end_s * 1e9)]


def _queue(left: Records, drops: int) -> QueueNumbers:
    marks, packets = int(np.count_nonzero(left["ecn"] == ECN_MARKED)), len(left)
    return {
        "packets": packets,
        "marks": marks,
        "drops": drops,
        "signalled": (marks + drops) / (packets + drops) if packets + drops else None,
        "delay_ms": _delays_ms(left["wait_ns"] / 1e6) if packets else None,
    }


def _delays_ms(waits_ms: NDArray[np.float64]) -> Delays:
    p50, p95, p99 = map(float, np.percentile(waits_ms, (50, 95, 99)))
    return {"mean": float(waits_ms.mean()), "p50": p50, "p95": p95, "p99": p99}


def _queues_of(drops: Records, left: Records) -> NDArray[np.uint8]:
    """The queue of each dropped packet; Classic where no packet with its ports left."""
    ports, place = np.unique(_ports(left), return_inverse=True)
    in_l4s = np.bincount(place, left["state"] == QUEUE_L4S, len(ports)) * 2 > np.bincount(place, minlength=len(ports))
    return np.where(np.isin(_ports(drops), ports[in_l4s]), QUEUE_L4S, QUEUE_CLASSIC).astype(np.uint8)


def _ports(records: Records) -> NDArray[np.uint32]:
    ports: NDArray[np.uint32] = records["source_port"].astype(np.uint32) << 16 | records["destination_port"]
    return ports
