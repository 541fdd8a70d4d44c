"""The database: SQLite in a file by default, PostgreSQL by LONGHAUL_DATABASE; the same statements on both.

    with database.read() as connection: ...      a snapshot
    with database.write() as connection: ...     one transaction: all of it or nothing

Opening migrates an older database to this version's revision, one process at a time. Readers never wait; writers take turns from
their first statement on, SQLite's by itself and PostgreSQL's by a lock: what a transaction has read is still true when it
writes, no two can wait for each other, and events are numbered in the order in which they can be seen.
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

from sqlalchemy import (
    ColumnElement,
    Connection,
    Engine,
    Select,
    Table,
    create_engine,
    event,
    inspect,
    select,
    text,
    tuple_,
)
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as NoConnection
from sqlalchemy.pool import QueuePool

from longhaul.orchestrator.database.statuses import HEAD, PATIENCE_S
from longhaul.orchestrator.system.errors import NotFound, PlanError, RecordUnreachable, ResultsError
from longhaul.orchestrator.system.extras import need
from longhaul.orchestrator.system.locks import locked

# Any number, so long as no other program locks it in the same database: the first letters of "longhaul".
_MIGRATING, _WRITING = 0x6C6F6E67, 0x6C6F6E68
# Locked, full, restarting, all connections in use: all of it is temporary, and none of it is the statement's fault.
_PASSING = (OperationalError, InterfaceError, NoConnection)
_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


class Database:
    """One database, opened at its first use."""

    def __init__(self, url: str, patience_s: float = PATIENCE_S) -> None:
        self._patience_s = patience_s
        try:
            parsed = make_url(url)
            self._url = parsed.set(drivername=_DRIVERS[parsed.drivername.partition("+")[0]])
        except (SQLAlchemyError, KeyError) as error:
            hint = "give sqlite:///FILE or postgresql://USER:PASSWORD@HOST/DATABASE"
            raise PlanError(
                "reading setting", "LONGHAUL_DATABASE", "it is not an address of a known kind", hint
            ) from error
        if self._url.get_backend_name() == "postgresql":
            need("postgresql")
        self._file = Path(self._url.database or "") if self._url.get_backend_name() == "sqlite" else None
        self._engine: Engine | None = None
        self._opening = threading.Lock()

    @property
    def name(self) -> str:
        """Its name in errors; never with a password."""
        return str(self._file) if self._file else self._url.render_as_string(hide_password=True)

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        return self._file

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """A connection for reading, which sees one snapshot however many queries it makes."""
        with self._reporting("reading"), self._open().connect() as connection:
            yield connection if self._file else connection.execution_options(isolation_level="REPEATABLE READ")

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A transaction."""
        with (
            self._reporting("writing"),
            self._open().connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            if self._file is None:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _WRITING})
            yield connection

    def ask(self) -> None:
        """RecordUnreachable unless it responds; it is not migrated."""
        engine = create_engine(self._url)
        try:
            with self._reporting("asking for"), engine.connect():
                pass
        finally:
            engine.dispose()

    def close(self) -> None:
        """Close every connection."""
        if self._engine is not None:
            self._engine.dispose()
            self._engine = None

    @contextmanager
    def _reporting(self, doing: str) -> Iterator[None]:
        try:
            yield
        except DBAPIError as error:
            kind = RecordUnreachable if isinstance(error, _PASSING) else ResultsError
            what = " ".join(str(error.orig).split())
            hint = _file_hint(what) if self._file else "is it running, and may LONGHAUL_DATABASE's user do this?"
            raise kind(f"{doing} the catalogue", self.name, what, hint) from error
        except SQLAlchemyError as error:
            kind = RecordUnreachable if isinstance(error, _PASSING) else ResultsError
            raise kind(f"{doing} the catalogue", self.name, str(error)) from error

    def _open(self) -> Engine:
        with self._opening:
            if self._engine is None:
                engine = self._file_engine(self._file) if self._file else create_engine(self._url, pool_pre_ping=True)
                self._bring_to_head(engine)
                self._engine = engine
                # At the end of the process too: SQLite then writes its log into the file, and deletes it.
                weakref.finalize(self, engine.dispose)
            return self._engine

    def _file_engine(self, file: Path) -> Engine:
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            if not file.exists() and self._url.database != ":memory:":
                # It contains hashes of tokens and the log of changes. SQLite gives the files next to it the same mode.
                os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
        except OSError as error:
            what, hint = error.strerror or str(error), "set LONGHAUL_HOME to a folder you may write"
            raise ResultsError("opening the catalogue in", str(file.parent), what, hint) from error
        engine = self._bare_file_engine()
        event.listen(engine, "connect", _hold_to_references)
        return engine

    def _bare_file_engine(self) -> Engine:
        if self._file is not None and _is_read_only(self._file):
            return _read_only_engine(self._file)
        engine = create_engine(self._url, connect_args={"timeout": self._patience_s})
        event.listen(engine, "connect", partial(_set_up_file, self._patience_s))
        event.listen(engine, "begin", _begin)
        return engine

    def _bring_to_head(self, engine: Engine) -> None:
        found = _revision(engine)
        if found == HEAD:
            return
        if found is not None and found not in _revisions():
            what = (
                f"a newer version of Longhaul wrote it (revision {found}, and this version supports those up to {HEAD})"
            )
            raise ResultsError("opening the catalogue", self.name, what, "use that version, or another LONGHAUL_HOME")
        if self._file and _is_read_only(self._file):
            what = "an earlier version of Longhaul wrote it, and it cannot be migrated while it is read-only"
            raise ResultsError("opening the catalogue", self.name, what, "copy the home to a place you may write")
        if self._file:
            # A table that is remade is dropped first, which must not delete the rows that refer to it.
            engine = self._bare_file_engine()
        with (
            locked(self._file.with_suffix(".lock")) if self._file else nullcontext(),
            engine.connect().execution_options(writes=True) as connection,
            connection.begin(),
        ):
            if not self._file:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATING})
            _migrate(connection)
        if self._file:
            engine.dispose()


# Messages of SQLite, and what to do.
_FILE_HINTS = (
    ("locked", "another program has been writing to it for long: try again when that has ended"),
    ("full", "free some space, or set LONGHAUL_HOME to a larger disk"),
    ("readonly", "set LONGHAUL_HOME to a folder you may write"),
    ("unable to open", "check that it exists and its permissions, or set LONGHAUL_HOME to a folder you may write"),
    ("disk i/o", "check the machine's log for disk errors"),
    *(
        (
            damage,
            "it is damaged: restore a backup (`longhaul restore`), or move it away and let `longhaul prune` record the kept runs again",
        )
        for damage in ("malformed", "not a database", "corrupt")
    ),
)


class InDatabase:
    """The rows of one kind in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database


def _file_hint(what: str) -> str:
    return next((hint for word, hint in _FILE_HINTS if word in what.lower()), "check that the file is complete")


def _is_read_only(file: Path) -> bool:
    """Whether the file or its folder is read-only; a missing file is made, or refused, later."""
    return file.is_file() and not (os.access(file, os.W_OK) and os.access(file.parent, os.W_OK))


def _read_only_engine(file: Path) -> Engine:
    """An engine for a home on a read-only disk, where SQLite could not make its files next to the database."""
    log = file.with_name(f"{file.name}-wal")
    # An immutable reader would ignore rows that are still in the log.
    how = "mode=ro" if log.is_file() and log.stat().st_size else "immutable=1"
    address = f"file:{quote(str(file.absolute()))}?{how}"
    engine = create_engine(
        "sqlite://", creator=lambda: sqlite3.connect(address, uri=True, check_same_thread=False), poolclass=QueuePool
    )
    event.listen(engine, "connect", _leave_transactions)
    event.listen(engine, "begin", _begin_reading)
    return engine


def _leave_transactions(connection: Any, _: Any) -> None:
    connection.isolation_level = None


def _begin_reading(connection: Connection) -> None:
    # Also for writers: the statement should fail, because its error states the reason.
    connection.exec_driver_sql("BEGIN")


def _revisions() -> set[str]:
    """The known revisions: the files of migrations/versions begin with their numbers."""
    return {file.name.partition("_")[0] for file in (Path(__file__).parent / "migrations/versions").glob("[0-9]*.py")}


def _set_up_file(patience_s: float, connection: sqlite3.Connection, _: Any) -> None:
    # Python's module must not begin transactions by its own rules: `_begin` does.
    connection.isolation_level = None
    _keep_log(connection, patience_s)
    connection.execute("PRAGMA synchronous=NORMAL")


def _keep_log(connection: sqlite3.Connection, patience_s: float) -> None:
    """Switch a new file to a write-ahead log; SQLite refuses the second of two that do so at once, whatever its timeout."""
    until = time.monotonic() + patience_s
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
        time.sleep(0.01)


def _hold_to_references(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA foreign_keys=ON")


def _begin(connection: Connection) -> None:
    connection.exec_driver_sql("BEGIN IMMEDIATE" if connection.get_execution_options().get("writes") else "BEGIN")


def _revision(engine: Engine) -> str | None:
    with engine.connect() as connection:
        if not inspect(connection).has_table("alembic_version"):
            return None
        return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def _migrate(connection: Connection) -> None:
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.attributes["connection"] = connection
    command.upgrade(config, HEAD)


def _insert_of(connection: Connection) -> Any:
    """The insert of this kind of database; the other kind's drivers are not loaded for it."""
    if connection.dialect.name == "postgresql":
        from sqlalchemy.dialects import postgresql

        return postgresql.insert
    from sqlalchemy.dialects import sqlite

    return sqlite.insert


def insert_new(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """Insert rows, except those whose key exists; how many were new."""
    return len(new_keys(connection, table, rows))


def new_keys(connection: Connection, table: Table, rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    """The same; the first columns of the keys of the new ones."""
    if not rows:
        return []
    statement = _insert_of(connection)(table).on_conflict_do_nothing()
    # A driver that sends many at once does not count them; the returned rows can be counted.
    key = next(iter(table.primary_key.columns))
    return list(connection.execute(statement.returning(key), list(rows)).scalars())


def page_of(
    connection: Connection,
    query: Select[Any],
    table: Table,
    limit: int,
    after: tuple[str, str] | None,
    oldest_first: bool,
    by: tuple[ColumnElement[str], ColumnElement[str]] | None = None,
) -> list[dict[str, Any]]:
    """The next rows by creation time and id, after the row that has these; `by` are other columns with the same values."""
    time, key = by or (table.c.created_at, table.c.id)
    if after is not None:
        place = tuple_(time, key)
        query = query.where(place > after if oldest_first else place < after)
    order = (time, key) if oldest_first else (time.desc(), key.desc())
    found = connection.execute(query.order_by(*order).limit(limit))
    # Not by `mappings`: a list is the most frequent query, and this takes half as long. Names of columns are
    # more than text; as keys, plain text is far faster to write as JSON.
    names = [str(name) for name in found.keys()]  # noqa: SIM118 (a view of a result, not of a mapping)
    return [dict(zip(names, row, strict=True)) for row in found.all()]


# An error names no more than these.
_MOST_NAMED = 5


def only_id(connection: Connection, table: Table, noun: str, start: str) -> str:
    """The only id of a table that begins with this; NotFound."""
    # An index has a range, and no pattern; an id has no letter after f.
    query = select(table.c.id).where(table.c.id >= start, table.c.id < start + "g").order_by(table.c.id)
    ids = list(connection.execute(query.limit(_MOST_NAMED)).scalars())
    if len(ids) == 1:
        return str(ids[0])
    what = f"several {noun}s begin with it: {', '.join(ids)}" if ids else f"no {noun}'s id begins with it"
    raise NotFound(f"looking for {noun}", start, what, f"see GET /{noun}s")


def chunks(items: Sequence[str], size: int = 500) -> Iterator[Sequence[str]]:
    """Pieces that fit into one statement."""
    for begin in range(0, len(items), size):
        yield items[begin : begin + size]
