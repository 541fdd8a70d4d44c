"""Searches for the parameters of congestion-control modules that maximise an objective, and confirms the result.

    --param app.kp=1,2,4  --> Knob --> points of a sweep --> runs --> objective --> Trial
                                                                                      | the best
    tuned experiment <-- paired differences on fresh seeds <---------------------------'

Every candidate is a point of a sweep of the experiment, so its runs are compiled, kept and answered from the store like any others.
The best of many is partly luck: it is confirmed on other seeds than those of the search.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.intervals import mean_interval
from longhaul.orchestrator.analysis.objective import Objective
from longhaul.orchestrator.analysis.search.sampling import SAMPLERS, Axis, Study, Value
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.load import Experiment, parse_experiment, plain_data, with_sweep
from longhaul.orchestrator.spec.parameters import Parameter
from longhaul.orchestrator.spec.sweep import expand, point_texts
from longhaul.orchestrator.spec.yaml_text import put
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Parameters by their names, or fields of an experiment, and their values.
Values = dict[str, Any]
# An experiment as it is written.
Written = dict[str, Any]
RunPlan = Callable[[Plan], list[RunDocument]]

GRID = "grid"
ALL_SAMPLERS = (GRID, *SAMPLERS)
OVERS = ("mean", "worst")
_MOST_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True)
class Knob:
    """A parameter of a flow's module, and the values it may take."""

    name: str
    field: str
    parameter: Parameter
    axis: Axis

    def written(self, value: Value) -> Value | bool:
        """A value of the axis as written in an experiment."""
        return _plain(str(value) if self.axis.choices else self.parameter.show(int(value)))


@dataclass(frozen=True, slots=True)
class Trial:
    """One candidate: its value at each point of the experiment and over all of them; or the error."""

    params: Mapping[str, Any]
    points: tuple[float, ...] = ()
    value: float | None = None
    fault: str = ""

    def as_json(self) -> dict[str, Any]:
        """The trial as documents have it."""
        return {
            "params": dict(self.params),
            "value": self.value,
            "points": list(self.points),
            **({"error": self.fault} if self.fault else {}),
        }


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Tuned minus untuned on fresh seeds, paired by seed, with its 95 % interval; with one seed the difference counts as it is."""

    seeds: tuple[int, ...]
    untuned: float
    tuned: float
    difference: float
    low: float
    high: float

    @property
    def better(self) -> bool:
        return self.low > 0

    def as_json(self) -> dict[str, Any]:
        """The confirmation as documents have it."""
        return {**asdict(self), "better": self.better}


@dataclass(frozen=True, slots=True)
class Tuned:
    """The result of a search; without a confirmation, no trial is better than the experiment as written."""

    untuned: Trial
    trials: tuple[Trial, ...]
    best: Trial
    confirmation: Confirmation | None
    experiment: Written
    places: tuple[Mapping[str, str], ...]


def read_knob(text: str, experiment: Experiment) -> Knob:
    """`app.kp=1,2,4` or `app.kp=1..16`; PlanError lists what is known and allowed."""
    name, equals, values = text.partition("=")
    flow_name, dot, parameter_name = name.strip().rpartition(".")
    if not equals or not dot:
        raise _refused(text, "give a flow's parameter and its values, as in app.kp=1,2,4 or app.kp=1..16")
    flow = next((flow for flow in experiment.flows if flow.name == flow_name), None)
    if flow is None:
        raise _refused(text, f"no flow {flow_name!r}; known: {', '.join(flow.name for flow in experiment.flows)}")
    control = experiment.control(flow.cc)
    parameter = control.parameter(parameter_name)
    if flow.kind == "udp" or parameter is None:
        known = ", ".join(one.name for one in control.parameters) if flow.kind != "udp" else ""
        raise _refused(
            text, f"flow {flow_name} ({control.name}) has no parameter {parameter_name!r}; known: {known or 'none'}"
        )
    try:
        axis = _axis(name.strip(), values, parameter)
    except ValueError as error:
        raise _refused(text, f"allowed: {error}") from None
    return Knob(name.strip(), f"flows.{flow_name}.params.{parameter_name}", parameter, axis)


def _axis(name: str, values: str, parameter: Parameter) -> Axis:
    low, dots, high = values.partition("..")
    if dots:
        ends = parameter.read(_plain(low)), parameter.read(_plain(high))
        if not ends[0] < ends[1]:
            raise ValueError("a range must go from the lower value to the higher, as in 1..16")
        return Axis(name, low=ends[0], high=ends[1], whole=True)
    choices = tuple(dict.fromkeys(value.strip() for value in values.split(",")))
    for choice in choices:
        parameter.read(_plain(choice))
    return Axis(name, choices=choices)


def _plain(text: str) -> Value | bool:
    """A value as written in an experiment: a number if the text is one."""
    text = text.strip()
    if text in ("on", "off"):
        return text == "on"
    for kind in (int, float):
        try:
            number = kind(text)
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return text


def tune(
    experiment: Experiment,
    knobs: Sequence[Knob],
    objective: Objective,
    run_plan: RunPlan,
    *,
    sampler: str = GRID,
    trials: int = 40,
    over: str = "mean",
    confirm: int = 5,
) -> Tuned:
    """Search, then confirm on `confirm` seeds after those of the search."""
    _check(experiment, knobs, sampler, over)
    tuner = _Tuner(experiment, knobs, objective, run_plan, over)
    found = tuner.grid() if sampler == GRID else tuner.sampled(sampler, trials)
    # A range in steps may give the same point twice.
    found = list({str(trial.params): trial for trial in found}.values())
    untuned = tuner.trials([None])[0]
    worked = [trial for trial in found if trial.value is not None]
    if untuned.value is None or not worked:
        fault = untuned.fault or found[0].fault
        raise BackendError("tuning", experiment.experiment, fault, "run the experiment alone for details")
    best = max(worked, key=lambda trial: trial.value or 0.0)
    better = best.value is not None and best.value > untuned.value
    return Tuned(
        untuned,
        tuple(found),
        best,
        tuner.confirm(best, confirm) if better else None,
        tuner.written(best) if better else plain_data(experiment),
        tuple(point_texts(point) for point in expand(experiment.sweep)),
    )


def _check(experiment: Experiment, knobs: Sequence[Knob], sampler: str, over: str) -> None:
    for name, given, known in (("--sampler", sampler, ALL_SAMPLERS), ("--over", over, OVERS)):
        if given not in known:
            raise PlanError("tuning", experiment.experiment, f"{name} {given}", f"known: {', '.join(known)}")
    fields = [knob.field for knob in knobs]
    swept = {path for point in expand(experiment.sweep) for path in point}
    for field in fields:
        if fields.count(field) > 1 or field in swept:
            what = f"{field} is {'swept by the experiment' if field in swept else 'given twice'}"
            raise PlanError("tuning", experiment.experiment, what, "name each parameter once")
    if not knobs:
        raise PlanError("tuning", experiment.experiment, "no parameter to vary", "give --param FLOW.NAME=1,2,4")
    if sampler == GRID:
        open_ended = next((knob for knob in knobs if not knob.axis.choices), None)
        if open_ended is not None:
            hint = f"write values, as in {open_ended.name}=1,2,4, or use --sampler tpe"
            raise PlanError("tuning", experiment.experiment, f"a grid needs the values of {open_ended.name}", hint)
        if math.prod(len(knob.axis.choices) for knob in knobs) > _MOST_CANDIDATES:
            raise PlanError(
                "tuning", experiment.experiment, f"more than {_MOST_CANDIDATES} candidates", "use --sampler tpe"
            )


class _Tuner:
    def __init__(
        self, experiment: Experiment, knobs: Sequence[Knob], objective: Objective, run_plan: RunPlan, over: str
    ) -> None:
        self._experiment = experiment
        self._knobs = knobs
        self._objective = objective
        self._run_plan = run_plan
        self._over = min if over == "worst" else lambda values: float(np.mean(values))
        self._points = [dict(point) for point in expand(experiment.sweep)]
        self._known: dict[str, Trial] = {}

    def grid(self) -> list[Trial]:
        combinations = itertools.product(*(knob.axis.choices for knob in self._knobs))
        return self.trials([self._params(values) for values in combinations])

    def sampled(self, sampler: str, count: int) -> list[Trial]:
        study = Study([knob.axis for knob in self._knobs], sampler, self._experiment.seed)
        found: list[Trial] = []
        while len(found) < count:
            proposed = study.ask()
            batch = self._fresh([self._params([point[knob.name] for knob in self._knobs]) for point in proposed])
            study.tell([trial.value for trial in batch])
            found += batch
        return found[:count]

    def _fresh(self, candidates: Sequence[Values]) -> list[Trial]:
        """The trials of candidates, without those that were tried before."""
        new = {str(params): params for params in candidates if str(params) not in self._known}
        self._known |= zip(new, self.trials([*new.values()]), strict=True) if new else {}
        return [self._known[str(params)] for params in candidates]

    def _params(self, values: Sequence[Value]) -> Values:
        return {knob.name: knob.written(value) for knob, value in zip(self._knobs, values, strict=True)}

    def _fields(self, params: Mapping[str, Any]) -> Values:
        return {knob.field: params[knob.name] for knob in self._knobs}

    def written(self, trial: Trial) -> Written:
        """The experiment with a trial's parameters."""
        data = plain_data(self._experiment)
        for field, value in self._fields(trial.params).items():
            put(data, field, value)
        parse_experiment(data, self._experiment.experiment)
        return data

    def trials(self, candidates: Sequence[Values | None]) -> list[Trial]:
        """The trials of candidates on the experiment's own seeds; None is the experiment as written."""
        groups = self._values(candidates, self._experiment.seed, self._experiment.repeats)
        return [self._trial(params or {}, group) for params, group in zip(candidates, groups, strict=True)]

    def _trial(self, params: Values, values: list[list[float]] | str) -> Trial:
        if isinstance(values, str):
            return Trial(params, fault=values)
        points = tuple(float(np.mean(point)) for point in values)
        return Trial(params, points, float(self._over(points)))

    def confirm(self, best: Trial, count: int) -> Confirmation:
        first = self._experiment.seed + self._experiment.repeats
        both = [self._values([candidate], first, count)[0] for candidate in (None, dict(best.params))]
        for values in both:
            if isinstance(values, str):
                raise BackendError("confirming", self._experiment.experiment, values, "use another --seed")
        untuned, tuned = (np.array([self._over(seed) for seed in zip(*values, strict=True)]) for values in both)
        difference = low = high = float((tuned - untuned).mean())
        if count > 1:
            difference, low, high = mean_interval(tuned - untuned)
        seeds = tuple(range(first, first + count))
        return Confirmation(seeds, float(untuned.mean()), float(tuned.mean()), difference, low, high)

    def _values(self, candidates: Sequence[Values | None], seed: int, repeats: int) -> list[list[list[float]] | str]:
        """For each candidate, the objective at each point and seed; or its error."""
        sweep = [
            point | (self._fields(params) if params is not None else {})
            for params in candidates
            for point in self._points
        ]
        experiment = with_sweep(self._experiment, sweep if any(sweep) else None)
        documents = self._run_plan(compile_plan(experiment, seed=seed, repeats=repeats))
        size = len(self._points) * repeats
        return [self._judged(documents[begin : begin + size], repeats) for begin in range(0, len(documents), size)]

    def _judged(self, documents: Sequence[RunDocument], repeats: int) -> list[list[float]] | str:
        values = []
        for document in documents:
            if document["status"] == "failed":
                return f"run {document['run'][:8]} failed: {document['error']['what']}"
            try:
                values.append(self._objective.value(document))
            except ValueError as error:
                return f"run {document['run'][:8]}: {error}"
        return [values[begin : begin + repeats] for begin in range(0, len(values), repeats)]


def _refused(text: str, what: str) -> PlanError:
    return PlanError("reading", f"--param {text}", what)
