"""A kept run is recorded in SQLite's file by the same rows with and without SQLAlchemy, and only where that is safe."""

from __future__ import annotations

import os
import re
import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.database import kept_runs
from longhaul.orchestrator.database.catalog import Catalog
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.kept_runs import KeptRuns
from longhaul.orchestrator.database.run_index import RunIndex
from longhaul.orchestrator.database.run_records import record_of
from longhaul.orchestrator.database.statuses import HEAD
from longhaul.orchestrator.database.tables import METADATA
from longhaul.orchestrator.database.word_index import index_all
from tests.support.documents import document
from tests.support.queue import RUN, Lab
from tests.support.queue import document as short_document
from tests.support.queue import on_sqlite as lab  # noqa: F401 (a fixture)
from tests.support.recordings import recorded

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00")


def rows(file: Path) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table, with each time as its form."""
    with closing(sqlite3.connect(file)) as database:
        return {
            table: [
                tuple("TIME" if isinstance(one, str) and _TIME.fullmatch(one) else one for one in row)
                for row in database.execute(f'SELECT * FROM "{table}" ORDER BY 1, 2')
            ]
            for table in METADATA.tables
        }


def empty(file: Path) -> Database:
    file.parent.mkdir(exist_ok=True)
    database = Database(f"sqlite:///{file}")
    with database.read():
        return database


def test_the_rows_are_those_of_the_catalog(tmp_path: Path) -> None:
    first, second = tmp_path / "first/catalogue.sqlite", tmp_path / "second/catalogue.sqlite"
    plan = recorded("lossy_pair")[0].as_json()
    documents = [
        document("a" * 20),
        document("b" * 20) | {"retries": 1, "status": "missed", "measured_by": "m", "point": {"path.x": "1"}},
        document("c" * 20) | {"identity": {"agent": "1"}},
    ]
    catalog, kept = Catalog(empty(first)), KeptRuns(second)
    empty(second).close()
    for one in documents:
        catalog.add(one["run"], one, plan)
        assert kept.add(record_of(one["run"], one, plan))
        assert kept.document(one["run"]) == one == catalog.document(one["run"])
    found = rows(second)
    assert found == rows(first)
    assert len(found["runs"]) == len(found["documents"]) == len(found["events"]) == 3
    assert len(found["shared_texts"]) > 1
    assert len(found["run_words"]) > len(found["words"]) > 10
    assert found["run_counts"] == [("done", 2), ("missed", 1)]
    assert len(found["measures"]) > 40
    assert len(found["counts"]) == 4


def _links(file: Path) -> tuple[list[Any], list[Any]]:
    """The runs of each word, and the shared texts that runs name but the database lacks."""
    with closing(sqlite3.connect(file)) as database:
        words = "SELECT word, created_at, run_id FROM run_words JOIN words ON words.id = word_id ORDER BY 1, 2, 3"
        lacking = (
            "SELECT runs.id FROM runs LEFT JOIN shared_texts AS i ON i.key = identity LEFT JOIN shared_texts AS m"
            " ON m.key = measured WHERE identity IS NOT NULL AND i.key IS NULL OR m.key IS NULL"
        )
        return database.execute(words).fetchall(), database.execute(lacking).fetchall()


def test_recorders_of_either_kind_at_once_share_words_and_texts(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.sqlite"
    empty(file).close()

    def keep(first: int) -> None:
        catalog, kept = Catalog(Database(f"sqlite:///{file}")), KeptRuns(file)
        for number in range(first, 60, 4):
            run = f"{number:020x}"
            found = short_document(run) | {"jain": 0.5, "identity": {"agent": f"a{number % 3}"}}
            plan = RUN | {"seed": number % 5}
            if first % 2:
                assert kept.add(record_of(run, found, plan))
            else:
                catalog.add(run, found, plan)

    with ThreadPoolExecutor() as pool:
        for done in [pool.submit(keep, first) for first in range(4)]:
            done.result()
    words, lacking = _links(file)
    assert len(rows(file)["runs"]) == 60
    assert len(rows(file)["shared_texts"]) == 4
    assert sum(word == "seed=3" for word, *_ in words) == 12
    assert not lacking
    database = Database(f"sqlite:///{file}")
    assert Catalog(database).page(100, Filter(text="seed=3", status="done"), oldest_first=True)
    with database.write() as connection:
        index_all(connection)
    assert _links(file)[0] == words


def test_a_run_that_an_experiment_waits_for_is_left_to_the_catalog(lab: Lab, tmp_path: Path) -> None:  # noqa: F811
    kept = KeptRuns(tmp_path / "catalogue.sqlite")
    lab.submit("e", ["a", "b", "c"])
    lab.keep("a")
    before = rows(tmp_path / "catalogue.sqlite")
    # A rerun of a kept run has nothing to record.
    assert kept.add(record_of("a", short_document("a") | {"jain": 0.5}, RUN))
    for run in ("b", "c"):
        assert not kept.add(record_of(run, short_document(run), RUN))
    assert before == rows(tmp_path / "catalogue.sqlite")
    # Also where its row is gone, and an experiment still counts on it.
    lab.catalog.remove(["a"])
    assert not kept.add(record_of("a", short_document("a"), RUN))
    assert before["experiment_runs"] == rows(tmp_path / "catalogue.sqlite")["experiment_runs"]
    index = RunIndex(tmp_path / "catalogue.sqlite", lambda: lab.catalog)
    for run in ("a", "b", "c"):
        index.add(run, short_document(run), RUN)
        assert index.document(run) == short_document(run)
    assert lab.counts("e")["status"] == "done"


@pytest.mark.parametrize("fault", ["no file", "another revision", "no database", "read-only", "locked"])
def test_where_a_run_cannot_be_recorded_nothing_is_written(
    fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "catalogue.sqlite"
    monkeypatch.setattr(kept_runs, "_PATIENCE_S", 0.05)
    kept, record = KeptRuns(file), record_of("a", short_document("a"), RUN)
    if fault == "no file":
        assert not kept.add(record)
        assert not file.exists()
    empty(file).close()
    with closing(sqlite3.connect(file, isolation_level=None)) as other, monkeypatch.context() as patched:
        if fault == "another revision":
            other.execute("UPDATE alembic_version SET version_num = '9999'")
        elif fault == "locked":
            other.execute("BEGIN IMMEDIATE")
        elif fault == "no database":
            content = file.read_bytes()
            file.write_bytes(b"no database")
        elif fault == "read-only":
            patched.setattr(os, "access", lambda path, mode: False)
        if fault != "no file":
            assert not kept.add(record)
            assert kept.document("a") is None
        if fault == "another revision":
            other.execute("UPDATE alembic_version SET version_num = ?", (HEAD,))
        elif fault == "no database":
            file.write_bytes(content)
    assert rows(file)["runs"] == rows(file)["events"] == []
    assert kept.add(record), "the next one is recorded"


def test_a_statement_that_fails_leaves_no_half_of_a_run(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.sqlite"
    empty(file).close()
    kept = KeptRuns(file)
    record = record_of("a", short_document("a") | {"jain": 0.5}, RUN)
    record.measures.append(record.measures[0])
    assert not kept.add(record), "the key of a measure is there twice"
    assert not any(rows(file).values())


def test_threads_take_turns(tmp_path: Path) -> None:
    file = tmp_path / "catalogue.sqlite"
    empty(file).close()
    kept = KeptRuns(file)
    names = [f"{number:03}" for number in range(40)]
    threads = [
        threading.Thread(target=lambda name=name: kept.add(record_of(name, short_document(name), RUN)))
        for name in names
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row[0] for row in rows(file)["runs"]] == names
    kept.close()
    assert {one.name for one in tmp_path.iterdir()} == {"catalogue.lock", "catalogue.sqlite"}
