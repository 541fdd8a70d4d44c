"""The same Run on the same kernel gives the same bytes, whatever else the machine does and whoever asks."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from multiprocessing import Process
from pathlib import Path
from typing import Any

import pytest

from orchestrator.congestion import CONGESTION_CONTROLS
from orchestrator.pipeline import Pipeline
from orchestrator.plan import Plan, compile_plan
from orchestrator.process import run_script
from tests.guest.conftest import experiment

RERUNS = 20
REPOSITORY = Path(__file__).resolve().parents[2]
IN_TREE = [name for name, control in CONGESTION_CONTROLS.items() if control.in_tree]


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
    documents = fresh.execute(Plan(plan.experiment, (run,) * times, ()), jobs=2)
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


@pytest.mark.parametrize("cc", IN_TREE)
def test_reruns_are_identical(pipeline: Pipeline, cc: str) -> None:
    assert len(traces(pipeline, noisy(cc, 1), RERUNS)) == 1


@pytest.mark.usefixtures("busy_machine")
def test_reruns_are_identical_while_the_machine_is_busy(pipeline: Pipeline) -> None:
    assert len(traces(pipeline, noisy("cubic", 1), RERUNS)) == 1


def test_another_seed_gives_another_trace(pipeline: Pipeline) -> None:
    assert traces(pipeline, noisy("cubic", 1), 1).isdisjoint(traces(pipeline, noisy("cubic", 2), 1))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_another_user_gets_the_same_trace(pipeline: Pipeline, kernel_caches: Path, tmp_path: Path) -> None:
    plan = noisy("bbr", 1)
    mine = traces(pipeline, plan, 1)
    told = tmp_path / "experiment.json"
    told.write_text(json.dumps(plan.experiment.model_dump(mode="json", exclude_none=True)))
    theirs = _as_nobody(told, kernel_caches)
    assert {run["trace_sha256"] for run in theirs["runs"]} == mine


def _as_nobody(told: Path, kernel_caches: Path) -> dict[str, Any]:
    """Run it as nobody, with copies of the code and the caches that nobody can read."""
    place = Path("/tmp") / f"longhaul-nobody-{os.getpid()}"
    try:
        shutil.copytree(REPOSITORY / "orchestrator", place / "orchestrator")
        shutil.copytree(
            kernel_caches / "kernels",
            place / "cache" / "kernels",
            symlinks=True,
            ignore=shutil.ignore_patterns("tree", "build*"),
        )
        shutil.copytree(kernel_caches / "modules", place / "cache" / "modules", symlinks=True)
        shutil.copy(told, place / "experiment.json")
        for folder, _, files in os.walk(place):
            for path in [folder, *(os.path.join(folder, file) for file in files)]:
                os.chown(path, 65534, 65534, follow_symlinks=False)
        script = place / "run.sh"
        site = next(path for path in sys.path if path.endswith("site-packages"))
        script.write_text(
            f"#!/bin/sh\ncd {place} && exec setpriv --reuid 65534 --regid 65534 --clear-groups env HOME={place} LONGHAUL_HOME={place}/home "
            f"LONGHAUL_CACHE={place}/cache PYTHONPATH={place}:{site} {sys.executable} -m orchestrator.cli run experiment.json --json\n"
        )
        script.chmod(0o755)
        found: dict[str, Any] = json.loads(run_script([str(script)], "running as nobody"))
        return found
    finally:
        shutil.rmtree(place, ignore_errors=True)
