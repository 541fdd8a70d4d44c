"""Packets that no queue counts among its drops: those of policers, from the trace of their decisions, and of ACK filters, from CAKE's counters."""

from __future__ import annotations

from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import PolicerNumbers
from longhaul.orchestrator.trace.records import POLICE_DROP, POLICE_PASS, TRACE_KINDS, Records, Trace


def measure_policers(run: Run, decisions: Records) -> list[PolicerNumbers]:
    """The numbers of each policer, in these decisions."""
    return [
        {
            "name": policer.name,
            "passed": int(np.count_nonzero(passed)),
            "passed_bytes": int(own["length"][passed].sum(dtype=np.int64)),
            "policed": int(np.count_nonzero(~passed)),
        }
        for policer in run.policers
        for own in [of_flow(decisions, policer.id)]
        for passed in [own["state"] == POLICE_PASS]
    ]


def all_drops(trace: Trace) -> Records:
    """The packets that queues and policers dropped, as records of drops; a policer's have the state of no queue."""
    dropped = trace.decisions[trace.decisions["state"] == POLICE_DROP]
    if not len(dropped):
        return trace.drops
    made: Records = np.zeros(len(dropped), TRACE_KINDS["drop"])
    for name in ("t_ns", "length", "source_port", "destination_port"):
        made[name] = dropped[name]
    return np.concatenate([trace.drops, made])


def acks_filtered(run: Run, facts: dict[str, Any]) -> int | None:
    """The acknowledgements that ACK filters dropped in the whole run; None without a filter."""
    filters = {end.dev for end in run.ends for qdisc in end.qdiscs if qdisc.options.get("ack_filter")}
    if not filters:
        return None
    return sum(
        int(tin["ack_drops"])
        for device in facts["devices"]
        if device["dev"] in filters
        for qdisc in device["qdiscs"]
        for tin in qdisc.get("cake", {}).get("tins", ())
    )
