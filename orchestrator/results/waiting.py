"""The queue as those see it who wait: what runs and where, what comes next, and who has how much."""

from __future__ import annotations

import time
from typing import Any

from sqlalchemy import ColumnElement, case, func, or_, select

from orchestrator.results.database import Database
from orchestrator.results.tables import RUNS, WORK
from orchestrator.results.work import order_of

Row = dict[str, Any]

_SHOWN = (
    WORK.c.run_id,
    RUNS.c.experiment,
    RUNS.c.backend,
    RUNS.c.point,
    RUNS.c.controls,
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
)


class Waiting:
    """The queue of a record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def running(self, limit: int) -> list[Row]:
        """What is in somebody's hands, the longest first."""
        query = select(*_SHOWN).join(RUNS, RUNS.c.id == WORK.c.run_id).where(~_free())
        with self._database.read() as connection:
            found = connection.execute(query.order_by(RUNS.c.started_at, WORK.c.run_id).limit(limit))
            return [dict(row._mapping) for row in found]

    def next(self, limit: int) -> list[Row]:
        """What waits, in the order in which it would be taken if all were taken now."""
        has, order = order_of(time.time())
        query = select(*_SHOWN).join(RUNS, RUNS.c.id == WORK.c.run_id).outerjoin(has, has.c.owner == WORK.c.owner)
        with self._database.read() as connection:
            found = connection.execute(query.where(_free()).order_by(*order).limit(limit))
            return [dict(row._mapping) for row in found]

    def owners(self) -> list[Row]:
        """Who has how many waiting and running, since when, and at which priority."""
        free = _free()
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
        with self._database.read() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]


def _free() -> ColumnElement[bool]:
    return or_(WORK.c.claimed_by.is_(None), WORK.c.lease_until_s < time.time())
