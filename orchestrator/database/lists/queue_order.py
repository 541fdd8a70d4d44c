"""The order of the run queue: higher priority, then the owner with the fewest running or who waits longest, then of this owner the batch of
runs with the fewest waiting, then the earliest.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, case, func, or_, select

from longhaul.orchestrator.database.tables import WORK


def is_free(now_s: float) -> ColumnElement[bool]:
    """Whether a run waits: it is unclaimed, or its lease has expired."""
    return or_(WORK.c.claimed_by.is_(None), WORK.c.lease_until_s < now_s)


def in_order(query: Select[Any], now_s: float) -> Select[Any]:
    """The waiting runs of a query on the queue in the order in which they are taken.

    Runs that were submitted together are a batch. Of the batches of one owner that with the fewest waiting runs comes first, so that
    one run does not wait for the thousands of a sweep.
    """
    free = is_free(now_s)
    owners = (
        select(
            WORK.c.owner,
            func.sum(case((free, 0), else_=1)).label("running"),
            func.min(case((free, WORK.c.queued_s), else_=None)).label("first_s"),
        )
        .group_by(WORK.c.owner)
        .subquery()
    )
    batch = (WORK.c.owner, WORK.c.queued_s)
    batches = select(*batch, func.count().label("waiting")).where(free).group_by(*batch).subquery()
    query = (
        query.join(owners, owners.c.owner == WORK.c.owner)
        .join(batches, and_(batches.c.owner == WORK.c.owner, batches.c.queued_s == WORK.c.queued_s))
        .where(free)
    )
    of_owner = (owners.c.running, owners.c.first_s, WORK.c.owner)
    of_batch = (batches.c.waiting, WORK.c.queued_s, WORK.c.position, WORK.c.run_id)
    return query.order_by(WORK.c.priority.desc(), *of_owner, *of_batch)


def first_in_order(connection: Connection, now_s: float, most_each: int, needs: Sequence[str]) -> Any:
    """The first row in that order that may be taken: none of owners who have `most_each` running, none with other needs; else None.

    By parts of batches, which an index has, as sorting the rows of a long queue would take longer than a short run.
    """
    free = is_free(now_s)
    part = (WORK.c.owner, WORK.c.queued_s, WORK.c.priority, WORK.c.needs)
    waiting = func.sum(case((free, 1), else_=0))
    parts = connection.execute(select(*part, func.count(), waiting).group_by(*part)).all()
    running, first_s, batches = Counter[str](), dict[str, float](), Counter[tuple[str, float]]()
    for owner, queued_s, _, _, runs, waits in parts:
        running[owner] += runs - waits
        if waits:
            first_s[owner] = min(queued_s, first_s.get(owner, queued_s))
            batches[owner, queued_s] += waits
    may = [one for one in parts if one[-1] and one.needs in needs and running[one.owner] < most_each]
    if not may:
        return None

    def place(one: Any) -> tuple[Any, ...]:
        of_owner = (running[one.owner], first_s[one.owner], one.owner)
        return (-one.priority, *of_owner, batches[one.owner, one.queued_s], one.queued_s)

    owner, queued_s, priority, *_ = min(may, key=place)
    its = and_(WORK.c.owner == owner, WORK.c.queued_s == queued_s, WORK.c.priority == priority, WORK.c.needs.in_(needs))
    query = select(WORK).where(its, free).order_by(WORK.c.position, WORK.c.run_id).limit(1)
    return connection.execute(query).one_or_none()
