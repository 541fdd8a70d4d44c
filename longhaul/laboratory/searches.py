"""Searches that run experiments: for the parameters that maximise an objective, and for the condition that breaks a claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol

from longhaul.laboratory.experiments import Changes, ExperimentLike, execute, load, open_pipeline
from longhaul.orchestrator.analysis.objective import read_claim, read_objective
from longhaul.orchestrator.analysis.search.breaking_point import Found
from longhaul.orchestrator.analysis.search.breaking_point import search as search_breaking_point
from longhaul.orchestrator.analysis.search.ranges import read_ranges
from longhaul.orchestrator.analysis.search.surface import Surface, surface_of
from longhaul.orchestrator.analysis.search.tuning import Knob, Tuned, read_knob
from longhaul.orchestrator.analysis.search.tuning import tune as tune_parameters
from longhaul.orchestrator.execution.pipeline import Watcher
from longhaul.orchestrator.plan.compile import Plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.model import Experiment
from longhaul.results.search import Search


class WatcherOf(Protocol):
    """Opens the watcher of one plan's runs: a search runs one plan after the other."""

    def __call__(self, plan: Plan) -> AbstractContextManager[Watcher]: ...


class Tuning(Search):
    """A search for parameters, with the surface of two of them."""

    def __init__(
        self, document: Mapping[str, Any], tuned: Tuned, objective: str, over: str, surface: Surface | None
    ) -> None:
        super().__init__(document)
        self.details, self.objective, self.over, self.surface = tuned, objective, over, surface


class BreakingPoint(Search):
    """A search for the least severe condition that breaks a claim."""

    def __init__(self, document: Mapping[str, Any], found: Found, claim: str) -> None:
        super().__init__(document)
        self.details, self.claim = found, claim


def tune(
    experiment: ExperimentLike,
    params: Mapping[str, Any] | Sequence[str],
    objective: str,
    *,
    sampler: str = "grid",
    trials: int = 40,
    over: str = "mean",
    confirm: int = 5,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    jobs: int | None = None,
    watcher: WatcherOf | None = None,
) -> Tuning:
    """Search for module parameters that maximise an objective and confirm the best on fresh seeds; the arguments are those of `longhaul tune`.

    `params` names values or a range: {"app.alpha": [1, 2, 4], "app.beta": "1..16"}, or ["app.alpha=1,2,4"].
    """
    loaded = _seeded(experiment, set, seed, repeats)
    knobs = [read_knob(text, loaded) for text in _params(params)]
    goal = read_objective(objective, flows_of(loaded))
    runner = Runner(jobs, watcher)
    tuned = tune_parameters(loaded, knobs, goal, runner, sampler=sampler, trials=trials, over=over, confirm=confirm)
    document = {
        "experiment": loaded.experiment,
        "objective": goal.text,
        "over": over,
        "sampler": sampler,
        "points": [dict(place) for place in tuned.places],
        "untuned": tuned.untuned.as_json(),
        "trials": [trial.as_json() for trial in tuned.trials],
        "best": tuned.best.as_json(),
        "confirmation": None if tuned.confirmation is None else tuned.confirmation.as_json(),
        "tuned": tuned.experiment,
        "runs": runner.count,
    }
    return Tuning(document, tuned, goal.text, over, _surface(tuned, knobs))


def search(
    experiment: ExperimentLike,
    over: Sequence[str],
    claim: str,
    *,
    trials: int = 24,
    confirm: int = 3,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    jobs: int | None = None,
    watcher: WatcherOf | None = None,
) -> BreakingPoint:
    """Search for the least severe condition that breaks a claim: search("demo", ["path.rtt=1ms..500ms"], "utilisation >= 0.9").

    The arguments are those of `longhaul search`.
    """
    loaded = _seeded(experiment, set, seed, repeats)
    ranges = read_ranges(list(over))
    claimed = read_claim(claim, flows_of(loaded))
    runner = Runner(jobs, watcher)
    found = search_breaking_point(loaded, ranges, claimed, runner, trials=trials, confirm=confirm)
    document = {
        "experiment": loaded.experiment,
        "claim": claimed.text,
        "fields": [one.field for one in ranges],
        "conditions": [condition.as_json() for condition in found.tried],
        "counterexample": found.counterexample.as_json() if found.counterexample else None,
        "confirmation": {"seeds": list(found.seeds), "values": list(found.values), "unconfirmed": found.unconfirmed},
        "counterexample_experiment": found.experiment,
        "runs": runner.count,
    }
    return BreakingPoint(document, found, claimed.text)


class Runner:
    """Runs plans as `longhaul run` does, and counts the runs."""

    def __init__(self, jobs: int | None, watcher: WatcherOf | None) -> None:
        self._jobs, self._watcher = jobs, watcher
        self.count = 0

    def __call__(self, plan: Plan) -> list[RunDocument]:
        self.count += len(plan.runs)
        opened = self._watcher(plan) if self._watcher else nullcontext(Watcher())
        with opened as watching, open_pipeline("sandbox", watcher=watching) as pipeline:
            (documents,) = execute(pipeline, [plan], self._jobs)
        return documents


def _seeded(experiment: ExperimentLike, changes: Changes, seed: int | None, repeats: int | None) -> Experiment:
    given = {name: value for name, value in (("seed", seed), ("repeats", repeats)) if value is not None}
    return load(load(experiment, set=changes), set=given) if given else load(experiment, set=changes)


def _params(params: Mapping[str, Any] | Sequence[str]) -> list[str]:
    if not isinstance(params, Mapping):
        return list(params)
    return [
        f"{name}={values if isinstance(values, str) else ','.join(map(str, values))}" for name, values in params.items()
    ]


def flows_of(experiment: Experiment) -> list[str]:
    """The names of all flows, and those of transfers over several streams."""
    return [name for flow in experiment.flows for name in (*flow.names, *flow.totals)]


def _surface(tuned: Tuned, knobs: Sequence[Knob]) -> Surface | None:
    """The surface of two parameters; None for any other number."""
    if len(knobs) != 2:
        return None
    numbers = {
        knob.name: {
            str(trial.params[knob.name]): float(knob.parameter.read(trial.params[knob.name])) for trial in tuned.trials
        }
        for knob in knobs
    }
    return surface_of([(trial.params, trial.value) for trial in tuned.trials], numbers)
