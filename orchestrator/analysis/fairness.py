"""Fairness between flows: Jain's index, the time to a fair share, and the recovery of a path after a temporary flow."""

from __future__ import annotations

import numpy as np

from longhaul.orchestrator.analysis.series import Floats, app_bytes, of_flow, ticks_s
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.trace.records import Trace

# Every flow within this share of the mean, for this many round trips of the slowest flow, counts as converged.
_NEAR = 0.10
_ROUND_TRIPS = 10


def jain(values: Floats) -> float:
    """(sum x)^2 / (n sum x^2): 1 for equal values, 1/n when one flow has all."""
    squares = float((values**2).sum())
    return float(values.sum()) ** 2 / (len(values) * squares) if squares else 1.0


def long_flows(run: Run) -> list[Flow]:
    """The competing flows: TCP without a size."""
    return [flow for flow in run.flows if flow.kind == "tcp" and flow.bytes is None]


def together_s(run: Run, begin_s: float, end_s: float) -> tuple[list[Flow], float, float]:
    """The competing flows, and the part of a span between the last start and the first end of one."""
    flows = long_flows(run)
    begin_s = max([begin_s, *(flow.start_us / 1e6 for flow in flows)])
    end_s = min([end_s, *(flow.stop_us / 1e6 for flow in flows if flow.stop_us is not None)])
    return flows, begin_s, end_s


def jain_index(run: Run, trace: Trace, begin_s: float, end_s: float) -> float | None:
    """Jain's index of goodput while all competing flows are active; null without any."""
    flows, begin_s, end_s = together_s(run, begin_s, end_s)
    if not flows or end_s <= begin_s:
        return None
    return jain(np.array([app_bytes(run, trace, flow).rate(begin_s, end_s) for flow in flows]))


def convergence_s(run: Run, trace: Trace) -> float | None:
    """Seconds from the last start until every flow stays within 10 % of the mean for 10 round trips; null if never.

    The round trip is that of the slowest flow with its queue, the mean of its ACKs while all are active: behind a standing
    queue, 10 round trips of the empty path would contain only a few packets.
    """
    flows, begin_s, end_s = together_s(run, 0.0, run.duration_us / 1e6)
    span_s = _ROUND_TRIPS * max((_mean_rtt_s(run, trace, flow, begin_s, end_s) for flow in flows), default=0.0)
    if len(flows) < 2 or end_s - begin_s < span_s:
        return None
    t_s = ticks_s(run)
    starts = t_s[(t_s >= begin_s) & (t_s <= end_s - span_s)]
    counters = [app_bytes(run, trace, flow) for flow in flows]
    gained = np.array([counter.at(starts + span_s) - counter.at(starts) for counter in counters])
    mean = gained.mean(axis=0)
    fair = (np.abs(gained - mean) <= _NEAR * mean).all(axis=0) & (mean > 0)
    return float(starts[fair.argmax()] - begin_s) if fair.any() else None


def _mean_rtt_s(run: Run, trace: Trace, flow: Flow, begin_s: float, end_s: float) -> float:
    """TCP's own smoothed round trip, which a sender without RACK has too; for a flow without ACKs, the path's."""
    acks = of_flow(trace.acks, flow.id)
    inside = (acks["t_ns"] >= begin_s * 1e9) & (acks["t_ns"] <= end_s * 1e9) & (acks["srtt_us"] > 0)
    return float(acks["srtt_us"][inside].mean()) / 1e6 if inside.any() else run.meaning.rtt_us / 1e6


def recovery_ratio(run: Run, trace: Trace, begin_s: float, end_s: float) -> float | None:
    """Goodput of the lasting flows after the last temporary one left, over theirs before the first came; null without temporary flows."""
    visitors = [
        flow
        for flow in run.flows
        if flow.start_us / 1e6 > begin_s and flow.stop_us is not None and flow.stop_us / 1e6 < end_s
    ]
    residents = [flow for flow in long_flows(run) if flow not in visitors]
    if not visitors or not residents:
        return None
    came_s = min(flow.start_us for flow in visitors) / 1e6
    left_s = max(flow.stop_us or 0 for flow in visitors) / 1e6
    counters = [app_bytes(run, trace, flow) for flow in residents]
    before = sum(counter.rate(begin_s, came_s) for counter in counters)
    after = sum(counter.rate(left_s, end_s) for counter in counters)
    return after / before if before else None
