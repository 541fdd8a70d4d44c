"""Documents of made-up runs."""

from __future__ import annotations

from typing import Any

from longhaul.orchestrator.analysis.measures import summarise
from tests.support.recordings import recorded


def document(run_id: str) -> Any:
    run, trace, facts = recorded("lossy_pair")
    about = {
        "run": run_id,
        "experiment": run.experiment,
        "status": "done",
        "backend": "sandbox",
        "kernel": "6.12",
        "seed": 1,
        "point": {},
        "virtual_s": 3.0,
        "wall_s": 0.1,
        "trace_sha256": "x" * 64,
    }
    return about | summarise(run, trace, facts)
