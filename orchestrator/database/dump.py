"""The whole database as text, table by table, and back: the same from SQLite and PostgreSQL, so that either can become the other.

{"table": "runs", "revision": "0002"}      one such line, then a line a row
{"id": "...", "status": "done", ...}       bytes as {"base64": "..."}

Tables that follow from others are left out, and made again.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from sqlalchemy import LargeBinary, insert, select, text, update

from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.statuses import HEAD
from longhaul.orchestrator.database.tables import DELIVERIES, DERIVED, METADATA, RUNS, WORK
from longhaul.orchestrator.database.word_index import index_all
from longhaul.orchestrator.system.errors import ResultsError

_BATCH = 500


def dump(database: Database) -> Iterator[str]:
    """Every row of every table, of one moment, as lines."""
    with database.read() as connection:
        for table in METADATA.sorted_tables:
            if table in DERIVED:
                continue
            yield json.dumps({"table": table.name, "revision": HEAD}) + "\n"
            for row in connection.execution_options(yield_per=_BATCH).execute(select(table)):
                yield json.dumps({name: _plain(value) for name, value in row._mapping.items()}) + "\n"


def is_empty(database: Database) -> bool:
    """Whether there is no run in it."""
    with database.read() as connection:
        return connection.execute(select(RUNS.c.id).limit(1)).first() is None


def load(database: Database, lines: Iterable[str], subject: str, bring_runs: Callable[[], None]) -> None:
    """Fill an empty database from `dump`'s lines, after its runs are in place; no run is claimed afterwards."""
    with database.write() as connection:
        for table in reversed(METADATA.sorted_tables):
            connection.execute(table.delete())
        table = None
        rows: list[dict[str, Any]] = []
        for line in lines:
            row = json.loads(line)
            if isinstance(row, dict) and "revision" in row:
                if row["revision"] != HEAD:
                    what = f"its database is of revision {row['revision']}, this version's is {HEAD}"
                    raise ResultsError(
                        "restoring", subject, what, "restore it with the version that wrote it, then upgrade"
                    )
                _flush(connection, table, rows)
                table, rows = METADATA.tables[row["table"]], []
                continue
            if table is None or not isinstance(row, dict):
                what = "its database has a line that is not a row of a table"
                raise ValueError(what)
            rows.append({name: _value(table.c[name].type, value) for name, value in row.items()})
            if len(rows) == _BATCH:
                _flush(connection, table, rows)
                rows = []
        _flush(connection, table, rows)
        connection.execute(update(WORK).values(claimed_by=None, lease_until_s=None, progress_s=0.0))
        connection.execute(update(RUNS).where(RUNS.c.status == "running").values(status="queued"))
        connection.execute(update(DELIVERIES).values(claimed_by=None, lease_until_s=None))
        _count_on(connection)
        index_all(connection)
        bring_runs()


def _flush(connection: Any, table: Any, rows: list[dict[str, Any]]) -> None:
    if rows:
        connection.execute(insert(table), rows)


def _count_on(connection: Any) -> None:
    """PostgreSQL stores its counters apart from the rows."""
    if connection.dialect.name != "postgresql":
        return
    for name in ("events", "audit"):
        connection.execute(
            text(f"SELECT setval(pg_get_serial_sequence('{name}', 'id'), coalesce((SELECT max(id) FROM {name}), 1))")  # noqa: S608
        )


def _plain(value: Any) -> Any:
    return {"base64": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def _value(kind: Any, value: Any) -> Any:
    return base64.b64decode(value["base64"]) if isinstance(kind, LargeBinary) and value is not None else value
