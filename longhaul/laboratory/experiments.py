"""Compile and run an experiment in this process.

"demo", a file, a mapping, an Experiment --load--> Experiment --plan--> Plan --run--> Result
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from longhaul.laboratory.kept_traces import KeptTraces
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.execution.pipeline import Pipeline, Watcher, opened_live
from longhaul.orchestrator.live.export_run import with_grafana
from longhaul.orchestrator.plan.compile import Plan as CompiledPlan
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import load_experiment, parse_experiment, plain_data
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.results.plan import Plan
from longhaul.results.result import Result

# A shipped name or a file, the fields, or an Experiment.
ExperimentLike = str | os.PathLike[str] | Mapping[str, Any] | Experiment
# As for `--set`, ["path.rtt=80ms"], or by field, {"path.rtt": "80ms"}.
Changes = Sequence[str] | Mapping[str, Any]


def load(experiment: ExperimentLike, *, set: Changes = ()) -> Experiment:
    """Read and check an experiment: a shipped name, a file, or a mapping of its fields (docs/experiment-format.md); SpecError."""
    changes = _changes(set)
    if isinstance(experiment, Experiment):
        return parse_experiment(plain_data(experiment), experiment.experiment, changes) if changes else experiment
    if isinstance(experiment, Mapping):
        return parse_experiment(experiment, str(experiment.get("experiment", "experiment")), changes)
    try:
        name = os.fspath(experiment)
    except TypeError:
        what = f"it has the type {type(experiment).__name__}"
        hint = "give a name, a path, a mapping or an Experiment"
        raise PlanError("reading the experiment", repr(experiment)[:60], what, hint) from None
    return load_experiment(name, changes)


def plan(
    experiment: ExperimentLike,
    *,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    backend: str = "sandbox",
    where: str | None = None,
    clock: str | None = None,
    hosts: Sequence[str] = (),
) -> Plan:
    """Compile an experiment and run nothing; the arguments are those of `longhaul plan`."""
    # An unknown backend is refused before anything is compiled.
    open_backend(backend, load_settings())
    compiled = compile_plan(
        load(experiment, set=set), seed=seed, repeats=repeats, backend=backend, where=where, clock=clock, hosts=hosts
    )
    return Plan(compiled, backend)


def run(
    experiment: ExperimentLike | Plan,
    *,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    backend: str = "sandbox",
    where: str | None = None,
    clock: str | None = None,
    hosts: Sequence[str] = (),
    jobs: int | None = None,
    cache: bool = True,
    watcher: Watcher | None = None,
) -> Result:
    """Run every point and repeat of an experiment, here, and keep the runs; the arguments are those of `longhaul run`.

    A kept run is read instead of run again, unless `cache` is off. A failed run has its error in the
    result; the others continue. `jobs` guests run at a time. `watcher` is called as runs start, progress and finish.
    """
    if isinstance(experiment, Plan):
        if set or seed is not None or repeats is not None or where or clock or hosts or backend != "sandbox":
            raise PlanError("running", experiment.experiment, "a plan cannot be changed", "give its experiment")
        planned = experiment
    else:
        planned = plan(
            experiment, set=set, seed=seed, repeats=repeats, backend=backend, where=where, clock=clock, hosts=hosts
        )
    with open_pipeline(planned.backend, cache=cache, watcher=watcher) as pipeline:
        (documents,) = execute(pipeline, [planned.compiled], jobs)
    return result_of(planned.compiled, documents, pipeline.store)


def sweep(experiment: ExperimentLike, over: Mapping[str, Iterable[Any]], *, set: Changes = (), **more: Any) -> Result:
    """Run an experiment at every combination of values: sweep("demo", {"path.rtt": ["10ms", "100ms"]}); `more` as for `run`."""
    values = {field: list(given) for field, given in over.items()}
    if not values or not all(values.values()):
        raise PlanError(
            "sweeping",
            str(experiment)[:60],
            "no field with values is given",
            'give one, as in {"path.rtt": ["10ms", "100ms"]}',
        )
    return run(load(experiment, set=[*_changes(set), f"sweep={_as_json(values)}"]), **more)


@contextmanager
def open_pipeline(backend: str | Backend, *, cache: bool = True, watcher: Watcher | None = None) -> Iterator[Pipeline]:
    """A pipeline of this machine with its settings, including the export of samples to Prometheus if that is set."""
    settings = load_settings()
    store = Store(settings)
    with opened_live(settings, store) as live:
        opened = open_backend(backend, settings) if isinstance(backend, str) else backend
        yield Pipeline(opened, store, cache, watcher or Watcher(), live=live)


def execute(pipeline: Pipeline, plans: Sequence[CompiledPlan], jobs: int | None) -> list[list[RunDocument]]:
    """The documents of each plan. Runs in real time go one at a time, since they would disturb each other."""
    in_real_time = any(run.clock == "real" for plan in plans for run in plan.runs)
    return pipeline.execute_all(plans, 1 if in_real_time else jobs or load_settings().jobs)


def result_of(compiled: CompiledPlan, documents: Sequence[RunDocument], store: Store) -> Result:
    """The documents of a plan with their summary."""
    from longhaul.orchestrator.analysis.aggregate import summarise_repeats

    settings: Settings = load_settings()
    experiment = compiled.experiment
    measured = [document for document in documents if document["status"] != "failed"]
    document = {
        "experiment": experiment.experiment,
        "runs": [with_grafana(settings, document) for document in documents],
        "summary": summarise_repeats(measured, experiment.aggregate),
    }
    return Result(document, KeptTraces(store), compiled.lint)


def _changes(given: Changes) -> list[str]:
    if isinstance(given, str):
        raise PlanError(
            "changing the experiment by", given, "it is a single text", f'give a list, as in set=["{given}"]'
        )
    if isinstance(given, Mapping):
        return [f"{field}={_as_json(value)}" for field, value in given.items()]
    return list(given)


def _as_json(value: Any) -> str:
    """A value as in an experiment's text; numbers and arrays of numpy and pandas become numbers and lists."""

    def plain(other: Any) -> Any:
        if hasattr(other, "tolist"):
            return other.tolist()
        if isinstance(other, os.PathLike):
            return os.fspath(other)
        raise PlanError(
            "changing the experiment by",
            repr(other)[:60],
            f"it has the type {type(other).__name__}",
            "give text, numbers, lists or mappings",
        )

    return json.dumps(value, default=plain)
