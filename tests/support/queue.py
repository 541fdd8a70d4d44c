"""A lab's database with made-up runs that are submitted, claimed and kept."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import select

from longhaul.orchestrator.database.catalog import Catalog
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.counters import Counts
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.experiments import Experiments, Submission
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.database.prometheus_spans import Spans
from longhaul.orchestrator.database.tables import MEASURES
from longhaul.orchestrator.database.work import Claim, Wanted, Work

RUN: dict[str, Any] = {
    "backend": "sandbox", "kernel": "6.12", "seed": 1, "duration_us": 3_000_000, "point": {"path.rtt": "10 ms"},
    "flows": [{"name": "app", "cc": "cubic", "variant": "cubic"}, {"name": "noise", "cc": None, "variant": None}],
    "meaning": {"topology": "dumbbell", "bandwidth_bps": 100_000_000, "rtt_us": 10_000},
}  # fmt: skip


class Lab:
    def __init__(self, database: str | Database) -> None:
        self.database = Database(database) if isinstance(database, str) else database
        self.experiments = Experiments(self.database)
        self.work = Work(self.database)
        self.catalog = Catalog(self.database)
        self.events = EventLog(self.database)
        self.leases = Leases(self.database)
        self.counted = Counts(self.database)
        self.spans = Spans(self.database)

    def submit(self, name: str, runs: Sequence[str | Wanted], owner: str = "ada", **more: Any) -> str:
        fields: dict[str, Any] = {
            "id": name, "name": "x", "about": "", "owner": owner, "aggregate": "mean", "spec": {}, "lint": (), "asked": {},
            "runs": [Wanted(run, RUN, {"experiment": "x"}) if isinstance(run, str) else run for run in runs], "priority": 0, "idempotency_key": None,
            "asked_sha256": name,
        }  # fmt: skip
        submission = Submission(**fields | more)
        return self.experiments.submit(submission)

    def claim(self, count: int = 1, holder: str = "one", most_each: int = 100, lease_s: float = 10.0) -> list[Claim]:
        return self.work.claim(holder, count, lease_s=lease_s, most_each=most_each)

    def names(self, count: int, **more: Any) -> list[str]:
        return [claim.run_id for claim in self.claim(count, **more)]

    def keep(self, run: str, status: str = "done") -> None:
        self.catalog.add(run, document(run, status), RUN)

    def counts(self, experiment: str) -> dict[str, Any]:
        found = self.experiments.get(experiment)
        return {key: found[key] for key in ("status", "total", "cached", "done", "missed", "failed", "cancelled")}


def document(run: str, status: str = "done") -> Any:
    return {
        "run": run, "experiment": "x", "status": status, "backend": "sandbox", "kernel": "6.12.1", "seed": 1, "virtual_s": 3.0,
        "wall_s": 0.1, "trace_sha256": "t", "point": {}, "flows": [], "path": {}, "measured_by": "m",
    }  # fmt: skip


def failure(what: str = "it died") -> Any:
    """A minimal document of a run that failed."""
    return {"error": {"what": what}}


def numbers(database: Database, measure: str, flow: str) -> list[tuple[str, float]]:
    """One measure over all runs: (run id, value)."""
    query = select(MEASURES.c.run_id, MEASURES.c.value).where(MEASURES.c.measure == measure, MEASURES.c.flow == flow)
    with database.read() as connection:
        return [(row.run_id, row.value) for row in connection.execute(query.order_by(MEASURES.c.run_id))]


@pytest.fixture(name="lab")
def on_sqlite(tmp_path: Path) -> Lab:
    return Lab(f"sqlite:///{tmp_path / 'catalogue.sqlite'}")
