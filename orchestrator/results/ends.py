"""How a run's end gets recorded: once, whoever brought it about, and with it what its experiments have come to.

`settle` belongs to the transaction that gives a run its end. An experiment counts its runs as they end; the last one
decides what the experiment was: failed if any failed, else missed if any missed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, delete, func, select, update

from orchestrator.results.database import now
from orchestrator.results.events import say
from orchestrator.results.tables import EXPERIMENT_RUNS, EXPERIMENTS, WORK

LIVE = ("queued", "running")
KEPT = ("done", "missed")
ENDS = ("done", "missed", "failed", "cancelled")


def settle(connection: Connection, run_id: str, status: str, data: Mapping[str, Any]) -> None:
    """Within a transaction that has just given a run its end: tell the experiments that want it, and the log."""
    connection.execute(delete(WORK).where(WORK.c.run_id == run_id))
    say(connection, "run.finished", {"status": status, **data}, run=run_id)
    wanting = (
        select(EXPERIMENT_RUNS.c.experiment_id, func.count().label("times"))
        .join(EXPERIMENTS, EXPERIMENTS.c.id == EXPERIMENT_RUNS.c.experiment_id)
        .where(EXPERIMENT_RUNS.c.run_id == run_id, EXPERIMENTS.c.status.in_(LIVE))
        .group_by(EXPERIMENT_RUNS.c.experiment_id)
        .order_by(EXPERIMENT_RUNS.c.experiment_id)
    )
    for experiment, times in connection.execute(wanting).all():
        connection.execute(
            update(EXPERIMENTS)
            .where(EXPERIMENTS.c.id == experiment)
            .values({status: EXPERIMENTS.c[status] + times, "status": "running"})
        )
        close_if_over(connection, experiment)


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
    """Tell the log of an experiment that has its end, and how its runs ended."""
    row = connection.execute(select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)).one()
    told = {name: getattr(row, name) for name in ("status", "total", *ENDS)}
    say(connection, "experiment.finished", told, experiment=experiment)
