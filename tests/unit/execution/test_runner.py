"""A machine without a database runs a run like one with a store."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.execution.kept_answers import answer_from_store
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.execution.runner import Runner
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.outbox import Outbox
from longhaul.orchestrator.results.run_sink import RunSink
from longhaul.orchestrator.results.seals import MANIFEST
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendError, GuestDied
from longhaul.orchestrator.system.settings import Settings
from tests.support.recordings import RUNS, recorded


class Recorded:
    """A backend whose guest leaves a recorded guest's files, or dies."""

    name = "sandbox"

    def __init__(self, *, dies: bool = False) -> None:
        self.dies = dies
        self.runs = 0

    def check(self, run: Run) -> list[tuple[str, str]]:
        return []

    def identity(self, run: Run) -> dict[str, str]:
        return {"kernel": "k"}

    def programs(self, run: Run) -> dict[str, str]:
        return {}

    def artefacts(self, run: Run) -> dict[str, Path]:
        return {}

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return [directory / "trace.bin"]

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        self.runs += 1
        progress(0)
        shutil.copytree(RUNS / "lossy_pair", directory, dirs_exist_ok=True)
        if self.dies:
            raise GuestDied(run.experiment, "panic", "it died")
        return Cost(1.0, 1.0, 1)


def run_into(sink: RunSink, backend: Recorded) -> RunDocument:
    run, _, _ = recorded("lossy_pair")
    with Staging(sink.home) as staging:
        return Runner(backend, sink).run(run, {"experiment": run.experiment}, staging, lambda virtual_ns: None)


def test_an_outbox_holds_the_files_that_a_store_keeps(settings: Settings, tmp_path: Path) -> None:
    outbox, backend = Outbox(settings), Recorded()
    document = run_into(outbox, backend)
    assert not (settings.home / "catalogue.sqlite").exists()
    assert not (settings.home / "runs").exists()
    store = Store(settings)
    assert run_into(store, backend) == document
    folder = store.directory(document["run"])
    kept = {file.relative_to(folder).as_posix(): file.read_bytes() for file in folder.rglob("*") if file.is_file()}
    assert outbox.files == kept
    store.database.close()


def test_a_machine_without_a_database_takes_no_hosts(settings: Settings) -> None:
    with pytest.raises(BackendError, match="a machine without the database cannot find out which hosts are free"):
        _ = Outbox(settings).leases


def test_the_log_of_a_dead_guest_is_stored_for_the_machine_that_keeps_it(settings: Settings) -> None:
    outbox = Outbox(settings)
    with pytest.raises(GuestDied) as raised:
        run_into(outbox, Recorded(dies=True))
    assert outbox.last_log == (RUNS / "lossy_pair" / "log.txt").read_bytes()
    assert raised.value.hint == ""
    assert outbox.files == {}


def test_a_kept_run_is_reused_and_a_damaged_one_run_again(settings: Settings) -> None:
    store, backend = Store(settings), Recorded()
    document = run_into(store, backend)
    assert answer_from_store(document["run"], store) == document | {"cached": True}
    assert answer_from_store("f" * 20, store) is None
    (store.directory(document["run"]) / MANIFEST).write_text("{")
    assert answer_from_store(document["run"], store) is None
    assert run_into(store, backend)["run"] == document["run"]
    assert answer_from_store(document["run"], store) == document | {"cached": True}
    # A rerun reads no store.
    run, _, _ = recorded("lossy_pair")
    assert Pipeline(backend, store).rerun(run, {})["run"] == document["run"]
    assert backend.runs == 3
    store.database.close()
