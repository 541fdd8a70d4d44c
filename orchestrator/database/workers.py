"""Workers: each dispatcher reports its workers every few seconds; readers see the time of the last report."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, insert, select

from longhaul.orchestrator.database.connection import InDatabase
from longhaul.orchestrator.database.tables import WORKERS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Row = dict[str, Any]

# How often a dispatcher reports, and after how long without a report a worker counts as gone.
TELL_S = 5.0
GONE_S = 20.0
_FORGET_S = 24 * 3600


@dataclass(frozen=True, slots=True)
class Worker:
    """A process that takes runs: its name, its machine, how many at a time, and which kinds."""

    name: str
    machine: str
    slots: int
    needs: Sequence[str]


class Workers(InDatabase):
    """The workers in one database."""

    def tell(self, dispatcher: str, workers: Sequence[Worker], version: str) -> None:
        """Replace a dispatcher's workers."""
        now_s = time.time()
        with self._database.write() as connection:
            known = select(WORKERS.c.name, WORKERS.c.since_s, WORKERS.c.at_s).where(WORKERS.c.dispatcher == dispatcher)
            since = {row.name: row.since_s for row in connection.execute(known) if row.at_s > now_s - GONE_S}
            names = [worker.name for worker in workers]
            old = (
                (WORKERS.c.dispatcher == dispatcher) | WORKERS.c.name.in_(names) | (WORKERS.c.at_s < now_s - _FORGET_S)
            )
            connection.execute(delete(WORKERS).where(old))
            rows = [
                {
                    "name": worker.name,
                    "dispatcher": dispatcher,
                    "machine": worker.machine,
                    "slots": worker.slots,
                    "needs": " ".join(worker.needs),
                    "version": version,
                    "since_s": since.get(worker.name, now_s),
                    "at_s": now_s,
                }
                for worker in workers
            ]
            if rows:
                connection.execute(insert(WORKERS), rows)

    def all(self) -> list[Row]:
        """Workers reported within a day, by machine."""
        now_s = time.time()
        query = select(WORKERS).where(WORKERS.c.at_s > now_s - _FORGET_S).order_by(WORKERS.c.machine, WORKERS.c.name)
        with self._database.read() as connection:
            rows = [dict(row._mapping) for row in connection.execute(query)]
        return [
            row | {"needs": row["needs"].split(), "there": row["at_s"] > now_s - GONE_S, "quiet_s": now_s - row["at_s"]}
            for row in rows
        ]
