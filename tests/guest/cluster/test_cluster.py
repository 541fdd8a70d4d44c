"""Runs on the workers of a real Dask cluster: the same numbers, and a dead process costs only its current runs."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.experiments import Experiments, Submission
from longhaul.orchestrator.database.work import Wanted
from longhaul.orchestrator.database.workers import Workers
from longhaul.orchestrator.execution import dispatch
from longhaul.orchestrator.execution.cluster.executor import DaskCluster
from longhaul.orchestrator.execution.dispatch import serve_dispatcher
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import load_experiment, parse_experiment
from longhaul.orchestrator.spec.user_code.module_sources import admit_sources, read_sources
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.supervise import Stop
from tests.support.guests import guests
from tests.support.own_controls import reno_folder
from tests.support.parts import DaskScheduler, DaskWorker, Part
from tests.support.waiting import wait_for

# A run of some seconds, so that there is time to interfere.
LONG = ("path.bandwidth=100 Mbit/s", "duration=250 s", "sample=10 ms")
# A run that never ends by itself.
ENDLESS = ("path.bandwidth=1 Gbit/s", "duration=1000 s", "sample=10 ms")

Row = dict[str, Any]


class Lab:
    """A home whose dispatcher sends runs to a cluster."""

    def __init__(self, folder: Path, settings: Settings) -> None:
        self.folder = folder
        self.scheduler = DaskScheduler(folder)
        self.settings = replace(settings, home=folder / "home", dask=self.scheduler.address)
        self.store = Store(self.settings)
        self.experiments = Experiments(self.store.database)
        self.desk = Desk(self.settings, self.store)
        self._parts: list[Part] = [self.scheduler]
        self.scheduler.start()

    def worker(self, name: str = "worker", slots: int = 1, cache: Path | None = None) -> DaskWorker:
        worker = DaskWorker(self.folder, self.scheduler.address, slots, cache or self.settings.cache, name)
        self._parts.append(worker)
        worker.start()
        return worker

    def close(self) -> None:
        for part in reversed(self._parts):
            part.stop()

    @contextmanager
    def dispatching(self) -> Iterator[None]:
        stop = Stop()
        thread = threading.Thread(target=serve_dispatcher, args=(self.settings, stop))
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def submit(self, *changes: str, repeats: int = 1, seed: int = 1) -> str:
        return self.desk.submit(Request(shipped="quick", changes=changes, repeats=repeats, seed=seed), "tester")

    def events(self, experiment: str, kind: str) -> list[Row]:
        log = EventLog(self.store.database).of_experiment(experiment, 0, 100_000)
        return [event for event in log if event["kind"] == kind]

    def finish(self, experiment: str) -> Row:
        wait_for(lambda: self.experiments.get(experiment)["status"] not in ("queued", "running"))
        return self.experiments.get(experiment)

    def wait_for_progress(self, experiment: str, times: int = 1) -> None:
        wait_for(lambda: len(self.events(experiment, "run.progress")) >= times)

    def wait_for_attempt(self, experiment: str, number: int) -> None:
        def begun() -> bool:
            return len(self.events(experiment, "run.started") + self.events(experiment, "run.retried")) >= number

        wait_for(begun)

    def guests(self) -> list[int]:
        """Processes that work in a worker's staging folder."""
        return guests(self.folder)


@pytest.fixture
def lab(tmp_path: Path, settings: Settings) -> Iterator[Lab]:
    with ExitStack() as stack:
        lab = Lab(tmp_path, settings)
        stack.callback(lab.close)
        yield lab


def test_an_empty_worker_gets_the_artefacts_of_a_run(lab: Lab, pipeline: Pipeline, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    lab.worker(cache=cache)
    with lab.dispatching():
        experiment = lab.submit("flows.app.cc=htcp", repeats=2)
        assert lab.finish(experiment)["status"] == "done"
        cached = {file.name: file.stat().st_ino for file in (cache / "artefacts").iterdir()}
        # Agent, kernel, its manifest and configuration, the probe, the congestion control, the link's queue, each under the hash of its content.
        assert len(cached) == 8
        assert lab.finish(lab.submit("flows.app.cc=htcp", seed=7))["status"] == "done"
    assert {file.name: file.stat().st_ino for file in (cache / "artefacts").iterdir()} == cached
    here = pipeline.execute(compile_plan(load_experiment("quick", ["flows.app.cc=htcp"]), repeats=2))
    there = lab.experiments.documents(experiment)
    assert [one["trace_sha256"] for one in there] == [one["trace_sha256"] for one in here]
    for one in there:
        assert lab.store.find(one["run"]) is not None
        assert lab.store.trace(one["run"]).acks.tobytes() == pipeline.store.trace(one["run"]).acks.tobytes()


def test_an_empty_worker_gets_a_control_that_replaces_the_kernels(lab: Lab, pipeline: Pipeline, tmp_path: Path) -> None:
    """The worker has the renamed object, and neither its source nor the kernel's headers."""
    source, files = read_sources(str(reno_folder(tmp_path / "mine")))
    admit_sources(files, source, lab.settings.cache)
    spec = {
        "experiment": "replaced",
        "path": {"bandwidth": "10 Mbit/s", "rtt": "20 ms"},
        "modules": [f"sha256:{source}", {"from": f"sha256:{source}", "as": "mine"}],
        "flows": [{"name": "one", "cc": "reno"}, {"name": "two", "cc": "mine"}],
        "duration": "2 s",
    }
    lab.worker(cache=tmp_path / "cache")
    desk = Desk(replace(lab.settings, user_code=True), lab.store)
    with lab.dispatching():
        experiment = desk.submit(Request(spec=spec), "tester", trusted=True)
        assert lab.finish(experiment)["status"] == "done"
    (there,) = lab.experiments.documents(experiment)
    (here,) = pipeline.execute(compile_plan(parse_experiment(spec)))
    assert (there["run"], there["trace_sha256"]) == (here["run"], here["trace_sha256"])
    assert not (tmp_path / "cache" / "own").exists()


def test_workers_are_listed_and_removed_with_their_dispatcher(lab: Lab) -> None:
    workers = Workers(lab.store.database)
    lab.worker(slots=2)
    with lab.dispatching():
        wait_for(lambda: len(workers.all()) == 1)
        (worker,) = workers.all()
        assert worker["name"].startswith("tcp://127.0.0.1:")
        assert (worker["slots"], worker["there"], worker["machine"]) == (2, True, socket.gethostname())
        assert {"sandbox", "programs", "alone"} <= set(worker["needs"])
    assert workers.all() == []


def test_a_worker_killed_mid_run_costs_only_its_current_runs(lab: Lab) -> None:
    workers = [lab.worker("first"), lab.worker("second")]
    for worker in workers:
        worker.wait_for_output("slots at")
    with lab.dispatching():
        experiment = lab.submit(*LONG, repeats=2)
        wait_for(lambda: len({event["run_id"] for event in lab.events(experiment, "run.progress")}) == 2)
        workers[0].kill_child()
        ended = lab.finish(experiment)
    assert ended["done"] == 2
    assert len(lab.events(experiment, "run.finished")) == 2
    (back,) = [event for event in lab.events(experiment, "run.queued") if "why" in event["data"]]
    assert "is gone" in back["data"]["why"]
    (again,) = lab.events(experiment, "run.retried")
    assert (again["run_id"], again["data"]["attempt"]) == (back["run_id"], 2)
    assert workers[0].log().count("slots at") == 2, "the worker must restart by itself"
    assert lab.guests() == []


def test_a_run_that_takes_every_worker_with_it_fails_as_lost(lab: Lab) -> None:
    worker = lab.worker()
    with lab.dispatching():
        experiment = lab.submit(*ENDLESS)
        for life in range(5):
            lab.wait_for_attempt(experiment, life + 1)
            lab.wait_for_progress(experiment, len(lab.events(experiment, "run.progress")) + 1)
            worker.kill_child()
        assert lab.finish(experiment)["failed"] == 1
    (document,) = lab.experiments.documents(experiment)
    assert document["error"]["error"] == "WorkerLost"
    assert [event["data"]["attempt"] for event in lab.events(experiment, "run.retried")] == [2, 3, 4, 5]


def test_cancelling_ends_the_guest_at_once(lab: Lab) -> None:
    lab.worker()
    with lab.dispatching():
        experiment = lab.submit(*ENDLESS)
        lab.wait_for_progress(experiment)
        assert lab.guests()
        lab.experiments.cancel(experiment)
        wait_for(lambda: not lab.guests())
        assert lab.finish(experiment)["cancelled"] == 1
        # The slot is free again.
        assert lab.finish(lab.submit())["done"] == 1


def test_a_scheduler_that_dies_gives_its_runs_back(lab: Lab) -> None:
    worker = lab.worker()
    with lab.dispatching():
        experiment = lab.submit(*LONG)
        lab.wait_for_progress(experiment)
        lab.scheduler.kill()
        wait_for(lambda: not lab.guests())
        lab.scheduler.start()
        assert lab.finish(experiment)["done"] == 1
    worker.wait_for_output("slots at", times=2)
    (why, *_) = [event["data"]["why"] for event in lab.events(experiment, "run.queued") if "why" in event["data"]]
    assert "the scheduler is gone" in why or "did not respond" in why
    attempts = {event["data"]["attempt"] for event in lab.events(experiment, "run.started")}
    assert attempts == {1}, "the death of the scheduler is not an attempt of the run"
    assert lab.events(experiment, "run.retried") == []


def test_a_dispatcher_that_dies_leaves_no_guest_and_loses_no_run(lab: Lab) -> None:
    lab.worker()
    environment = {"LONGHAUL_HOME": str(lab.settings.home), "LONGHAUL_DASK": lab.scheduler.address}
    dispatcher = Part(
        "dispatcher", [sys.executable, "-m", "longhaul.orchestrator.execution.dispatch"], lab.folder, environment
    )
    experiment = lab.submit(*LONG)
    dispatcher.start()
    try:
        lab.wait_for_progress(experiment)
        dispatcher.kill()
        wait_for(lambda: not lab.guests())
        dispatcher.start()
        assert lab.finish(experiment)["done"] == 1
    finally:
        dispatcher.stop()
    assert len(lab.events(experiment, "run.finished")) == 1


def test_a_run_without_a_suitable_worker_waits_and_reports_it_once(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.worker()
    with lab.dispatching():
        assert lab.finish(lab.submit(seed=9))["done"] == 1
    monkeypatch.setattr(dispatch, "_UNPLACED_S", 3.0)
    run = compile_plan(load_experiment("quick")).runs[0]
    wanted = Wanted("f" * 20, run.as_json(), {}, "root")
    rows: Row = {"lint": [], "asked": {}, "spec": {}, "asked_sha256": "", "idempotency_key": None}
    experiment = lab.experiments.submit(
        Submission(id="e", name="quick", about="", owner="me", priority=0, aggregate="mean", runs=[wanted], **rows)
    )
    with lab.dispatching():
        wait_for(lambda: bool(lab.events(experiment, "run.unplaced")))
        # Other runs are not blocked by it.
        assert lab.finish(lab.submit())["done"] == 1
        time.sleep(3)
    (event,) = lab.events(experiment, "run.unplaced")
    assert "sandbox" in event["data"]["why"]
    assert lab.experiments.get(experiment)["status"] == "queued"


def test_a_run_is_placed_on_a_worker_with_its_programs(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker started by Dask itself announces only slots; one started by Longhaul has Mininet too."""
    monkeypatch.setattr(dispatch, "_UNPLACED_S", 0.5)
    arguments = [lab.scheduler.address, "--no-nanny", "--nthreads", "1", "--no-dashboard", "--resources", "sandbox=1"]
    environment = {"LONGHAUL_HOME": str(lab.folder / "plain"), "LONGHAUL_CACHE": str(lab.settings.cache)}
    plain = Part("plain", [str(Path(sys.executable).parent / "dask"), "worker", *arguments], lab.folder, environment)
    plain.start()
    try:
        with lab.dispatching():
            assert lab.finish(lab.submit())["done"] == 1
            experiment = lab.desk.submit(Request(shipped="quick", backend="mininet", where="guest"), "tester")
            wait_for(lambda: bool(lab.events(experiment, "run.unplaced")))
            assert "Mininet" in lab.events(experiment, "run.unplaced")[0]["data"]["why"]
            assert lab.finish(lab.submit(seed=9))["done"] == 1
            lab.worker("longhaul")
            assert lab.finish(experiment)["done"] == 1
    finally:
        plain.stop()


def test_only_the_single_worker_of_a_machine_offers_it_exclusively(lab: Lab) -> None:
    first = lab.worker("first", slots=2)
    with DaskCluster(lab.settings, lab.store, lab.scheduler.address) as cluster:
        assert not cluster.room("sandbox")
        wait_for(lambda: "alone" in cluster.needs)
        assert cluster.room("alone")
        lab.worker("second")
        wait_for(lambda: "alone" not in cluster.needs and cluster.room("sandbox"))
        os.kill(first.pid, signal.SIGTERM)
        wait_for(lambda: "alone" in cluster.needs)


def test_a_worker_that_is_stopped_while_it_starts_leaves_nothing(lab: Lab) -> None:
    """At the moment that its staging folder appears, it does not have a connection to the scheduler yet."""
    worker = lab.worker()
    staging = lab.folder / "worker-home/staging"
    while not list(staging.glob("*/lock")):
        time.sleep(0.001)
    worker.stop()
    assert [entry.name for entry in staging.iterdir()] == [".lock"]


def test_the_backends_agree_on_the_programs_of_a_machine(settings: Settings) -> None:
    """An identity consists of artefacts and programs of the machine."""
    for backend, tool in (("sandbox", "lh-flow"), ("sandbox", "iperf3"), ("mininet", "lh-flow"), ("mininet", "iperf3")):
        run = compile_plan(
            load_experiment("quick", [f"flows.app.tool={tool}", "flows.app.cc=htcp"]),
            backend=backend,
            where="guest" if backend == "mininet" else None,
        ).runs[0]
        place = open_backend(backend, settings)
        artefacts = {"kernel", "agent", "lh_trace", "tcp_htcp", "sch_lh_link"}
        assert set(place.identity(run)) == artefacts | set(place.programs(run))
        assert {Path(name).stem for name in place.artefacts(run)} == {
            "agent",
            "linux",
            "manifest",
            "config",
            "lh_trace",
            "lh_wire",
            "tcp_htcp",
            "sch_lh_link",
        }
