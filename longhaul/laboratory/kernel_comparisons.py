"""Experiments on two kernels, compared run by run.

    an experiment, or every experiment of a pack --on kernel A, on kernel B--> plans --one pipeline--> documents --paired by point and seed--> Comparison

An experiment whose sweep varies `kernel` keeps its other points. Its runs have the ids of the sweep's own, so kept ones are not run again. The runs of a pack have
the name of their experiment in their point, so all of them share one comparison and one error rate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any

from longhaul.laboratory.comparisons import differences_here, planned_here
from longhaul.laboratory.experiments import Changes, ExperimentLike, execute, load, open_pipeline
from longhaul.laboratory.reproductions import WatcherOf
from longhaul.orchestrator.analysis.aggregate import without
from longhaul.orchestrator.analysis.compare import Comparison as Compared
from longhaul.orchestrator.analysis.gates import compare_documents
from longhaul.orchestrator.analysis.report.comparison_text import as_json
from longhaul.orchestrator.execution.pipeline import Watcher
from longhaul.orchestrator.papers.load import load_paper, published_papers
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.load import plain_data, shipped_experiments
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import PlanError
from longhaul.results.comparison import Comparison


def compare_kernels(
    a: str,
    b: str,
    experiment: ExperimentLike,
    *,
    gates: Sequence[str] = (),
    min_effect: str = "2 %",
    trace: bool = False,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    jobs: int | None = None,
    watcher: WatcherOf | None = None,
) -> Comparison:
    """Run an experiment, or every experiment of a pack, on two kernels, by version or name, and compare the runs, paired by point and seed.

    The arguments are those of `longhaul kernel compare`. `watcher` opens the watcher of all runs.
    """
    found = compare_kernel_sides(
        a,
        b,
        experiment,
        gates=gates,
        min_effect=min_effect,
        set=set,
        seed=seed,
        repeats=repeats,
        jobs=jobs,
        watcher=watcher,
    )
    return Comparison(as_json(found, differences_here(found) if trace else None))


def compare_kernel_sides(
    a: str,
    b: str,
    experiment: ExperimentLike,
    *,
    gates: Sequence[str],
    min_effect: str,
    set: Changes,
    seed: int | None,
    repeats: int | None,
    jobs: int | None,
    watcher: WatcherOf | None,
) -> Compared:
    """The same with every pair."""
    if a == b:
        raise PlanError("comparing kernels", a, "both sides are the same kernel", "name two")
    experiments = _experiments(experiment, set)
    plans = [
        compile_plan(on_kernel(one, kernel), seed=seed, repeats=repeats)
        for kernel in (a, b)
        for one in experiments.values()
    ]
    opened = watcher([run for plan in plans for run in plan.runs]) if watcher else nullcontext(Watcher())
    with opened as watching, open_pipeline("sandbox", watcher=watching) as pipeline:
        documents = execute(pipeline, plans, jobs)
    runs = _named(experiments, documents[: len(experiments)])
    others = _named(experiments, documents[len(experiments) :])
    return compare_documents(f"kernel {a}", runs, f"kernel {b}", others, gates, min_effect, planned_here)


def on_kernel(experiment: Experiment, kernel: str) -> Experiment:
    """The experiment on one kernel; each point of a sweep over kernels once."""
    sweep = plain_data(experiment).get("sweep")
    if isinstance(sweep, Mapping) and "kernel" in sweep:
        return load(experiment, set={"sweep": {**sweep, "kernel": [kernel]}})
    if isinstance(sweep, list) and any("kernel" in point for point in sweep):
        points: list[dict[str, Any]] = []
        for point in ({**point, "kernel": kernel} for point in sweep):
            if point not in points:
                points.append(point)
        return load(experiment, set={"sweep": points})
    return load(experiment, set={"kernel": kernel})


def _experiments(experiment: ExperimentLike, changes: Changes) -> dict[str, Experiment]:
    """The experiments by name: those of a pack or paper, or the only one, whose name is empty."""
    if not isinstance(experiment, str) or experiment in shipped_experiments() or experiment not in published_papers():
        return {"": load(experiment, set=changes)}
    uses = [use.experiment for figure in load_paper(experiment).figures for use in figure.uses]
    return {name: load(name, set=changes) for name in dict.fromkeys(uses)}


def _named(names: Iterable[str], documents: Sequence[Sequence[RunDocument]]) -> list[RunDocument]:
    """The runs of one side, their points without the kernel, which is the side, and in a pack with their experiment."""
    return [
        {**document, "point": ({"experiment": name} if name else {}) | without(document["point"], "kernel")}
        for name, found in zip(names, documents, strict=True)
        for document in found
    ]
