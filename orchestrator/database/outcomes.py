"""Record a run's end, once, whatever its cause, and with it the status of its experiments.

`settle` belongs to the transaction that gives a run its end. An experiment counts its runs as they end, each once; the last one
decides the experiment's status: failed if any failed, else missed if any missed. When a run is queued once more, because another
experiment wants it, all unfinished experiments wait for it again (`wait_again`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, exists, select, update

from longhaul.orchestrator.database.access.deliveries import queue_end, queue_event
from longhaul.orchestrator.database.connection import chunks
from longhaul.orchestrator.database.events import say, say_all
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.statuses import ENDS, EXPECTATION_MISSED, EXPERIMENT_FINISHED, LIVE, RUN_FINISHED
from longhaul.orchestrator.database.tables import EXPERIMENT_RUNS, EXPERIMENTS, RUNS, WORK

_OF_LIVE = exists().where(EXPERIMENTS.c.id == EXPERIMENT_RUNS.c.experiment_id, EXPERIMENTS.c.status.in_(LIVE))


def settle(connection: Connection, run_id: str, status: str, data: Mapping[str, Any]) -> None:
    """Within a transaction that has just given a run its end: update the experiments that want it, and the event log."""
    connection.execute(delete(WORK).where(WORK.c.run_id == run_id))
    say(connection, RUN_FINISHED, {"status": status, **data}, run=run_id)
    counting = (
        update(EXPERIMENT_RUNS)
        .where(EXPERIMENT_RUNS.c.run_id == run_id, EXPERIMENT_RUNS.c.counted.is_(None), _OF_LIVE)
        .values(counted=status)
        .returning(EXPERIMENT_RUNS.c.experiment_id)
    )
    for experiment, times in sorted(Counter(connection.execute(counting).scalars()).items()):
        counted = connection.execute(
            update(EXPERIMENTS)
            .where(EXPERIMENTS.c.id == experiment)
            .values({status: EXPERIMENTS.c[status] + times, "status": "running"})
            .returning(EXPERIMENTS.c.missed)
        ).scalar_one()
        if status == "missed" and counted == times:
            # The first one: of a sweep there may be thousands.
            queue_event(connection, experiment, EXPECTATION_MISSED)
        close_if_over(connection, experiment)


def wait_again(connection: Connection, run_ids: Sequence[str]) -> None:
    """Within a transaction that queues runs once more: unfinished experiments take back their counts of them."""
    counted = and_(EXPERIMENT_RUNS.c.run_id.in_(run_ids), EXPERIMENT_RUNS.c.counted.is_not(None), _OF_LIVE)
    query = select(EXPERIMENT_RUNS.c.experiment_id, EXPERIMENT_RUNS.c.counted).where(counted)
    ends = Counter((str(experiment), str(end)) for experiment, end in connection.execute(query))
    for (experiment, end), times in sorted(ends.items()):
        less = {end: EXPERIMENTS.c[end] - times}
        connection.execute(update(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment).values(less))
    if ends:
        connection.execute(update(EXPERIMENT_RUNS).where(counted).values(counted=None))


def give_up(connection: Connection, run_ids: Sequence[str]) -> None:
    """Within a transaction: give up runs that no experiment wants and no worker has."""
    for some in chunks(run_ids):
        end = {"status": "cancelled", "finished_at": now()}
        connection.execute(update(RUNS).where(RUNS.c.id.in_(some)).values(end))
        connection.execute(delete(WORK).where(WORK.c.run_id.in_(some)))
    say_all(connection, RUN_FINISHED, [(None, run_id, {"status": "cancelled"}) for run_id in run_ids])


def close_if_over(connection: Connection, experiment: str) -> None:
    """Give an experiment its end if all its runs have theirs."""
    row = connection.execute(select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)).one()
    if row.done + row.missed + row.failed + row.cancelled < row.total:
        return
    status = next((end for end in ("failed", "cancelled", "missed") if getattr(row, end)), "done")
    connection.execute(
        update(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment).values(status=status, finished_at=now())
    )
    say_over(connection, experiment)


def say_over(connection: Connection, experiment: str) -> None:
    """Add an experiment's end, and how its runs ended, to the event log, and queue the messages about it."""
    row = connection.execute(select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)).one()
    counts = {name: getattr(row, name) for name in ("status", "total", *ENDS)}
    say(connection, EXPERIMENT_FINISHED, counts, experiment=experiment)
    queue_end(connection, experiment)
