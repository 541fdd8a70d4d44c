"""Nothing is lost, nothing is done twice: runs continue while every process that runs them is killed, again and again.

    API, dispatcher, a worker, the scheduler, PostgreSQL: kill -9 in an order drawn from a seed, each started again at once.
    A kill comes after a drawn number of runs has ended; some kills coincide.

In the end the database has every run once, with the trace of an undisturbed pass.
"""

from __future__ import annotations

import json
import random
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.access.tokens import Access
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.work import Work
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.results.traces import ALWAYS_KEPT
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.support.guests import command_of, guests
from tests.support.parts import DaskScheduler, DaskWorker, Part, Postgres, Service

# Runs of one submission.
_REPEATS = 10
# Longer than the whole test takes on the busiest machine.
_PATIENCE_S = 1500.0


@dataclass(frozen=True)
class Options:
    runs: int
    kills: int
    seed: int


@pytest.fixture
def options(request: pytest.FixtureRequest) -> Options:
    return Options(*(request.config.getoption(name) for name in ("--chaos-runs", "--kills", "--chaos-seed")))


class Lab:
    """Every process of a lab on one machine, and the ways to kill each."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.postgres = Postgres(folder)
        self.scheduler = DaskScheduler(folder)
        here = load_settings()
        self.settings: Settings = replace(
            here, home=folder / "home", database=self.postgres.url(), dask=self.scheduler.address
        )
        self.workers = [DaskWorker(folder, self.scheduler.address, 1, here.cache, f"worker{n}") for n in range(2)]
        environment = {
            "LONGHAUL_HOME": str(self.settings.home),
            "LONGHAUL_DATABASE": self.settings.database,
            "LONGHAUL_DASK": self.settings.dask,
        }
        self.service = Service(folder, environment)
        self.parts: list[Part] = [self.postgres, self.scheduler, *self.workers, self.service]
        self.kills: dict[str, Callable[[random.Random], None]] = {
            "api": lambda chance: self._again(self.service),
            "dispatcher": lambda chance: self.service.kill_dispatcher(),
            "worker": self._kill_worker,
            "scheduler": lambda chance: self._again(self.scheduler),
            "postgres": lambda chance: self._again(self.postgres),
        }

    def start(self) -> None:
        for part in self.parts:
            part.start()

    def stop(self) -> None:
        for part in reversed(self.parts):
            part.stop()

    def _kill_worker(self, chance: random.Random) -> None:
        """Kill the process that runs the runs, or its watcher."""
        worker = chance.choice(self.workers)
        if chance.random() < 0.5:
            worker.kill_child()
        else:
            self._again(worker)

    @staticmethod
    def _again(part: Part) -> None:
        part.kill()
        part.start()

    def left_behind(self) -> list[bytes]:
        """The commands of processes that are still running in a folder of this lab."""
        return [command_of(process) for process in guests(self.folder)]


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[Lab]:
    lab = Lab(tmp_path)
    with ExitStack() as stack:
        stack.callback(lab.stop)
        lab.start()
        yield lab


def undisturbed(options: Options, settings: Settings, folder: Path) -> dict[str, str]:
    """The same runs without kills: run id -> hash of its trace."""
    settings = replace(settings, home=folder, database="", dask="")
    plan = compile_plan(load_experiment("quick"), seed=options.seed * 1000, repeats=options.runs)
    documents = Pipeline(open_backend("sandbox", settings), Store(settings)).execute(plan, jobs=2)
    return {document["run"]: document["trace_sha256"] for document in documents}


class Client(threading.Thread):
    """Submits experiments while others run, and repeats each request, with the same key, until the service responds."""

    def __init__(self, lab: Lab, token: str, options: Options) -> None:
        super().__init__(daemon=True)
        self._lab, self._token, self._options = lab, token, options
        self.ids: list[str] = []
        self.refusals = 0
        self.ended = 0

    def run(self) -> None:
        for first in range(0, self._options.runs, _REPEATS):
            while first - self.ended > 2 * _REPEATS:
                time.sleep(0.05)
            self.ids.append(self._submit(self._options.seed * 1000 + first))

    def _submit(self, seed: int) -> str:
        body = json.dumps({"shipped": "quick", "repeats": _REPEATS, "seed": seed}).encode()
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        while True:
            request = urllib.request.Request(
                f"{self._lab.service.url}/api/v1/experiments", body, headers | {"Idempotency-Key": f"chaos-{seed}"}
            )
            try:
                with urllib.request.urlopen(request, timeout=20) as answer:
                    return str(json.load(answer)["id"])
            except OSError:
                self.refusals += 1
                time.sleep(0.2)


def ended(experiments: Experiments) -> int:
    """How many runs have ended; the last known number while the database is unreachable."""
    return sum(row["done"] + row["missed"] + row["failed"] for row in experiments.page(1000))


def test_every_run_ends_exactly_once_despite_kills(lab: Lab, options: Options, tmp_path: Path) -> None:
    peace = undisturbed(options, lab.settings, tmp_path / "peace")
    assert len(peace) == options.runs
    store = Store(lab.settings)
    experiments = Experiments(store.database)
    lab.service.wait_until_ready()
    token, _ = Access(store.database).add_token("chaos", "run")
    chance = random.Random(options.seed)
    order = [name for _ in range(options.kills // len(lab.kills) + 1) for name in lab.kills][: options.kills]
    chance.shuffle(order)
    moments = sorted(chance.randrange(options.runs * 9 // 10) for _ in order)

    begun = time.monotonic()
    client = Client(lab, token, options)
    client.start()
    killed: list[str] = []
    known = 0
    while not (len(killed) == len(order) and known == options.runs):
        assert time.monotonic() - begun < _PATIENCE_S, f"{known} of {options.runs} runs ended after {killed}"
        with suppress(ResultsError):
            known = client.ended = ended(experiments)
        if len(killed) < len(order) and known >= moments[len(killed)]:
            name = order[len(killed)]
            killed.append(name)
            lab.kills[name](chance)
        time.sleep(0.05)
    client.join()
    took_s = time.monotonic() - begun
    given_back = sum("why" in event["data"] for event in EventLog(store.database).after(0, 1_000_000))
    print(
        f"{options.runs} runs, {len(killed)} kills ({dict(Counter(killed))}), seed {options.seed}: {took_s:.0f} s,"
        f" {given_back} runs given back, {client.refusals} submissions repeated"
    )
    assert given_back > 0, "no claim was given back"
    check_database(store, client.ids, peace)
    store.database.close()
    lab.stop()
    assert lab.left_behind() == []
    for home in (lab.settings.home, *tmp_path.glob("worker*-home")):
        assert [entry.name for entry in (home / "staging").iterdir() if entry.name != ".lock"] == []


def check_database(store: Store, ids: list[str], peace: dict[str, str]) -> None:
    """The database has every run exactly once, complete and equal to the undisturbed pass, and nothing else."""
    experiments, events = Experiments(store.database), EventLog(store.database)
    assert sorted(row["id"] for row in experiments.page(1000)) == sorted(ids), "a key submits once"
    assert len(ids) == len(peace) // _REPEATS
    documents = [one for key in ids for one in experiments.documents(key)]
    assert [one.get("error") for one in documents if "error" in one] == []
    assert {one["run"]: one["trace_sha256"] for one in documents} == peace
    assert len(documents) == len(peace)
    for key in ids:
        row = experiments.get(key)
        assert row["done"] + row["missed"] == row["total"] == _REPEATS
    log = events.after(0, 1_000_000)
    ends = Counter(event["run_id"] for event in log if event["kind"] == "run.finished")
    assert ends == dict.fromkeys(peace, 1)
    assert sum(event["kind"] == "experiment.finished" for event in log) == len(ids)
    assert Work(store.database).waiting()[0] == 0
    kept = {folder.name for folder in (store.home / "runs").glob("*/*")}
    assert kept == set(peace)
    whole = {"manifest.json", "log.txt", *ALWAYS_KEPT}
    for run_id in peace:
        assert {file.name for file in store.directory(run_id).iterdir()} == whole
        assert store.manifest(run_id)["document"]["trace_sha256"] == peace[run_id]
        assert len(store.trace(run_id).acks) > 0
