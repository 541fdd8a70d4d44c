"""Real guests for tests: every experiment here boots a kernel and moves packets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings
from tests.support.guests import Finished, Runner, experiment
from tests.support.guests import settings as settings


@pytest.fixture(scope="session")
def pipeline(settings: Settings) -> Pipeline:
    return Pipeline(open_backend("sandbox", settings), Store(settings))


@pytest.fixture(scope="session")
def execute(pipeline: Pipeline) -> Callable[[Plan], list[Any]]:
    return lambda plan: pipeline.execute(plan, jobs=2)


@pytest.fixture(scope="session")
def finish_all(pipeline: Pipeline) -> Callable[..., list[Finished]]:
    """Run an experiment, two runs at a time, and check that no run failed."""

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
    """Run an experiment with a single run."""

    def run(**changes: Any) -> Finished:
        (only,) = finish_all(**changes)
        return only

    return run


@pytest.fixture
def kernel_caches(settings: Settings) -> Path:
    return settings.cache
