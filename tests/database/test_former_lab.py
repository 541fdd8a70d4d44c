"""The service with a database of an earlier version, in PostgreSQL and in SQLite: its responses, tokens, baselines and queue.

How it was recorded: tests/support/former.py.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.execution.kept_answers import answer_from_store
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.settings import load_settings
from tests.support.former import (
    NO_SCHEDULER,
    PAIR,
    THEN,
    WAITING_SEED,
    ask_service,
    recorded_answers,
    restore_record,
    rows_of,
    same,
    serving,
    unpack_home,
)
from tests.support.parts import Postgres
from tests.support.service import ROOT, Service

ANSWERS = recorded_answers()
_NUMBERS = itertools.count()


@dataclass(frozen=True)
class FormerLab:
    """Its home, its database and its responses; `seed` is that of the runs in its database."""

    home: Path
    url: str
    then: dict[str, Any]
    settings: dict[str, str]
    seed: int

    def service(self, **more: str) -> Service:
        """Today's service with the old tokens."""
        return Service(self.home, self.settings | more, tokens=dict(self.then["tokens"]))


@pytest.fixture(params=["postgresql", "sqlite"])
def lab(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[FormerLab]:
    home, then = unpack_home(tmp_path), ANSWERS[request.param]
    if request.param == "sqlite":
        yield FormerLab(home, f"sqlite:///{home / 'catalogue.sqlite'}", then, {}, seed=2)
        return
    (home / "catalogue.sqlite").unlink()
    postgres: Postgres = request.getfixturevalue("postgres")
    url = postgres.create(f"former{next(_NUMBERS)}")
    restore_record(url)
    yield FormerLab(home, url, then, {"LONGHAUL_DATABASE": url}, seed=1)


def test_the_service_answers_as_it_did_and_changes_nothing(lab: FormerLab) -> None:
    before = rows_of(lab.url)
    with serving(lab.service(**NO_SCHEDULER)) as service:
        now = ask_service(service)
        assert list(same(lab.then["answers"], now)) == []
        assert now.keys() == lab.then["answers"].keys()
        tokens = lab.then["tokens"]
        for name, scope in (("read", "read"), ("run", "run"), ("gate", "gate"), ("admin", "admin")):
            with service.as_token(tokens[name]) as caller:
                assert caller.get(f"{ROOT}/session").json()["scope"] == scope
        if "gone" in tokens:
            with service.as_token(tokens["gone"]) as revoked:
                assert revoked.get(f"{ROOT}/runs").status_code == 401
        with service.client("read") as reader:
            assert reader.post(f"{ROOT}/experiments", json={"spec": PAIR}).status_code == 403
    assert rows_of(lab.url) == before


def ids_here(seed: int) -> list[str]:
    """The ids that the runs of this seed have with the programs of this machine."""
    backend = Sandbox(load_settings())
    plan = compile_plan(parse_experiment(PAIR | THEN), seed=seed)
    return [run_id(run, backend.identity(run)) for run in plan.runs]


def run_ids(experiment: Mapping[str, Any]) -> list[str]:
    return [href.rpartition("/")[2] for href in experiment["runs"]]


def test_kept_runs_are_answered_and_waiting_runs_are_run(lab: FormerLab) -> None:
    """With the old programs nothing is queued again; a machine with other programs gives runs other ids (see the test with guests)."""
    before = rows_of(lab.url)
    kept = {row["id"] for row in lab.then["answers"]["/runs"][1]["items"] if row["status"] == "done"}
    waiting = lab.then.get("waiting")
    with serving(lab.service()) as service:
        made = service.submit({"spec": PAIR | THEN, "seed": lab.seed})
        assert run_ids(made) == ids_here(lab.seed)
        assert made["progress"]["cached"] == len(kept & set(run_ids(made)))
        assert service.wait(made["id"])["status"] == "done"
        with service.client("read") as reader:
            baseline = reader.get(f"{ROOT}/baselines/{PAIR['experiment']}/main").json()["experiment_id"]
            sides = {"a": baseline, "b": made["id"], "gate": "goodput(app)"}
            compared = reader.get(f"{ROOT}/comparisons", params=sides).json()
        assert compared["ok"], compared
        if waiting is not None:
            ended = service.wait(waiting)
            # On other machines its runs fail with the error that they were queued with other programs.
            assert ended["status"] == ("done" if run_ids(ended) == ids_here(WAITING_SEED) else "failed")
    after = rows_of(lab.url)
    assert after["work"] == []
    mine = {waiting, *(row[0] for row in before["work"])}
    gone = {
        table: [row for row in rows if row not in after[table] and mine.isdisjoint(row)]
        for table, rows in before.items()
    }
    assert {table: rows for table, rows in gone.items() if rows} == {}


def test_another_database_of_the_same_home_adopts_its_runs(lab: FormerLab, tmp_path: Path) -> None:
    """The folders alone are enough: runs that a database does not have are adopted and not run again."""
    url = f"sqlite:///{tmp_path / 'new.sqlite'}"
    store = Store(replace(load_settings(), home=lab.home, database=url))
    for folder in lab.home.glob("runs/*/*"):
        document = answer_from_store(folder.name, store)
        assert document is not None
        assert document["cached"]
    assert len(store.list_runs(10)) == 5
    store.database.close()
