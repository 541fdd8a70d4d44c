"""One experiment on two kernels, compared run by run."""

from __future__ import annotations

from collections.abc import Sequence

from longhaul.laboratory.comparisons import compare_sides, differences_here
from longhaul.laboratory.experiments import Changes, ExperimentLike, load, result_of
from longhaul.laboratory.searches import Runner, WatcherOf
from longhaul.orchestrator.analysis.compare import Comparison as Compared
from longhaul.orchestrator.analysis.report.comparison_text import as_json
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import plain_data
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import load_settings
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
    """Run an experiment on two kernels, by version or name, and compare the runs, paired by point and seed; the arguments are those of `longhaul kernel compare`."""
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
    loaded = load(experiment, set=set)
    if a == b:
        raise PlanError("comparing kernels", a, "both sides are the same kernel", "name two")
    if _varies_kernel(plain_data(loaded).get("sweep")):
        hint = f"run it, and use `longhaul compare RESULT --by kernel={a},{b}`"
        raise PlanError("comparing kernels on", loaded.experiment, "its sweep varies the kernel already", hint)
    runner, store = Runner(jobs, watcher), Store(load_settings())
    sides = []
    for kernel in (a, b):
        compiled = compile_plan(load(loaded, set={"kernel": kernel}), seed=seed, repeats=repeats)
        sides.append(result_of(compiled, runner(compiled), store))
    return compare_sides(
        sides[0], sides[1], by=None, gates=gates, min_effect=min_effect, names=(f"kernel {a}", f"kernel {b}")
    )


def _varies_kernel(sweep: object) -> bool:
    points = sweep if isinstance(sweep, list) else [sweep]
    return any(isinstance(point, dict) and "kernel" in point for point in points)
