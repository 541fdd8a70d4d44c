"""The run queue for users: which runs are running and where, which come next, and how many each owner has."""

from __future__ import annotations

from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, case, func, select

from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.lists.queue_order import in_order, is_free
from longhaul.orchestrator.database.statuses import LIVE
from longhaul.orchestrator.database.tables import EXPERIMENT_RUNS, EXPERIMENTS, RUNS, WORK
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Row = dict[str, Any]

_SHOWN = (
    WORK.c.run_id,
    RUNS.c.experiment,
    RUNS.c.backend,
    RUNS.c.point,
    RUNS.c.controls,
    RUNS.c.seed,
    RUNS.c.virtual_s,
    RUNS.c.started_at,
    WORK.c.owner,
    WORK.c.priority,
    WORK.c.needs,
    WORK.c.attempts,
    WORK.c.queued_s,
    WORK.c.progress_s,
    WORK.c.claimed_by,
    WORK.c.cancel,
    WORK.c.run.label("packed"),
)


@dataclass(frozen=True, slots=True)
class Queue:
    """The run queue at one moment."""

    running: list[Row]
    next: list[Row]
    owners: list[Row]

    @property
    def waiting(self) -> int:
        """How many runs wait."""
        return sum(row["waiting"] for row in self.owners)

    @property
    def first_s(self) -> float | None:
        """Since when the first run has waited."""
        return min((row["first_s"] for row in self.owners if row["first_s"] is not None), default=None)


def read_queue(database: Database, now_s: float, limit: int) -> Queue:
    """The run queue now, from one snapshot: at most `limit` running and `limit` waiting runs."""
    free = is_free(now_s)
    with database.read() as connection:
        return Queue(_running(connection, free, limit), _next(connection, now_s, limit), _owners(connection, free))


def _running(connection: Connection, free: ColumnElement[bool], limit: int) -> list[Row]:
    """Running runs, the longest first."""
    query = select(*_SHOWN).join(RUNS, RUNS.c.id == WORK.c.run_id).where(~free)
    return _rows(connection, query.order_by(RUNS.c.started_at, WORK.c.run_id).limit(limit))


def _rows(connection: Connection, query: Select[Any]) -> list[Row]:
    """The rows, each with the experiment of its owner that wants it; of several, the one with the highest priority."""
    rows = [dict(row._mapping) for row in connection.execute(query)]
    wanting = (
        select(EXPERIMENT_RUNS.c.run_id, EXPERIMENTS.c.id, EXPERIMENTS.c.owner)
        .join(EXPERIMENTS, EXPERIMENTS.c.id == EXPERIMENT_RUNS.c.experiment_id)
        .where(EXPERIMENT_RUNS.c.run_id.in_([row["run_id"] for row in rows]), EXPERIMENTS.c.status.in_(LIVE))
        .order_by(EXPERIMENTS.c.priority, EXPERIMENTS.c.created_at.desc())
    )
    found = {(run_id, owner): key for run_id, key, owner in connection.execute(wanting)}
    return [row | {"experiment_id": found.get((row["run_id"], row["owner"]))} for row in rows]


def _next(connection: Connection, now_s: float, limit: int) -> list[Row]:
    """Waiting runs, in the order in which they would be taken if all were taken now."""
    query = select(*_SHOWN).join(RUNS, RUNS.c.id == WORK.c.run_id)
    return _rows(connection, in_order(query, now_s).limit(limit))


def _owners(connection: Connection, free: ColumnElement[bool]) -> list[Row]:
    """Each owner's number of waiting and running runs, since when, and at which priority."""
    query = (
        select(
            WORK.c.owner,
            func.sum(case((free, 1), else_=0)).label("waiting"),
            func.sum(case((free, 0), else_=1)).label("running"),
            func.max(WORK.c.priority).label("priority"),
            func.min(case((free, WORK.c.queued_s), else_=None)).label("first_s"),
        )
        .group_by(WORK.c.owner)
        .order_by(func.count().desc(), WORK.c.owner)
    )
    return [dict(row._mapping) for row in connection.execute(query)]
