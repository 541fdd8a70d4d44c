"""A database of any earlier revision is migrated with all its rows, once, by the first process that opens it."""

from __future__ import annotations

import json
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from alembic import command
from alembic.config import Config
from alembic.script import ScriptDirectory

import longhaul.orchestrator.database
from longhaul.orchestrator.database.catalog import Catalog
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.lists.orders import read_order
from longhaul.orchestrator.database.statuses import HEAD
from longhaul.orchestrator.database.tables import METADATA
from tests.support.queue import RUN, Lab, document, numbers

_SCRIPTS = Path(longhaul.orchestrator.database.__file__).parent / "migrations"


def _config() -> Config:
    config = Config()
    config.set_main_option("script_location", str(_SCRIPTS))
    return config


EARLIER = [one.revision for one in ScriptDirectory.from_config(_config()).walk_revisions() if one.revision != HEAD]


def _kept(run: str) -> Any:
    flow = {"name": "app", "cc": "htcp", "goodput_bps": 1.5, "rtt_ms": {"mean": 20.0}, "loss_ratio": 0.25}
    return document(run) | {"flows": [flow], "path": {"utilisation": 0.5}, "goodput_total": 2.5}


# Rows as each revision's own programs would have written them into their tables.
_RUN = (
    "INSERT INTO runs (id, experiment, status, backend, kernel, seed, created_at, virtual_s, wall_s, trace_sha256, point, document)"
    " VALUES (:id, 'old', :status, 'sandbox', '6.12.1', 1, '2026-01-01T00:00:00.000+00:00', 3.0, 0.1, 't', '{}', :document)"
)
_MEASURE = "INSERT INTO measures (run_id, flow, measure, value) VALUES (:id, 'app', 'goodput_bps', 1.5)"
_UTILISATION = "INSERT INTO measures (run_id, flow, measure, value) VALUES (:id, '', 'utilisation', 0.5)"
_EXPERIMENT_2 = (
    "INSERT INTO experiments (id, name, about, owner, status, priority, created_at, total, cached, done, missed, failed, cancelled,"
    " aggregate, spec, lint, asked, asked_sha256, first_event) VALUES ('old', 'old', 'Of before', 'ada', 'running', 5,"
    " '2026-01-02T00:00:00.000+00:00', 2, 1, 1, 0, 0, 0, 'mean', '{}', '[]', '{}', 's', 0)"
)
_ITS_RUN_2 = (
    "INSERT INTO experiment_runs (experiment_id, position, run_id, cached) VALUES ('old', :position, :id, :cached)"
)
_RUN_2 = (
    "INSERT INTO runs (id, experiment, status, backend, kernel, seed, created_at, virtual_s, wall_s, trace_sha256, point)"
    " VALUES (:id, 'old', :status, 'sandbox', '6.12.1', 1, '2026-01-01T00:00:00.000+00:00', 3.0, 0.1, 't', '{}')"
)
_DOCUMENT_2 = "INSERT INTO documents (run_id, document) VALUES (:id, :document)"
_QUEUED_2 = (
    "INSERT INTO runs (id, experiment, status, backend, kernel, seed, created_at, virtual_s, point, owner)"
    " VALUES (:id, 'old', 'queued', 'sandbox', '6.12', 1, '2026-01-02T00:00:00.000+00:00', 3.0, '{}', 'ada')"
)
_WORK_2 = (
    "INSERT INTO work (run_id, run, owner, priority, queued_s, position, needs, attempts, fence, cancel, progress_s)"
    " VALUES (:id, :run, 'ada', 5, 0.0, 0, 'sandbox', 1, 1, :cancel, 0.0)"
)
_PACKED_2 = zlib.compress(json.dumps({"run": RUN, "spec": {}, "rerun_of": None}).encode(), 1)
ROWS: dict[str, list[tuple[str, dict[str, Any]]]] = {
    "0001": [
        (_RUN, {"id": "a" * 20, "status": "done", "document": json.dumps(_kept("a" * 20))}),
        (_RUN, {"id": "b" * 20, "status": "missed", "document": json.dumps(document("b" * 20, "missed"))}),
        (_MEASURE, {"id": "a" * 20}),
        (_UTILISATION, {"id": "a" * 20}),
    ],
    "0002": [
        (_RUN_2, {"id": "a" * 20, "status": "done"}),
        (_DOCUMENT_2, {"id": "a" * 20, "document": json.dumps(_kept("a" * 20))}),
        (_RUN_2, {"id": "b" * 20, "status": "missed"}),
        (_DOCUMENT_2, {"id": "b" * 20, "document": json.dumps(document("b" * 20, "missed"))}),
        (_MEASURE, {"id": "a" * 20}),
        (_UTILISATION, {"id": "a" * 20}),
        (_EXPERIMENT_2, {}),
        (_ITS_RUN_2, {"position": 0, "id": "a" * 20, "cached": True}),
        (_ITS_RUN_2, {"position": 1, "id": "q" * 20, "cached": False}),
        (_QUEUED_2, {"id": "q" * 20}),
        (_WORK_2, {"id": "q" * 20, "run": _PACKED_2, "cancel": False}),
    ],
}
# Only the width of a column changed; a lease with a holder.
_LEASE_3 = "INSERT INTO leases (name, holder, fence, until_s, about) VALUES ('root@lab', 'ada', 4, 4e9, 'tests')"
ROWS["0003"] = [*ROWS["0002"], (_LEASE_3, {})]
# Rows of the tables that were added then.
ROWS["0004"] = ROWS["0003"]
# The columns that lists show and search are added.
_KNOWN_5 = "UPDATE runs SET controls = :controls, utilisation = :utilisation, words = :words WHERE id = :id"
_PATH_5 = "UPDATE runs SET topology = 'dumbbell', bandwidth_bps = 100000000, rtt_us = 10000 WHERE id = :id"
_EXPERIMENT_5 = "UPDATE experiments SET backend = 'sandbox', controls = 'htcp cubic', words = ' old owner=ada backend=sandbox cc=htcp cc=cubic of before '"
_WORDS = {
    "a" * 20: f" {'a' * 20} old backend=sandbox cc=htcp kernel=6.12.1 seed=1 app ",
    "q" * 20: (
        f" {'q' * 20} old owner=ada backend=sandbox cc=cubic topology=dumbbell bandwidth=100mbit/s rtt=10ms"
        " kernel=6.12 seed=1 path.rtt=10ms cubic app noise "
    ),
}
ROWS["0005"] = [
    *ROWS["0004"],
    (_KNOWN_5, {"id": "a" * 20, "controls": "htcp", "utilisation": 0.5, "words": _WORDS["a" * 20]}),
    (_KNOWN_5, {"id": "q" * 20, "controls": "cubic", "utilisation": None, "words": _WORDS["q" * 20]}),
    (_PATH_5, {"id": "q" * 20}),
    (_EXPERIMENT_5, {}),
]
# An experiment counts each of its runs once.
_COUNTED_6 = "UPDATE experiment_runs SET counted = 'done' WHERE run_id = :id"
ROWS["0006"] = [*ROWS["0005"], (_COUNTED_6, {"id": "a" * 20})]
# The index of words.
_WORD_7 = "INSERT INTO words (word) VALUES (:word) ON CONFLICT (word) DO NOTHING"
_RUN_OF_WORD_7 = (
    "INSERT INTO run_words (word_id, created_at, run_id)"
    " SELECT words.id, runs.created_at, runs.id FROM words, runs WHERE words.word = :word AND runs.id = :id"
)
ROWS["0007"] = [
    *ROWS["0006"],
    *(
        (statement, {"id": run, "word": word} if "run_words" in statement else {"word": word})
        for run, line in _WORDS.items()
        for word in line.split()
        if word != run
        for statement in (_WORD_7, _RUN_OF_WORD_7)
    ),
]
# Numbers of results.
ROWS["0008"] = [
    *ROWS["0007"],
    ("UPDATE runs SET goodput_bps = 2.5, rtt_mean_ms = 20.0, loss_ratio = 0.25 WHERE id = :id", {"id": "a" * 20}),
    ("UPDATE words SET number = 10000 WHERE word = :word", {"word": "path.rtt=10ms"}),
]
# A link that shares a run.
_TOKEN_9 = (
    "INSERT INTO tokens (id, name, digest, scope, created_at) VALUES ('s', 'share-s', 'd', 'shared', '2026-01-01')"
)
_SHARE_9 = "INSERT INTO shares (token_id, owner, runs) VALUES ('s', 'ada', '[]')"
ROWS["0009"] = [*ROWS["0008"], (_TOKEN_9, {}), (_SHARE_9, {})]
# A title.
_ANNOTATION_10 = "INSERT INTO annotations (subject, title, tags, comment, changed_at) VALUES ('old', 'Of before', '[]', '', '2026-01-01')"
ROWS["0010"] = [*ROWS["0009"], (_ANNOTATION_10, {})]


def make_earlier(url: str, revision: str) -> None:
    """Make a database as that revision's version left it."""
    engine = sqlalchemy.create_engine(Database(url)._url)
    with engine.begin() as connection:
        config = _config()
        config.attributes["connection"] = connection
        command.upgrade(config, revision)
        for statement, values in ROWS[revision]:
            connection.execute(sqlalchemy.text(statement), values)
    engine.dispose()


def _words(database: Database) -> dict[str, str]:
    """The words by which lists find each run."""
    with database.read() as connection:
        return {row.id: row.words for row in connection.execute(sqlalchemy.text("SELECT id, words FROM runs"))}


@pytest.mark.parametrize("revision", EARLIER)
def test_every_earlier_database_is_migrated(url: str, revision: str) -> None:
    make_earlier(url, revision)
    database = Database(url)
    catalog = Catalog(database)
    assert catalog.document("a" * 20) == _kept("a" * 20)
    assert [row["id"] for row in catalog.page(10, Filter(status="missed"))] == ["b" * 20]
    assert numbers(database, "goodput_bps", "app") == [("a" * 20, 1.5)]
    row = catalog.run("a" * 20)
    assert row is not None
    assert (row["wall_s"], row["measured_by"], row["owner"], row["pinned"]) == (0.1, None, None, False)
    # Lists find the run by the fields that its rows have.
    assert [one["id"] for one in catalog.page(10, Filter(controls=("htcp",)))] == ["a" * 20]
    assert (row["controls"], row["utilisation"], row["jain"], row["rtt_us"]) == ("htcp", 0.5, None, None)
    # The results that lists show are those of the document.
    assert (row["goodput_bps"], row["rtt_mean_ms"], row["loss_ratio"]) == (2.5, 20.0, 0.25)
    words = _words(database)
    assert words["a" * 20] == _WORDS["a" * 20]
    # The index of words, the counts and the texts that runs share are filled.
    assert catalog.count(Filter(controls=("htcp",))) == 1
    assert (catalog.count(), catalog.by_status().get("missed")) == ((3 if revision > "0001" else 2), 1)
    if revision > "0001":
        (waits,) = catalog.page(10, Filter(rtt_us=10_000, owner="ada"))
        assert (waits["id"], waits["topology"], waits["controls"]) == ("q" * 20, "dumbbell", "cubic")
        (old,) = Experiments(database).page(10, Filter(controls=("htcp", "cubic"), backend="sandbox", text="before"))
        assert old["id"] == "old"
        assert words["q" * 20] == _WORDS["q" * 20]
        # Runs are sorted by a swept field, those without it last.
        by_field = catalog.ordered(10, order=read_order("point.path.rtt"))
        assert [(row["id"][0], place.value) for row, place in by_field] == [
            ("q", "path.rtt=10ms"), ("b", None), ("a", None),
        ]  # fmt: skip
        with database.read() as connection:
            number = sqlalchemy.text("SELECT number FROM words WHERE word = 'path.rtt=10ms'")
            assert connection.execute(number).scalar_one() == 10_000
        # A running experiment has counted its ended run, and waits for the other.
        with database.read() as connection:
            its = sqlalchemy.text("SELECT run_id, counted FROM experiment_runs WHERE experiment_id = 'old'")
            assert dict(connection.execute(its).all()) == {"a" * 20: "done", "q" * 20: None}
    # It works like a new database: a kept run is not run again, and deleting one deletes its rows.
    lab = Lab(url)
    lab.submit("e", ["a" * 20, "c"])
    # Waiting runs keep their place in the queue.
    assert lab.names(5) == (["c"] if revision < "0002" else ["q" * 20, "c"])
    catalog.remove(["a" * 20])
    assert numbers(database, "goodput_bps", "app") == []
    # Spans in Prometheus and earlier leases have tables.
    assert lab.spans.place("s", 1000, 10, 3600).end_ms < time.time() * 1000
    lease = lab.leases.get("root@lab")
    assert (lease is not None and (lease["holder"], lease["since_s"]) == ("ada", 0.0)) == (revision >= "0003")
    # An unsigned seed of 32 bits fits.
    lab.catalog.add("d", document("d") | {"seed": 2**32 - 1}, RUN)
    assert lab.catalog.page(1, Filter(status="done"))[0]["seed"] == 2**32 - 1
    assert lab.counted.all() == {"virtual_s": 3.0, "wall_s": 0.1}
    for one in (database, lab.database):
        one.close()


def test_a_new_database_has_todays_tables(url: str) -> None:
    database = Database(url)
    with database.read():
        pass
    engine = sqlalchemy.create_engine(database._url)
    found = sqlalchemy.inspect(engine)
    for table in METADATA.tables.values():
        columns = {column["name"]: column for column in found.get_columns(table.name)}
        assert set(columns) == set(table.columns.keys())
        for column in table.columns:
            assert columns[column.name]["nullable"] == column.nullable, f"{table.name}.{column.name}"
        assert {index["name"] for index in found.get_indexes(table.name)} >= {index.name for index in table.indexes}
    engine.dispose()
    database.close()


@pytest.mark.parametrize("revision", EARLIER)
def test_concurrent_opens_migrate_an_earlier_database_once(url: str, revision: str) -> None:
    make_earlier(url, revision)
    databases = [Database(url) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda one: Catalog(one).document("a" * 20), databases))
    assert found == [_kept("a" * 20)] * 8
    for one in databases:
        one.close()
