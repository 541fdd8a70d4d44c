"""The checks of requests: both ends and the trace count the same, the bytes of the responses are those of their number, and a round of
a barrier has one response of each client, none of which asked before the round began."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.traffic.requests import requests_of
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.traffic.streams import groups_of
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVENT_REQUEST_LOST, EVENT_ROUND, Trace

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


def judge_rounds(run: Run, trace: Trace, facts: dict[str, Any]) -> Iterator[Verdict]:
    """A verdict for each barrier: client and trace count the same rounds, and the responses of each give its end and its time."""
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    alone = [(flow.name, [flow]) for flow in run.flows if flow.group is None]
    for name, flows in [*alone, *((group.name, flows) for group, flows in groups_of(run))]:
        if flows[0].requests is None or not flows[0].requests.barrier:
            continue
        noted = requests_of(trace, [flow.id for flow in flows], EVENT_ROUND)
        counted = {int(fact_of[flow.id]["rounds_completed"]) for flow in flows}
        responses = [len(requests_of(trace, [flow.id])) for flow in flows]
        # At most one round is under way, without the response of a client.
        ok = counted == {len(noted)} == {min(responses)} and max(responses) <= len(noted) + 1
        text = f"{name}: {len(noted)} rounds of {len(flows)} responses in the trace, {' or '.join(map(str, sorted(counted)))} counted by the client"
        if ok and (wrong := _wrong_rounds(trace, flows, noted["t_ns"], noted["value"])):
            ok, text = False, f"{text}; the times of {wrong} are not those of their responses, or they overlap"
        yield "rounds of a barrier", bool(ok), text


def _wrong_rounds(trace: Trace, flows: list[Flow], ended_ns: Any, took_ns: Any) -> int:
    """How many rounds do not end with the last of their responses, do not begin with their first request, or begin before the end of the one before."""
    answered = [requests_of(trace, [flow.id])[: len(ended_ns)] for flow in flows]
    ends = np.array([events["t_ns"] for events in answered], dtype=np.int64)
    begins = ends - np.array([events["value"] for events in answered], dtype=np.int64)
    begun_ns = ended_ns.astype(np.int64) - took_ns.astype(np.int64)
    wrong = (ends.max(axis=0) != ended_ns) | (begins.min(axis=0) != begun_ns)
    wrong[1:] |= begun_ns[1:] < ends.max(axis=0)[:-1]
    return int(wrong.sum())
