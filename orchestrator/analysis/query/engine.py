"""Answers a question over kept runs with DuckDB, in this process, with bounded memory, without writing anything.

    the tables that a SELECT names --tables.py--> tables of DuckDB
    acks, flows, links, ...        ------------> views over the Parquet files of the runs

Only what a question names is read. What does not fit into its memory goes to a temporary folder. Once the tables are there, DuckDB reads no file
but those of the runs, loads no extension, and its settings are locked.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from longhaul.orchestrator.analysis.query.tables import FLOW_NAMES, LINK_NAMES, NUMBER, TABLES, Row, Table, Tables
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.results.traces import FILE_NAMES
from longhaul.orchestrator.system.extras import need
from longhaul.orchestrator.trace.records import TRACE_KINDS

try:
    import duckdb

    from longhaul.orchestrator.analysis.query.question import Question, error_of, read_question
except ImportError:
    need("query")
    raise

MEMORY = "1 GB"
_BATCH = 2000
# The kinds of records by the names of their tables, as in frames.
RECORDS = {f"{kind}s": kind for kind in TRACE_KINDS}
_OF_FLOWS, _OF_LINKS = ("ack", "flow", "state"), ("link", "drop", "departure")
KNOWN = frozenset({*TABLES, *RECORDS} - {FLOW_NAMES, LINK_NAMES})
_WHOLE = {1: "UTINYINT", 2: "USMALLINT", 4: "UINTEGER", 8: "UBIGINT"}
_PATTERN = "*?["
FORMATS = {"csv": "FORMAT csv, HEADER", "json": "FORMAT json, ARRAY", "parquet": "FORMAT parquet"}


@contextmanager
def _reporting(text: str) -> Iterator[None]:
    try:
        yield
    except duckdb.Error as error:
        raise error_of(text, error, KNOWN) from error


class Answer:
    """The rows of an answer, read once, in order."""

    def __init__(self, text: str, connection: duckdb.DuckDBPyConnection) -> None:
        self._text, self._connection = text, connection
        self.columns: list[str] = [one[0] for one in connection.description or ()]

    def rows(self, most: int | None = None) -> Iterator[tuple[Any, ...]]:
        """The next rows, all by default."""
        left = most
        while left is None or left > 0:
            with _reporting(self._text):
                some = self._connection.fetchmany(_BATCH if left is None else min(left, _BATCH))
            if not some:
                return
            left = None if left is None else left - len(some)
            yield from some


class Engine:
    """A DuckDB with the tables that questions name; it ends with its temporary folder."""

    def __init__(self, store: Store, sweep: str | None = None, memory: str = MEMORY) -> None:
        self._store = store
        self._tables = Tables(store, sweep)
        self._folder = Path(tempfile.mkdtemp(prefix="longhaul-query-"))
        settings = {
            "memory_limit": memory.replace(" ", ""),
            "temp_directory": str(self._folder),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "preserve_insertion_order": "false",
            "errors_as_json": "true",
        }
        self._connection = duckdb.connect(":memory:", config={})
        for name, value in settings.items():
            self._connection.execute(f"SET {name} = '{value}'")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    def ask(self, text: str) -> Answer:
        """The answer to one SELECT; an engine answers one question."""
        question = self._prepare(text)
        with _reporting(question.text):
            self._connection.execute(question.text)
        return Answer(question.text, self._connection)

    def arrow(self, text: str) -> Any:
        """The same as a table of pyarrow."""
        question = self._prepare(text)
        with _reporting(question.text):
            return self._connection.sql(question.text).to_arrow_table()

    def write(self, text: str, output: Path, to: str) -> None:
        """The same into a file, in a format of `FORMATS`."""
        question = self._prepare(text, output)
        with _reporting(question.text):
            self._connection.execute(f"COPY (\n{question.text}\n) TO '{_quoted(output)}' ({FORMATS[to]})")

    def _prepare(self, text: str, output: Path | None = None) -> Question:
        """Make the tables of a question; then no other file can be read or written, and nothing can be set."""
        question = read_question(self._connection, text)
        paths = "" if output is None else f"'{_quoted(output)}'"
        with _reporting(question.text):
            self._make(question)
            self._connection.execute(f"SET allowed_directories = ['{_quoted(self._store.home / 'runs')}']")
            self._connection.execute(f"SET allowed_paths = [{paths}]")
            self._connection.execute("SET enable_external_access = false")
            self._connection.execute("SET lock_configuration = true")
        return question

    def _make(self, question: Question) -> None:
        """Every table that a question names; with a `*` in it, all columns of `runs`."""
        named = {name.lower() for name in question.tables} & KNOWN
        columns = None if question.stars else {name.lower() for name in question.columns}
        for name in sorted(named & TABLES.keys()):
            self._fill(name, self._tables.named(name, columns))
        for name in sorted(named & RECORDS.keys()):
            self._view(name, RECORDS[name])

    def _fill(self, name: str, table: Table) -> None:
        columns = ", ".join(f'"{column}" {kind}' for column, kind in table.columns.items())
        self._connection.execute(f"CREATE TABLE {name} ({columns})")
        rows = iter(table.rows())
        while some := list(islice(rows, _BATCH)):
            self._connection.register("batch", _columns(table.columns, some))
            self._connection.execute(f"INSERT INTO {name} SELECT * FROM batch")  # noqa: S608 (a name of TABLES)
            self._connection.unregister("batch")

    def _view(self, name: str, kind: str) -> None:
        """The records of a kind of all runs, with the run's id and the name of the flow or link, as in frames."""
        names, column = (FLOW_NAMES, "flow") if kind in _OF_FLOWS else (LINK_NAMES, "link")
        fields = [field for field in TRACE_KINDS[kind].names or () if field not in ("t_ns", "kind", "id")]
        listed = ", ".join(f'records."{field}"' for field in fields)
        times = "records.t_ns / 1e9 AS t_s, records.t_ns"
        if kind not in (*_OF_FLOWS, *_OF_LINKS):
            select = f"SELECT records.run, {times}, records.id, {listed} FROM {self._files(kind)} AS records"  # noqa: S608 (fixed names)
        else:
            self._ensure(names)
            select = (
                f"SELECT records.run, {times}, names.name AS {column}, {listed} FROM {self._files(kind)} AS records"  # noqa: S608
                f" JOIN {names} AS names ON names.run = records.run AND names.id = records.id"
            )
        self._connection.execute(f"CREATE VIEW {name} AS {select}")

    def _ensure(self, names: str) -> None:
        if not self._connection.execute("SELECT 1 FROM duckdb_tables() WHERE table_name = ?", [names]).fetchone():
            self._fill(names, self._tables.named(names))

    def _files(self, kind: str) -> str:
        """The files of a kind, as a table with the run of each record; one without rows if there are no files."""
        file, folder = FILE_NAMES[kind], self._store.home / "runs"
        if self._tables.sweep is None and not set(_PATTERN) & set(str(folder)):
            files = [str(folder / "*" / "*" / file)] if next(folder.glob(f"*/*/{file}"), None) else []
        else:
            of_runs = (self._store.directory(run_id) / file for run_id in self._tables.run_ids())
            files = [str(path) for path in of_runs if path.is_file()]
        if not files:
            kinds = {
                name: _WHOLE[TRACE_KINDS[kind][name].itemsize]
                for name in TRACE_KINDS[kind].names or ()
                if name != "kind"
            }
            columns = ", ".join(f'NULL::{one} AS "{name}"' for name, one in kinds.items())
            return f"(SELECT '' AS run, {columns} WHERE false)"
        listed = ", ".join(f"'{_quoted(path)}'" for path in files)
        return f"(SELECT * EXCLUDE (filename), parse_path(filename)[-2] AS run FROM read_parquet([{listed}], filename = true))"  # noqa: S608


def _quoted(path: str | Path) -> str:
    return str(path).replace("'", "''")


def _columns(kinds: Mapping[str, str], rows: Sequence[Row]) -> dict[str, Any]:
    """Rows as columns of numpy; what a row lacks is nothing."""
    found: dict[str, Any] = {}
    for name, kind in kinds.items():
        values = [row.get(name) for row in rows]
        if kind == NUMBER:
            found[name] = np.array([np.nan if value is None else value for value in values], np.float64)
        else:
            found[name] = np.empty(len(rows), object)
            found[name][:] = values
    return found
