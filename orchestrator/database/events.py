"""The event log, in the order in which events become visible; followers read and resume it.

    experiment: queued, finished        run: queued, unplaced, started, progress, retried, finished

An event's id is larger than that of every event that could be seen before it, so "all after 17" never misses one.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, delete, func, insert, or_, select

from longhaul.orchestrator.database.connection import InDatabase
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.tables import EVENTS, EXPERIMENT_RUNS, EXPERIMENTS, LARGEST_ID

Row = dict[str, Any]

PROGRESS = "run.progress"


def say(
    connection: Connection, kind: str, data: Mapping[str, Any], *, experiment: str | None = None, run: str | None = None
) -> None:
    """Record one event within a transaction."""
    say_all(connection, kind, [(experiment, run, data)])


def say_all(
    connection: Connection, kind: str, events: Sequence[tuple[str | None, str | None, Mapping[str, Any]]]
) -> None:
    """Record many of one kind: (experiment, run, data) each."""
    if not events:
        return
    at = now()
    connection.execute(
        insert(EVENTS),
        [
            {"at": at, "kind": kind, "experiment_id": experiment, "run_id": run, "data": json.dumps(data)}
            for experiment, run, data in events
        ],
    )


def newest_id(connection: Connection) -> int:
    """The id of the last event, 0 before there is one."""
    return connection.execute(select(func.max(EVENTS.c.id))).scalar() or 0


class EventLog(InDatabase):
    """Reads the log."""

    def after(self, last: int, limit: int = 1000) -> list[Row]:
        """Every event after that one, the oldest first."""
        with self._database.read() as connection:
            return _rows(
                connection, select(EVENTS).where(EVENTS.c.id > min(last, LARGEST_ID)).order_by(EVENTS.c.id).limit(limit)
            )

    def newest(self) -> int:
        """The id of the last event."""
        with self._database.read() as connection:
            return newest_id(connection)

    def changes(self, last: int, limit: int = 1000) -> list[Row]:
        """Every event after that one except progress."""
        query = select(EVENTS).where(EVENTS.c.id > min(last, LARGEST_ID), EVENTS.c.kind != PROGRESS)
        with self._database.read() as connection:
            return _rows(connection, query.order_by(EVENTS.c.id).limit(limit))

    def of_experiment(self, experiment: str, last: int, limit: int = 1000) -> list[Row]:
        """Events of one experiment and, since it was submitted, of its runs."""
        first = select(EXPERIMENTS.c.first_event).where(EXPERIMENTS.c.id == experiment).scalar_subquery()
        its_runs = select(EXPERIMENT_RUNS.c.run_id).where(EXPERIMENT_RUNS.c.experiment_id == experiment)
        query = select(EVENTS).where(
            EVENTS.c.id > min(last, LARGEST_ID),
            EVENTS.c.id > first,
            or_(EVENTS.c.experiment_id == experiment, EVENTS.c.run_id.in_(its_runs)),
        )
        with self._database.read() as connection:
            return _rows(connection, query.order_by(EVENTS.c.id).limit(limit))

    def of_run(self, run: str, last: int, limit: int = 1000) -> list[Row]:
        """Events of one run."""
        query = (
            select(EVENTS)
            .where(EVENTS.c.id > min(last, LARGEST_ID), EVENTS.c.run_id == run)
            .order_by(EVENTS.c.id)
            .limit(limit)
        )
        with self._database.read() as connection:
            return _rows(connection, query)

    def forget_before(self, at: str) -> int:
        """Delete older events; how many."""
        with self._database.write() as connection:
            return connection.execute(delete(EVENTS).where(EVENTS.c.at < at)).rowcount


def _rows(connection: Connection, query: Any) -> list[Row]:
    return [
        {**row._mapping, "data": json.loads(row.data)}  # text in the table, a document for readers
        for row in connection.execute(query)
    ]
