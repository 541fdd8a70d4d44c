"""One experiment on either backend."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings
from tests.support.guests import experiment, settings

__all__ = ["settings"]

# (placement, changes of the experiment) -> the documents of so many runs of it
Carry = Callable[..., list[Any]]


@pytest.fixture(scope="session")
def carry(settings: Settings) -> Carry:
    store = Store(settings)

    def run_experiment(placement: dict[str, str], *, times: int = 1, **changes: Any) -> list[RunDocument]:
        plan = compile_plan(experiment(**changes), **placement)  # type: ignore[arg-type]
        pipeline = Pipeline(open_backend(plan.runs[0].backend, settings), store, use_cache=False)
        return pipeline.execute(replace(plan, runs=plan.runs * times), jobs=2)

    return run_experiment
