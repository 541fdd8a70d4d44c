"""Real guests for tests: every experiment here boots a kernel and moves packets."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, Run, compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import Experiment, parse_experiment
from longhaul.orchestrator.system.settings import Settings, load_settings


@dataclass(frozen=True)
class Finished:
    """A finished run with everything it left."""

    document: dict[str, Any]
    run: Run
    trace: Any
    facts: dict[str, Any]


Runner = Callable[..., Finished]


def experiment(**changes: Any) -> Experiment:
    """A one-flow dumbbell, changed at top-level keys; path is merged, or left out where it is None."""
    written: dict[str, Any] = {
        "experiment": "test",
        "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"},
        "flows": [{"name": "one", "cc": "cubic"}],
        "duration": "5 s",
        "start_jitter": "0 s",
    }
    changes = copy.deepcopy(changes)
    path = changes.pop("path", {})
    if path is None:
        del written["path"]
    else:
        written["path"] |= path
    return parse_experiment(written | changes, "test")


@pytest.fixture(scope="session")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """This machine's kernel cache, and a store of the session's own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LONGHAUL_HOME", str(tmp_path_factory.mktemp("home")))
        yield load_settings()


@pytest.fixture(scope="session")
def pipeline(settings: Settings) -> Pipeline:
    return Pipeline(open_backend("sandbox", settings), Store(settings))


@pytest.fixture(scope="session")
def execute(pipeline: Pipeline) -> Callable[[Plan], list[dict[str, Any]]]:
    return lambda plan: pipeline.execute(plan, jobs=2)


@pytest.fixture(scope="session")
def finish_all(pipeline: Pipeline) -> Callable[..., list[Finished]]:
    """Run an experiment, two runs at a time, and insist that each ended well."""

    def run(**changes: Any) -> list[Finished]:
        plan = compile_plan(experiment(**changes))
        finished = []
        for one, document in zip(plan.runs, pipeline.execute(plan, jobs=2), strict=True):
            assert document["status"] in ("done", "missed"), document.get("error")
            trace, manifest = pipeline.store.trace(document["run"]), pipeline.store.manifest(document["run"])
            finished.append(Finished(document, one, trace, manifest["facts"]))
        return finished

    return run


@pytest.fixture(scope="session")
def finish(finish_all: Callable[..., list[Finished]]) -> Runner:
    """Run one experiment's only run."""

    def run(**changes: Any) -> Finished:
        (only,) = finish_all(**changes)
        return only

    return run


@pytest.fixture
def kernel_caches(settings: Settings) -> Path:
    return settings.cache
