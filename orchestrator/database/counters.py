"""What a record has counted over its life, and how the export of its runs does: what the service's /metrics tells of them.

Counts only rise, also where the runs that they came from are pruned. Whoever carries runs out writes them here, on whatever machine
it is; the service reads them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass

from sqlalchemy import Connection, delete, func, select, update

from longhaul.orchestrator.database.connection import Database, insert_new
from longhaul.orchestrator.database.tables import COUNTS, EXPORTERS

# Of one that was not heard of for so long only what it left waiting counts, and of one that left nothing nothing.
_FORGET_S = 24 * 3600


def add_counts(connection: Connection, rises: Mapping[str, float]) -> None:
    """Within a transaction."""
    some = {name: rise for name, rise in rises.items() if rise}
    insert_new(connection, COUNTS, [{"name": name, "value": 0.0} for name in some])
    for name, rise in some.items():
        connection.execute(update(COUNTS).where(COUNTS.c.name == name).values(value=COUNTS.c.value + rise))


@dataclass(frozen=True, slots=True)
class Export:
    """What waits for Prometheus anywhere: for how long the first has waited, and how much."""

    lag_s: float
    spool_bytes: int


class Counts:
    """The counts of one record."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, **rises: float) -> None:
        """Count."""
        with self._database.write() as connection:
            add_counts(connection, rises)

    def all(self) -> dict[str, float]:
        """Every count that there is."""
        with self._database.read() as connection:
            return dict(connection.execute(select(COUNTS.c.name, COUNTS.c.value)).all())

    def heard(self, exporter: str, oldest_s: float | None, spool_bytes: int, taken: int, refused: int) -> None:
        """What an exporter says of itself: what waits, and what was taken and refused since it last did."""
        now_s = time.time()
        row = {"name": exporter, "at_s": now_s, "oldest_s": oldest_s, "spool_bytes": spool_bytes}
        with self._database.write() as connection:
            if not insert_new(connection, EXPORTERS, [row]):
                connection.execute(update(EXPORTERS).where(EXPORTERS.c.name == exporter).values(row))
            idle = EXPORTERS.c.oldest_s.is_(None)
            connection.execute(delete(EXPORTERS).where(idle, EXPORTERS.c.at_s < now_s - _FORGET_S))
            add_counts(connection, {"samples": taken, "refused_samples": refused})

    def export(self) -> Export:
        """How all of them do together."""
        with self._database.read() as connection:
            oldest_s, waiting = connection.execute(
                select(func.min(EXPORTERS.c.oldest_s), func.sum(EXPORTERS.c.spool_bytes))
            ).one()
        return Export(max(0.0, time.time() - oldest_s) if oldest_s is not None else 0.0, int(waiting or 0))
