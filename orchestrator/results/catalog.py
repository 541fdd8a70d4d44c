"""Every SQL statement of the project: which runs there are, and what they measured.

One table of runs with the whole document, one of measures with a row a number, so that a sweep of a thousand runs can be
asked questions. SQLite in WAL mode: many readers and writers, of several processes, at once.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    delete,
    event,
    insert,
    select,
    update,
)
from sqlalchemy.exc import DatabaseError, SQLAlchemyError

from orchestrator.errors import ResultsError
from orchestrator.locks import locked

# The newest revision in migrations/versions; a test holds the two equal.
HEAD = "0001"

METADATA = MetaData()

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(32), primary_key=True),
    Column("experiment", String(128), nullable=False),
    Column("status", String(16), nullable=False),
    Column("backend", String(16), nullable=False),
    Column("kernel", String(64), nullable=False),
    Column("seed", Integer, nullable=False),
    Column("created_at", String(32), nullable=False),
    Column("virtual_s", Float, nullable=False),
    Column("wall_s", Float, nullable=False),
    Column("trace_sha256", String(64), nullable=False),
    Column("point", Text, nullable=False),
    Column("document", Text, nullable=False),
    Index("runs_by_experiment", "experiment", "created_at"),
    Index("runs_by_time", "created_at"),
)

MEASURES = Table(
    "measures",
    METADATA,
    Column("run_id", String(32), ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
    Column("flow", String(128), primary_key=True),
    Column("measure", String(64), primary_key=True),
    Column("value", Float, nullable=False),
)

Row = dict[str, Any]


class Catalog:
    """The database of one home."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._engine: Engine | None = None
        self._opening = threading.Lock()

    def add(self, run_id: str, document: Mapping[str, Any]) -> None:
        """Record a run; a run recorded before stays as it was."""
        row = {
            key: document[key]
            for key in ("experiment", "status", "backend", "kernel", "seed", "virtual_s", "wall_s", "trace_sha256")
        }
        row |= {
            "id": run_id,
            "created_at": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "point": json.dumps(document["point"], sort_keys=True),
            "document": json.dumps(document),
        }
        with self._write() as connection:
            fresh = connection.execute(insert(RUNS).prefix_with("OR IGNORE").values(row)).rowcount
            if fresh:
                _add_measures(connection, run_id, document)

    def revise(self, run_id: str, document: Mapping[str, Any]) -> None:
        """Put another document in the place of a recorded run's."""
        changed = {"status": document["status"], "document": json.dumps(document)}
        with self._write() as connection:
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(changed))
            connection.execute(delete(MEASURES).where(MEASURES.c.run_id == run_id))
            _add_measures(connection, run_id, document)

    def document(self, run_id: str) -> Row | None:
        """The whole document of a run."""
        with self._read() as connection:
            found = connection.execute(select(RUNS.c.document).where(RUNS.c.id == run_id)).scalar_one_or_none()
        return None if found is None else json.loads(found)

    def ids_beginning(self, start: str, limit: int) -> list[str]:
        """Ids that begin so, in order."""
        query = select(RUNS.c.id).where(RUNS.c.id.startswith(start, autoescape=True)).order_by(RUNS.c.id).limit(limit)
        with self._read() as connection:
            return list(connection.execute(query).scalars())

    def newest(self, limit: int, experiment: str | None = None) -> list[Row]:
        """The newest runs, without their documents."""
        query = (
            select(*(column for column in RUNS.c if column.name != "document"))
            .order_by(RUNS.c.created_at.desc())
            .limit(limit)
        )
        if experiment is not None:
            query = query.where(RUNS.c.experiment == experiment)
        with self._read() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]

    def values(self, measure: str, flow: str, experiment: str) -> list[tuple[str, float]]:
        """One measure of one flow over all runs of an experiment: (run id, value)."""
        query = (
            select(RUNS.c.id, MEASURES.c.value)
            .join(MEASURES, MEASURES.c.run_id == RUNS.c.id)
            .where(RUNS.c.experiment == experiment, MEASURES.c.measure == measure, MEASURES.c.flow == flow)
            .order_by(RUNS.c.created_at)
        )
        with self._read() as connection:
            return [(row.id, row.value) for row in connection.execute(query)]

    def remove(self, run_ids: Sequence[str]) -> None:
        """Forget runs."""
        with self._write() as connection:
            connection.execute(delete(RUNS).where(RUNS.c.id.in_(run_ids)))

    @contextmanager
    def _read(self) -> Iterator[Connection]:
        with self._said("reading"), self._open().connect() as connection:
            yield connection

    @contextmanager
    def _write(self) -> Iterator[Connection]:
        with self._said("writing"), self._open().begin() as connection:
            yield connection

    @contextmanager
    def _said(self, doing: str) -> Iterator[None]:
        try:
            yield
        except DatabaseError as error:
            what, hint = str(error.orig), "free some space, or set LONGHAUL_HOME to a folder you may write"
            raise ResultsError(f"{doing} the catalogue", str(self._file), what, hint) from error
        except SQLAlchemyError as error:
            raise ResultsError(f"{doing} the catalogue", str(self._file), str(error)) from error

    def _open(self) -> Engine:
        with self._opening:
            if self._engine is None:
                self._make_folder()
                engine = create_engine(f"sqlite:///{self._file}", connect_args={"timeout": 60})
                event.listen(engine, "connect", _set_up_connection)
                if _revision(engine) != HEAD:
                    _migrate(self._file)
                self._engine = engine
            return self._engine

    def _make_folder(self) -> None:
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what, hint = error.strerror or str(error), "set LONGHAUL_HOME to a folder you may write"
            raise ResultsError("opening the catalogue in", str(self._file.parent), what, hint) from error


def _set_up_connection(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA foreign_keys=ON")


def _revision(engine: Engine) -> str | None:
    with engine.connect() as connection:
        known = connection.exec_driver_sql(
            "SELECT count(*) FROM sqlite_master WHERE name = 'alembic_version'"
        ).scalar_one()
        return (
            connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar_one_or_none()
            if known
            else None
        )


def _migrate(file: Path) -> None:
    """Bring an old or new database to HEAD; one process at a time."""
    from alembic import command
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
    config.set_main_option("sqlalchemy.url", f"sqlite:///{file}")
    with locked(file.with_suffix(".lock")):
        command.upgrade(config, HEAD)


def _add_measures(connection: Connection, run_id: str, document: Mapping[str, Any]) -> None:
    if rows := [{"run_id": run_id, **measure} for measure in _numbers(document)]:
        connection.execute(insert(MEASURES), rows)


def _numbers(document: Mapping[str, Any]) -> Iterator[Row]:
    """Every number of the document that belongs to a flow or to the path, flat."""
    for flow in document["flows"]:
        yield from ({"flow": flow["name"], **row} for row in _flat(flow, ""))
    yield from ({"flow": "", **row} for row in _flat(document["path"], ""))
    if document.get("jain") is not None:
        yield {"flow": "", "measure": "jain", "value": document["jain"]}


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[Row]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield {"measure": prefix + name, "value": float(value)}
