"""The numbers of flows that belong together, under their common name: the streams of a transfer, or the connections of requests.

Bytes and retransmissions are sums. A transfer is complete when the streams that ended brought every byte of it; a stream without any of them
may open later.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.analysis.series import app_bytes
from longhaul.orchestrator.analysis.traffic.requests import request_numbers, round_numbers
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.run_document import FlowNumbers, TotalNumbers
from longhaul.orchestrator.plan.traffic.streams import groups_of
from longhaul.orchestrator.trace.records import Trace

Facts = dict[str, Any]


def totals(
    run: Run,
    trace: Trace,
    fact_of: Mapping[int, Facts],
    measured: Mapping[int, FlowNumbers],
    window_s: tuple[float, float],
) -> Iterator[TotalNumbers]:
    """Each group of a run in a part of it, in which its flows were measured."""
    for group, flows in groups_of(run):
        ended_us = ended_at_us(flows, fact_of)
        start_us = min(flow.start_us for flow in flows)
        stop_us = max(run.duration_us if flow.stop_us is None else flow.stop_us for flow in flows)
        begin_s = max(window_s[0], start_us / 1e6)
        end_s = min(window_s[1], (stop_us if ended_us is None else ended_us) / 1e6)
        numbers: TotalNumbers = {
            "name": group.name,
            "flows": group.flows,
            "goodput_bps": sum(app_bytes(run, trace, flow).rate(begin_s, end_s) * 8 for flow in flows),
            "retransmits": sum(measured[flow.id]["retransmits"] for flow in flows),
            "bytes": sum(measured[flow.id]["bytes"] for flow in flows),
            "completion_s": None if ended_us is None else (ended_us - start_us) / 1e6,
        }
        if flows[0].requests is not None:
            numbers["requests"] = request_numbers(trace, [flow.id for flow in flows], window_s)
            if flows[0].requests.barrier:
                numbers["rounds"] = round_numbers(trace, [flow.id for flow in flows], window_s)
        yield numbers


def ended_at_us(flows: Sequence[Flow], fact_of: Mapping[int, Facts]) -> int | None:
    """When the last stream with bytes of a transfer, or the last client of requests, ended; None while a byte or a client is missing."""
    ended = [fact for flow in flows if (fact := fact_of[flow.id])["completed_us"] is not None]
    if flows[0].requests is not None:
        return max(int(fact["completed_us"]) for fact in ended) if len(ended) == len(flows) else None
    if sum(fact["bytes_received"] for fact in ended) != flows[0].bytes:
        return None
    return max(int(fact["completed_us"]) for fact in ended if fact["bytes_received"])
