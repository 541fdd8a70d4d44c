"""What policers let pass and dropped in a part of a run, from the trace of their decisions."""

from __future__ import annotations

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
