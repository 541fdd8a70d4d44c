"""Counters of a database, and the state of the export of its runs, for the service's /metrics.

Counts only rise, also when their runs are pruned. The processes that run runs write them here, on any machine;
the service reads them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping

from sqlalchemy import Connection, delete, func, select, update

from longhaul.orchestrator.database.connection import InDatabase, insert_new
from longhaul.orchestrator.database.tables import COUNTS, EXPORTERS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# An exporter without a report for this long counts only with the samples that it left waiting.
_FORGET_S = 24 * 3600


def add_counts(connection: Connection, rises: Mapping[str, float]) -> None:
    """Within a transaction."""
    some = {name: rise for name, rise in rises.items() if rise}
    insert_new(connection, COUNTS, [{"name": name, "value": 0.0} for name in some])
    for name, rise in some.items():
        connection.execute(update(COUNTS).where(COUNTS.c.name == name).values(value=COUNTS.c.value + rise))


@dataclass(frozen=True, slots=True)
class Export:
    """The samples that wait for Prometheus anywhere: how many, and for how long the first has waited."""

    lag_s: float
    spool_bytes: int


class Counts(InDatabase):
    """The counts of one database."""

    def add(self, **rises: float) -> None:
        """Count."""
        with self._database.write() as connection:
            add_counts(connection, rises)

    def all(self) -> dict[str, float]:
        """Every count."""
        with self._database.read() as connection:
            return dict(connection.execute(select(COUNTS.c.name, COUNTS.c.value)).all())

    def heard(self, exporter: str, oldest_s: float | None, spool_bytes: int, taken: int, refused: int) -> None:
        """Record an exporter's report: samples that wait, and samples accepted and refused since its last report."""
        now_s = time.time()
        row = {"name": exporter, "at_s": now_s, "oldest_s": oldest_s, "spool_bytes": spool_bytes}
        with self._database.write() as connection:
            if not insert_new(connection, EXPORTERS, [row]):
                connection.execute(update(EXPORTERS).where(EXPORTERS.c.name == exporter).values(row))
            idle = EXPORTERS.c.oldest_s.is_(None)
            connection.execute(delete(EXPORTERS).where(idle, EXPORTERS.c.at_s < now_s - _FORGET_S))
            add_counts(connection, {"samples": taken, "refused_samples": refused})

    def export(self) -> Export:
        """The state of all exporters together."""
        with self._database.read() as connection:
            oldest_s, waiting = connection.execute(
                select(func.min(EXPORTERS.c.oldest_s), func.sum(EXPORTERS.c.spool_bytes))
            ).one()
        return Export(max(0.0, time.time() - oldest_s) if oldest_s is not None else 0.0, int(waiting or 0))
