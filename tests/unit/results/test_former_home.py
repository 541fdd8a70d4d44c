"""The home of an earlier version: every run is listed, shown, compared, verified and exported as by that version.

Nothing in it is measured or run a second time. How it was recorded: tests/support/former.py.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.execution import evaluation, formulas
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.modules.content import content_files, content_hash
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.former import (
    MINE,
    PAIR,
    THEN,
    ask_command_line,
    recorded_answers,
    rows_of,
    same,
    unpack_home,
    with_module,
)

ANSWERS = recorded_answers()


class SameMachine:
    """A backend with the old programs, which never runs: every run is kept."""

    name = "sandbox"

    def __init__(self, store: Store) -> None:
        documents = [store.find(folder.name) for folder in (store.home / "runs").glob("*/*")]
        (self.programs_then,) = {
            (("kernel", one["identity"]["kernel"]), ("agent", one["identity"]["agent"]))
            for one in documents
            if one is not None
        }
        self.probe = next(one["identity"]["lh_trace"] for one in documents if one is not None)

    def check(self, run: Run) -> list[tuple[str, str]]:
        return []

    def identity(self, run: Run) -> dict[str, str]:
        return dict(self.programs_then) | {"lh_trace": self.probe}

    def programs(self, run: Run) -> dict[str, str]:
        return {}

    def artefacts(self, run: Run) -> dict[str, Path]:
        return {}

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return []

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        raise AssertionError(f"{run.title} is run again")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.setenv("LONGHAUL_HOME", str(unpack_home(tmp_path)))
    return Store(load_settings())


def plans() -> list[Plan]:
    """The plans of that time for each seed, compiled by today's code."""
    return [compile_plan(parse_experiment(PAIR | THEN), seed=seed) for seed in (1, 2)]


def contents(home: Path) -> dict[str, str]:
    """Every file of the kept runs, by its hash."""
    files = [file for folder in ("runs", "logs") for file in (home / folder).rglob("*") if file.is_file()]
    return {str(file.relative_to(home)): hashlib.sha256(file.read_bytes()).hexdigest() for file in files}


def test_the_command_line_answers_as_it_did(store: Store) -> None:
    then = ANSWERS["sqlite"]
    url = f"sqlite:///{store.home / 'catalogue.sqlite'}"
    rows, files = rows_of(url), contents(store.home)
    assert len(files) > 40

    def ask(*words: str) -> subprocess.CompletedProcess[str]:
        return longhaul(*words, home=store.home)

    now = ask_command_line(ask, then["failed"])
    assert list(same(then["command line"], now)) == []
    # Measuring a run again would have written its document anew.
    assert contents(store.home) == files
    assert rows_of(url) == rows


def test_a_report_and_a_gate_can_be_made_of_it(store: Store, tmp_path: Path) -> None:
    (pair, _) = (sorted(run_ids(plan, store)) for plan in plans())
    page = tmp_path / "page.html"
    assert longhaul("report", *pair, "-o", str(page), home=store.home).returncode == 0
    assert all(run in page.read_text() for run in pair)
    gated = longhaul("compare", *pair, "--for", "goodput(app)", "--json", home=store.home)
    assert json.loads(gated.stdout)["gated"] == 1, gated.stderr


def run_ids(plan: Plan, store: Store) -> list[str]:
    backend = SameMachine(store)
    return [run_id(run, backend.identity(run)) for run in plan.runs]


def test_todays_plan_of_an_experiment_has_the_old_run_ids(store: Store) -> None:
    """The id of a run is the same with the same programs, whatever machine builds them."""
    for plan in plans():
        for run, key in zip(plan.runs, run_ids(plan, store), strict=True):
            assert run.as_json() == store.manifest(key)["run"]


def test_every_kept_plan_reads_back_as_it_is(store: Store) -> None:
    kept = [folder.name for folder in (store.home / "runs").glob("*/*")]
    assert len(kept) == 5
    for key in kept:
        manifest = store.manifest(key)
        assert store.planned(key).as_json() == manifest["run"]
        assert run_id(store.planned(key), manifest["identity"]) == key
    (mine,) = (key for key in kept if store.manifest(key)["run"]["experiment"] == "former-mine-20")
    # The user-supplied module has the same hash, by which experiments name it.
    assert store.manifest(mine)["spec"]["modules"] == [f"sha256:{ANSWERS['module']}"]
    assert content_hash(content_files(MINE)) == ANSWERS["module"]


def test_the_same_experiment_is_answered_from_the_home(store: Store) -> None:
    documents = [one for plan in plans() for one in Pipeline(SameMachine(store), store).execute(plan)]
    assert [one["cached"] for one in documents] == [True] * 4
    assert [one["run"] for one in documents] == [key for plan in plans() for key in run_ids(plan, store)]


def test_nothing_is_measured_again_and_the_numbers_would_be_the_same(store: Store) -> None:
    """The second half checks the claim of SAME_FORMULAS."""
    for folder in (store.home / "runs").glob("*/*"):
        document = store.find(folder.name)
        assert document is not None
        assert formulas.is_current(document["measured_by"])
        again = evaluation._by_todays_formulas(document, store)
        assert again == document | {"measured_by": formulas.measured_by()}


def test_a_failed_run_has_its_log_and_nothing_else(store: Store) -> None:
    failed = ANSWERS["sqlite"]["failed"]
    assert store.has_failed_log(failed)
    assert "BUG: failure at ./tcp_mine.c:18/mine_init()!" in longhaul("log", failed, home=store.home).stdout


def test_an_experiment_with_a_module_is_the_same_run(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Compiling takes the module's source into the cache.
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path / "cache"))
    (kept,) = (one for one in store.home.glob("runs/*/*") if store.manifest(one.name)["identity"].get("tcp_mine"))
    for modules in (str(MINE), f"sha256:{ANSWERS['module']}"):
        (run,) = compile_plan(parse_experiment(with_module(modules, 20) | THEN)).runs
        assert run.as_json() == store.manifest(kept.name)["run"]
