"""Kept runs in SQLite's file without SQLAlchemy, which takes longer to load than a short run to be run, recorded and answered.

It reads and writes only what this version made: the file is there, may be written, and has this version's tables. In any other case,
for a run that is known and not kept, or that an experiment waits for, and after any error of SQLite, it does nothing, and Catalog
reads, migrates, writes or reports.
"""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from longhaul.orchestrator.database.run_records import Row, RunRecord, now
from longhaul.orchestrator.database.search_fields import magnitude_of, words_of
from longhaul.orchestrator.database.statuses import HEAD, KEPT, RUN_FINISHED
from longhaul.orchestrator.plan.run_document import RunDocument

# Catalog waits for longer.
_PATIENCE_S = 2.0

_DOCUMENT = (
    "SELECT documents.document FROM documents JOIN runs ON runs.id = documents.run_id, alembic_version"
    " WHERE runs.id = ? AND runs.status IN (?, ?) AND alembic_version.version_num = ?"
)
_IS_KEPT = "SELECT 1 FROM runs, alembic_version WHERE runs.id = ? AND runs.status IN (?, ?) AND alembic_version.version_num = ?"
_IS_READY = "SELECT 1 FROM alembic_version WHERE version_num = ?"
_IS_WANTED = "SELECT 1 FROM experiment_runs WHERE run_id = ? LIMIT 1"


class KeptRuns:
    """The kept runs of one file, by one connection, which its threads share."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._using = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def document(self, run_id: str) -> RunDocument | None:
        """The document of exactly this run, if it is kept."""
        row = None
        with contextlib.suppress(sqlite3.Error), self._connected() as connection:
            if connection is not None:
                row = connection.execute(_DOCUMENT, (run_id, *KEPT, HEAD)).fetchone()
        return None if row is None else json.loads(row[0])

    def add(self, record: RunRecord) -> bool:
        """Record a run, unless it was recorded as kept before; False if it is recorded neither now nor before."""
        with contextlib.suppress(sqlite3.Error), self._connected() as connection:
            if connection is None:
                return False
            if _is_kept(connection, record.row["id"]):
                return True
            # It ends with a commit, or else with a rollback.
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                if _is_unknown(connection, record.row["id"]):
                    _insert(connection, record)
                    return True
        return False

    def is_usable(self) -> bool:
        """Whether the file is there and may be written: SQLite writes files beside a database with a log, also to read it."""
        return os.access(self._file, os.W_OK) and os.access(self._file.parent, os.W_OK)

    def close(self) -> None:
        """Close the connection."""
        with self._using:
            if self._connection is not None:
                self._connection.close()
                self._connection = None

    @contextlib.contextmanager
    def _connected(self) -> Iterator[sqlite3.Connection | None]:
        """The connection; None without a usable file. After an error it is made anew."""
        with self._using:
            if not self.is_usable():
                yield None
                return
            try:
                if self._connection is None:
                    self._connection = _open(self._file)
                    # At the end of the process too: SQLite then writes its log into the file, and deletes it.
                    weakref.finalize(self, self._connection.close)
                yield self._connection
            except sqlite3.Error:
                self._connection = None
                raise


def _open(file: Path) -> sqlite3.Connection:
    address = f"file:{quote(str(file.absolute()))}?mode=rw"
    connection = sqlite3.connect(address, _PATIENCE_S, isolation_level=None, uri=True, check_same_thread=False)
    # As for every connection of database/connection.py; that the file has a log is written in it.
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")
    return connection


def _is_kept(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether the tables are this version's, and the run was recorded as kept."""
    return connection.execute(_IS_KEPT, (run_id, *KEPT, HEAD)).fetchone() is not None


def _is_unknown(connection: sqlite3.Connection, run_id: str) -> bool:
    """Whether the tables are this version's, and the run is in none of them."""
    if connection.execute(_IS_READY, (HEAD,)).fetchone() is None:
        return False
    known = connection.execute("SELECT 1 FROM runs WHERE id = ?", (run_id,)).fetchone()
    return known is None and connection.execute(_IS_WANTED, (run_id,)).fetchone() is None


def _insert(connection: sqlite3.Connection, record: RunRecord) -> None:
    row, run_id = record.row, record.row["id"]
    connection.executemany(
        "INSERT INTO shared_texts (key, text) VALUES (?, ?) ON CONFLICT (key) DO NOTHING", record.texts.items()
    )
    columns, values = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO runs ({columns}) VALUES ({values})", tuple(row.values()))  # noqa: S608 (names of columns)
    _index(connection, row)
    connection.execute("INSERT INTO documents (run_id, document) VALUES (?, ?)", (run_id, record.document))
    connection.executemany(
        "INSERT INTO measures (run_id, flow, measure, value) VALUES (:run_id, :flow, :measure, :value)",
        record.measures,
    )
    connection.execute(
        "INSERT INTO events (at, kind, run_id, data) VALUES (?, ?, ?, ?)",
        (now(), RUN_FINISHED, run_id, json.dumps({"status": row["status"]})),
    )
    for name, rise in record.rises.items():
        if rise:
            connection.execute(
                "INSERT INTO counts (name, value) VALUES (?1, ?2) ON CONFLICT (name) DO UPDATE SET value = value + ?2",
                (name, rise),
            )


def _index(connection: sqlite3.Connection, row: Row) -> None:
    """The words of the new run, as word_index.py has them."""
    words = sorted(words_of(row["id"], row["words"]))
    connection.executemany(
        "INSERT INTO words (word, number) VALUES (?, ?) ON CONFLICT (word) DO NOTHING",
        ((word, magnitude_of(word)) for word in words),
    )
    connection.executemany(
        "INSERT INTO run_words (word_id, created_at, run_id) SELECT id, ?, ? FROM words WHERE word = ?",
        ((row["created_at"], row["id"], word) for word in words),
    )
