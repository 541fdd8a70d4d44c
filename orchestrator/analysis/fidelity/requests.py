"""The check of requests: both ends and the trace count the same, and the bytes of the responses are those of their number."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.analysis.traffic.requests import requests_of
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST, Trace

# Name, whether it holds, the found value.
Verdict = tuple[str, bool, str]


def judge_requests(run: Run, trace: Trace, facts: dict[str, Any]) -> Iterator[Verdict]:
    """A verdict for each client: at most one request is under way, and at most its response is incomplete."""
    for flow, fact in zip(run.flows, facts["flows"], strict=True):
        asked = flow.requests
        if asked is None:
            continue
        sent, served, completed = (int(fact[f"requests_{name}"]) for name in ("sent", "served", "completed"))
        noted, lost = (len(requests_of(trace, [flow.id], what)) for what in (EVENT_REQUEST, EVENT_REQUEST_LOST))
        received = int(fact["bytes_received"])
        ok = completed == noted and completed <= served <= sent <= completed + lost + 1
        ok &= 0 <= received - completed * asked.response_bytes <= (sent - completed) * asked.response_bytes
        ok &= received <= fact["bytes_sent"] <= sent * asked.response_bytes
        text = f"{flow.name}: {sent} sent, {served} served, {completed} completed, {noted} in the trace, {lost} lost; {received} bytes of {asked.response_bytes} for each"
        yield "requests of both ends", ok, text
