"""The same Run on the same kernel gives the same bytes, on a busy machine and for another user too."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing import Process, get_context
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import guest, sandbox
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import load_settings
from tests.support.guests import experiment

RERUNS = 10
UNPRIVILEGED = 65534
CONTROLS = [name for name in CONGESTION_CONTROLS if name != "lhfixed"]


def noisy(cc: str, seed: int) -> Plan:
    """Two flows, loss, jitter and background: everything that draws a random number."""
    flows = [
        {"name": "pair", "cc": cc, "count": 2},
        {"name": "back", "on_off": {"rate": "4 Mbit/s", "on": "200 ms", "off": "300 ms"}},
    ]
    path = {"bandwidth": "20 Mbit/s", "rtt": "30 ms", "loss": 1e-3, "jitter": "2 ms"}
    ecn = {"ecn": "on", "queue": "codel"} if cc == "dctcp" else {}
    return compile_plan(experiment(path=path | ecn, flows=flows, duration="2 s", start_jitter="1 RTT"), seed=seed)


def traces(pipeline: Pipeline, plan: Plan, times: int) -> set[str]:
    (run,) = plan.runs
    fresh = Pipeline(pipeline.backend, pipeline.store, use_cache=False)
    documents = fresh.execute(replace(plan, runs=(run,) * times), jobs=2)
    assert all(document["status"] == "done" for document in documents), documents
    return {document["trace_sha256"] for document in documents}


@pytest.fixture
def busy_machine() -> Iterator[None]:
    spinners = [Process(target=_spin, daemon=True) for _ in os.sched_getaffinity(0)]
    for spinner in spinners:
        spinner.start()
    yield
    for spinner in spinners:
        spinner.kill()
        spinner.join()


def _spin() -> None:
    while True:
        pass


@pytest.mark.parametrize("cc", CONTROLS)
def test_reruns_are_identical(pipeline: Pipeline, cc: str) -> None:
    assert len(traces(pipeline, noisy(cc, 1), RERUNS)) == 1


@pytest.mark.usefixtures("busy_machine")
def test_reruns_are_identical_while_the_machine_is_busy(pipeline: Pipeline) -> None:
    assert len(traces(pipeline, noisy("cubic", 1), RERUNS)) == 1


def test_another_seed_gives_another_trace(pipeline: Pipeline) -> None:
    assert traces(pipeline, noisy("cubic", 1), 1).isdisjoint(traces(pipeline, noisy("cubic", 2), 1))


@pytest.fixture
def unprivileged_place(kernel_caches: Path) -> Iterator[Path]:
    """Copies of the agent and of the caches, and a home, in a folder of an unprivileged user."""
    if os.geteuid() != 0:
        pytest.fail("becoming another user needs root: run the tests as root")
    place = Path(tempfile.mkdtemp(prefix="longhaul-unprivileged-", dir="/tmp"))
    try:
        # Kernels with a name, and modules, are built and removed by other tests meanwhile.
        heavy = shutil.ignore_patterns("tree", "build*", "trees", "named", "sent*", ".*")
        shutil.copytree(kernel_caches / "kernels", place / "cache" / "kernels", symlinks=True, ignore=heavy)
        shutil.copytree(kernel_caches / "modules", place / "cache" / "modules", symlinks=True, ignore=heavy)
        shutil.copy(AGENT, place / "agent")
        for folder, _, files in os.walk(place):
            for path in [folder, *(os.path.join(folder, file) for file in files)]:
                os.chown(path, UNPRIVILEGED, UNPRIVILEGED, follow_symlinks=False)
        yield place
    finally:
        shutil.rmtree(place)


def test_another_user_gets_the_same_trace(pipeline: Pipeline, unprivileged_place: Path) -> None:
    plan = noisy("bbr", 1)
    mine = traces(pipeline, plan, 1)
    assert traces_of_another_user(plan, unprivileged_place) == mine


def traces_of_another_user(plan: Plan, place: Path) -> set[str]:
    """The trace of a run of an unprivileged user."""
    as_another_user(_run_unprivileged, plan, place)
    return set(json.loads((place / "traces.json").read_text()))


def as_another_user(work: Callable[[Plan, Path], None], plan: Plan, place: Path) -> None:
    """Call a function as an unprivileged user in this folder."""

    def unprivileged() -> None:
        os.setgroups([])
        os.setgid(UNPRIVILEGED)
        os.setuid(UNPRIVILEGED)
        os.chdir(place)
        work(plan, place)

    # A fork, since that user may not be able to read the interpreter; all needed modules are loaded by now.
    child = get_context("fork").Process(target=unprivileged)
    child.start()
    child.join()
    assert child.exitcode == 0


def _run_unprivileged(plan: Plan, place: Path) -> None:
    vars(guest)["AGENT"] = place / "agent"
    settings = replace(load_settings(), home=place / "home", cache=place / "cache")
    found = traces(Pipeline(sandbox.Sandbox(settings), Store(settings)), plan, 1)
    (place / "traces.json").write_text(json.dumps(sorted(found)))
