"""The check of transfers over several streams: both ends of each stream count the same bytes, and all of them together the size."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhaul.orchestrator.analysis.traffic.totals import ended_at_us
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.traffic.streams import groups_of

# Name, whether it holds, the found value.
Verdict = tuple[str, bool, str]


def judge_transfers(run: Run, facts: dict[str, Any]) -> Iterator[Verdict]:
    """A verdict for each transfer: while it lasts, no stream received more than was sent, and none sent more than there is."""
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    for group, flows in groups_of(run):
        size = flows[0].bytes
        if size is None:
            continue
        found = [fact_of[flow.id] for flow in flows]
        sent = sum(fact["bytes_sent"] for fact in found)
        received = sum(fact["bytes_received"] for fact in found)
        unequal = [
            fact["name"]
            for fact in found
            if fact["bytes_received"] > fact["bytes_sent"]
            or (fact["completed_us"] is not None and fact["bytes_received"] != fact["bytes_sent"])
        ]
        complete = ended_at_us(flows, fact_of) is not None
        text = f"{group.name}: {sent} of {size} bytes sent over {group.flows} streams, {received} received"
        if unequal:
            text += f"; the two ends of {', '.join(unequal)} differ"
        yield "bytes of streams", not unequal and (sent == size if complete else sent <= size), text
