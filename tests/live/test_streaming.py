"""Runs stream to a real Prometheus while they are running: all samples, in order, never in the future, from every kind of runner."""

from __future__ import annotations

import itertools
import json
import math
import os
import statistics
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.counters import Counts, Export
from longhaul.orchestrator.database.experiments import Experiments
from longhaul.orchestrator.database.prometheus_spans import Spans
from longhaul.orchestrator.execution.dispatch import serve_dispatcher
from longhaul.orchestrator.execution.path_twin import run_twin
from longhaul.orchestrator.execution.pipeline import Pipeline, Watcher
from longhaul.orchestrator.execution.request import Request
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.live.metrics import RUN_METRICS
from longhaul.orchestrator.live.moments import CHANGE
from longhaul.orchestrator.live.run_export import open_live
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import PrometheusExport, RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.results.traces import read_traces, write_traces
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.supervise import Stop
from longhaul.orchestrator.trace.records import read_trace
from tests.live.conftest import expected, samples_in
from tests.live.prometheus import PrometheusServer
from tests.mininet.bare import bare_run
from tests.support.command import longhaul
from tests.support.guests import experiment
from tests.support.parts import DaskScheduler, DaskWorker
from tests.support.waiting import wait_for

RUN_ID = "0123456789abcdef0123"
CWND = "longhaul_flow_cwnd_packets"
# The greatest age of the newest sample, if a process has a processor for itself.
_YOUNG_S = 2.0
FOUR = [{"name": f"flow{number}", "cc": "cubic"} for number in range(4)]


def run_plan(
    lab: Settings, plan: Plan, watcher: Watcher | None = None, *, until_sent: bool = False
) -> list[RunDocument]:
    """Run a plan as `longhaul run` does; with `until_sent` as the service does, whose export updates kept runs after all is sent."""
    store = Store(lab)
    live = open_live(lab, store)
    assert live is not None
    with live:
        pipeline = Pipeline(open_backend(plan.runs[0].backend, lab), store, live=live, watcher=watcher or Watcher())
        documents = pipeline.execute(plan)
        if until_sent:
            wait_for(lambda: all(store.get(one["run"])["prometheus"]["waiting"] == 0 for one in documents), 60)
            documents = [store.get(one["run"]) for one in documents]
        return documents


def staged(lab: Settings) -> str:
    """The id of the only running run."""
    (folder,) = (lab.home / "staging").glob("*/*-*")
    return folder.name.split("-")[0]


def series_are_there(lab: Settings, prometheus: PrometheusServer, document: RunDocument) -> int:
    """Compare values and times of every series bit by bit with the kept trace, and return the trace's number of samples."""
    placed = document["prometheus"]
    wanted, count = expected(Store(lab), document["run"])
    found = prometheus.stored(document["run"], placed["begin_ms"], placed["end_ms"] + placed["resolution_ms"])
    assert found.keys() == wanted.keys()
    for labels, samples in wanted.items():
        assert [at for at, _ in found[labels]] == [at for at, _ in samples], dict(labels)
        assert found[labels] == samples, dict(labels)
    return count


def all_is_there(lab: Settings, prometheus: PrometheusServer, document: RunDocument) -> None:
    """Compare all series, and check the document's counts: all sent, none waiting, none refused."""
    count, placed = series_are_there(lab, prometheus, document), document["prometheus"]
    assert (placed["samples"], placed["waiting"], placed["refused"]) == (count, 0, 0)


@pytest.mark.parametrize("back", ["while it is running", "when it is kept"])
def test_sixty_seconds_of_four_flows_survive_a_kill_of_prometheus(
    lab: Settings, prometheus: PrometheusServer, back: str
) -> None:
    """A minute of virtual time: Prometheus is killed when it has the first samples, and started again."""
    plan = compile_plan(experiment(flows=FOUR, duration="60 s", path={"bandwidth": "50 Mbit/s"}))
    killed = threading.Event()
    waiting: list[int] = []

    def at(index: int, virtual_ns: int) -> None:
        if virtual_ns > 10e9 and not killed.is_set():
            killed.set()
            prometheus.kill()
            if back == "while it is running":
                threading.Timer(1.0, prometheus.start).start()

    def finished(index: int, document: RunDocument) -> None:
        waiting.append(document["prometheus"]["waiting"])
        if back == "when it is kept":
            prometheus.start()

    (document,) = run_plan(lab, plan, Watcher(progress=at, finished=finished), until_sent=True)
    assert killed.is_set()
    assert document["status"] == "done"
    assert waiting[0] > 0 or back == "while it is running"
    assert not list((lab.home / "spool").glob("*/*.rw"))
    all_is_there(lab, prometheus, document)


def test_a_guests_samples_arrive_within_two_seconds(lab: Settings, prometheus: PrometheusServer) -> None:
    """In the sandbox: at any moment of a run, all that its agent wrote two seconds before is in Prometheus."""
    flows = [*FOUR, *({"name": f"more{number}", "cc": "reno"} for number in range(4))]
    plan = compile_plan(experiment(flows=flows, duration="200 s", path={"bandwidth": "100 Mbit/s"}))
    spans = Spans(Store(lab).database)
    written: list[tuple[float, int]] = []
    oldest_missing_s: list[float] = []
    crowd = Crowd()

    def at(index: int, virtual_ns: int) -> None:
        crowd.look()
        written.append((time.monotonic(), virtual_ns))
        run_id = staged(lab)
        span = spans.of(run_id)
        assert span is not None
        found = prometheus.query(
            f'max(timestamp({CWND}{{run="{run_id}"}}))', at_s=span.begin_ms / 1000 + virtual_ns / 1e9
        )
        there_ns = float(found[0]["value"][1]) * 1e9 - span.begin_ms * 1e6 if found else -1.0
        now_s = time.monotonic()
        # The last cell is still open.
        missing = [now_s - at_s for at_s, ns in written if ns - 20e6 > there_ns]
        oldest_missing_s.append(max(missing, default=0.0))

    (document,) = run_plan(lab, plan, Watcher(progress=at), until_sent=True)
    assert document["status"] == "done"
    assert len(oldest_missing_s) >= 5
    assert max(oldest_missing_s) < _YOUNG_S * crowd.share
    print(f"oldest missing {max(oldest_missing_s):.2f} s over {len(oldest_missing_s)} looks")
    all_is_there(lab, prometheus, document)


class Crowd:
    """The number of processes that share a processor during a test: the age of samples depends on them too."""

    def __init__(self) -> None:
        self._runnable: list[int] = []

    def look(self) -> None:
        """Count the runnable processes."""
        self._runnable.append(int(Path("/proc/loadavg").read_text().split()[3].partition("/")[0]))

    @property
    def share(self) -> float:
        """The factor by which a process is slower than alone: 1 on an idle machine."""
        processors = len(os.sched_getaffinity(0))
        return max(1.0, statistics.mean(self._runnable) / processors)


def by_hand(
    lab: Settings, prometheus: PrometheusServer, run: Run, directory: Path, at: Callable[[int], None]
) -> PrometheusExport:
    """Run a run with its stream but without fidelity checks, which a busy machine would fail; all its samples arrive."""
    backend = open_backend("mininet", lab)
    live = open_live(lab, Store(lab))
    assert live is not None
    with live:
        export = live.export_of(run, RUN_ID, backend.growing_traces(run, directory))
        assert export is not None
        with export:
            directory.mkdir()
            (directory / "run.json").write_text(json.dumps(run.as_json()))
            backend.run(run, directory, at)
        outcome = export.outcome()
        export.close(None)
    write_traces(directory, read_trace(directory / "trace.bin"))
    wanted, count = samples_in(run, RUN_ID, read_traces(directory), outcome)
    found = prometheus.stored(RUN_ID, outcome["begin_ms"], outcome["end_ms"] + outcome["resolution_ms"])
    assert found == wanted
    # This path has no changes; tests/live/test_dashboards.py has one with changes.
    assert {dict(labels)["__name__"] for labels in found} == {metric.name for metric in RUN_METRICS} - {CHANGE}
    assert (outcome["samples"], outcome["waiting"], outcome["refused"]) == (count, 0, 0)
    # The samples have the times of the run.
    span = Spans(Store(lab).database).of(RUN_ID)
    assert span is not None
    assert (span.begin_ms, span.end_ms) == (outcome["begin_ms"], outcome["end_ms"] + 10)
    assert 0 < time.time() - span.end_ms / 1000 < 30
    return outcome


def test_a_real_minute_of_four_flows_is_young_in_prometheus_and_survives_its_kill(
    lab: Settings, prometheus: PrometheusServer, tmp_path: Path
) -> None:
    """Mininet in a guest in real time; Prometheus is killed after 20 s and started again 2 s later."""
    (run,) = compile_plan(
        experiment(flows=FOUR, duration="60 s", path={"bandwidth": "10 Mbit/s"}),
        backend="mininet",
        where="guest",
        clock="real",
    ).runs
    ages_s: list[float] = []
    down = threading.Event()
    until_s = [0.0]
    crowd = Crowd()

    def back() -> None:
        prometheus.start()
        # Time to send the samples that waited meanwhile.
        until_s[0] = time.monotonic() + 5
        down.clear()

    def at(reached_ns: int) -> None:
        if reached_ns > 20e9 and not until_s[0]:
            until_s[0] = math.inf
            down.set()
            prometheus.kill()
            threading.Timer(2.0, back).start()
        if reached_ns < 2e9 or down.is_set() or time.monotonic() < until_s[0] < math.inf:
            return
        crowd.look()
        newest_s = prometheus.newest_s(RUN_ID, CWND)
        ages_s.append(time.time() - newest_s)

    by_hand(lab, prometheus, run, tmp_path / "run", at)
    assert until_s[0] < math.inf
    print(f"newest sample at most {max(ages_s):.2f} s old over {len(ages_s)} looks")
    assert len(ages_s) > 100
    assert max(ages_s) < _YOUNG_S * crowd.share
    assert min(ages_s) > 0


def test_runs_one_after_the_other_do_not_overlap_and_none_lies_in_the_future(
    lab: Settings, prometheus: PrometheusServer
) -> None:
    begun_ms = time.time() * 1000
    plan = compile_plan(experiment(duration="20 s"), repeats=3)
    documents = run_plan(lab, plan, until_sent=True)
    spans = sorted((one["prometheus"]["begin_ms"], one["prometheus"]["end_ms"]) for one in documents)
    for (_, end_ms), (begin_ms, _) in itertools.pairwise(spans):
        assert end_ms < begin_ms
    assert spans[-1][1] < begun_ms + 60_000
    assert spans[-1][1] < time.time() * 1000
    for document in documents:
        all_is_there(lab, prometheus, document)
    # Each series ends where its run ends: there are no samples until the next run.
    for document in documents:
        after_s = document["prometheus"]["end_ms"] / 1000 + 0.5
        assert prometheus.query(f'{{run="{document["run"]}"}}', at_s=after_s) == []
        assert prometheus.query(f'{CWND}{{run="{document["run"]}"}}', at_s=after_s - 0.6) != []


def test_mininet_on_this_host_streams_too(lab: Settings, prometheus: PrometheusServer, tmp_path: Path) -> None:
    """The run omits features that a host's kernel may lack (tests/mininet/bare.py)."""
    if os.geteuid() != 0:
        pytest.fail("Mininet on this host needs root: run the tests as root")
    ages_s: list[float] = []
    crowd = Crowd()

    def at(reached_ns: int) -> None:
        if reached_ns > 2e9:
            crowd.look()
            newest_s = prometheus.newest_s(RUN_ID, CWND)
            ages_s.append(time.time() - newest_s)

    by_hand(lab, prometheus, bare_run("5 s"), tmp_path / "run", at)
    assert max(ages_s) < _YOUNG_S * crowd.share
    assert min(ages_s) > 0


def test_a_dispatcher_exports_its_runs(lab: Settings, prometheus: PrometheusServer) -> None:
    lab = replace(lab, jobs=2)
    document = served(lab, "quick", "duration=20 s")
    all_is_there(lab, prometheus, document)
    counts = Counts(Store(lab).database)
    assert counts.all()["samples"] == document["prometheus"]["samples"]
    assert counts.all()["virtual_s"] == 20
    assert counts.export() == Export(0.0, 0)


def test_a_rerun_by_other_programs_streams(lab: Settings, prometheus: PrometheusServer, tmp_path: Path) -> None:
    """The kept run was made by an agent of other bytes; with the present agent it is another run with another id."""
    agent = tmp_path / "longhaul-agent"
    agent.write_bytes(AGENT.read_bytes() + b"\0")
    agent.chmod(0o755)
    before, store = replace(lab, agent=agent, prometheus=None), Store(lab)
    (kept,) = Pipeline(open_backend("sandbox", before), store).execute(compile_plan(experiment(duration="5 s")))
    rerun = longhaul("rerun", kept["run"], "--json", home=lab.home, LONGHAUL_PROMETHEUS=prometheus.url)
    assert json.loads(rerun.stdout)["identical"], rerun.stderr
    (again,) = (store.get(row["id"]) for row in store.list_runs(10) if row["id"] != kept["run"])
    all_is_there(lab, prometheus, again)


def test_the_twin_of_a_real_path_streams(lab: Settings, prometheus: PrometheusServer) -> None:
    document = run_twin(lab, Store(lab), experiment(duration="5 s"))
    all_is_there(lab, prometheus, document)


@pytest.mark.parametrize(
    "streams", [True, False], ids=["a worker that streams", "a worker that leaves it to the dispatcher"]
)
def test_runs_of_a_worker_are_exported(
    lab: Settings, prometheus: PrometheusServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, streams: bool
) -> None:
    scheduler = DaskScheduler(tmp_path)
    if streams:
        monkeypatch.setenv("LONGHAUL_PROMETHEUS", prometheus.url)
    worker = DaskWorker(tmp_path, scheduler.address, 1, lab.cache)
    scheduler.start()
    worker.start()
    lab = replace(lab, dask=scheduler.address)
    store = Store(lab)

    def exported(document: RunDocument) -> bool:
        placed = store.get(document["run"]).get("prometheus", {})
        return bool(placed) and Counts(store.database).all().get("samples", 0) == placed["samples"]

    try:
        document = served(lab, "quick", "duration=20 s", until=exported)
    finally:
        worker.stop()
        scheduler.stop()
    all_is_there(lab, prometheus, store.get(document["run"]))
    placed = store.get(document["run"])["prometheus"]
    span = Spans(store.database).of(document["run"])
    assert span is not None
    assert (span.begin_ms, span.end_ms) == (placed["begin_ms"], placed["end_ms"] + 10)


def served(
    lab: Settings, shipped: str, *changes: str, until: Callable[[RunDocument], bool] = lambda document: True
) -> RunDocument:
    """Run an experiment by a dispatcher of this home, and return the document of its only run."""
    store = Store(lab)
    stop = Stop()
    thread = threading.Thread(target=serve_dispatcher, args=(lab, stop))
    thread.start()
    try:
        submitted = Desk(lab, store).submit(Request(shipped=shipped, changes=changes), "tester")
        wait_for(lambda: Experiments(store.database).get(submitted)["status"] not in ("queued", "running"))
        (row,) = store.catalog.page(1)
        document = store.get(row["id"])
        wait_for(lambda: until(document))
    finally:
        stop.set()
        thread.join()
    return store.get(row["id"])
