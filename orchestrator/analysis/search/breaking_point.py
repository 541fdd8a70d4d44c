"""Finds the condition closest to the benign end at which a claim breaks, and confirms it on fresh seeds.

On one field the range is divided into quarters, and the first quarter at whose end the claim breaks is divided by three until it is
as small as requested. On several fields, the same along the diagonal gives a first counterexample; then Optuna proposes conditions, those
farther out than the best so far are drawn in towards the benign corner, and finally the line to the best one is divided.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from longhaul.orchestrator.analysis.objective import Claim
from longhaul.orchestrator.analysis.search.ranges import Position, Range, distance
from longhaul.orchestrator.analysis.search.sampling import BATCH, Axis, Study
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.amounts import write_amount
from longhaul.orchestrator.spec.load import Experiment, parse_experiment, plain_data, with_sweep
from longhaul.orchestrator.spec.yaml_text import put
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Fields of an experiment and their values in a condition.
Values = dict[str, Any]
# An experiment as it is written.
Written = dict[str, Any]
RunPlan = Callable[[Plan], list[RunDocument]]

_QUARTERS = (0.0, 0.25, 0.5, 0.75, 1.0)
_RESOLUTION = 0.005
_COARSE = 0.02
# The share of trials for the last division of the best one's line, and how far in it begins and new conditions are drawn.
_LAST_CUT = 6
_DRAWN_IN = 0.9
# Next to the boundary the claim breaks on some seeds and holds on others: this many are tried from there outwards.
_MOST_CONFIRMED = 12
_FARTHER = (1.03, 1.06, 1.1, 1.2, 1.5)


@dataclass(frozen=True, slots=True)
class Condition:
    """A tried condition: the claim's margin with each seed (negative: it breaks), or the error."""

    position: Position
    values: Values
    margins: tuple[float, ...] = ()
    fault: str = ""

    @property
    def breaks(self) -> bool:
        """With every seed."""
        return bool(self.margins) and max(self.margins) < 0

    @property
    def distance(self) -> float:
        return distance(self.position)

    def as_json(self) -> dict[str, Any]:
        """The condition as documents have it."""
        document: dict[str, Any] = {"values": self.values, "distance": self.distance, "breaks": self.breaks}
        return document | ({"error": self.fault} if self.fault else {"margins": list(self.margins)})


@dataclass(frozen=True, slots=True)
class Found:
    """Every condition tried, in order; the counterexample that broke with every fresh seed, as an experiment."""

    tried: tuple[Condition, ...]
    counterexample: Condition | None
    experiment: Written | None
    seeds: tuple[int, ...]
    values: tuple[float, ...]
    unconfirmed: int


@dataclass(slots=True)
class Hunt:
    """Conditions of some positions, each judged once; `judge` runs them together."""

    judge: Callable[[list[Position]], list[Condition]]
    known: dict[Position, Condition] = field(default_factory=dict)

    def try_all(self, positions: Sequence[Position]) -> list[Condition]:
        """The conditions at these positions, in order."""
        new = [position for position in dict.fromkeys(positions) if position not in self.known]
        if new:
            self.known |= zip(new, self.judge(new), strict=True)
        return [self.known[position] for position in positions]

    @property
    def best(self) -> Condition | None:
        """The condition that breaks closest to the benign corner."""
        return min((one for one in self.known.values() if one.breaks), key=lambda one: one.distance, default=None)


def along(hunt: Hunt, end: Position, resolution: float, most: int) -> None:
    """Divide the line from the benign corner to an end, with at most `most` conditions."""
    first = hunt.try_all([_part(end, share) for share in _QUARTERS])
    index = next((index for index, condition in enumerate(first) if condition.breaks), None)
    if index:
        _cut(hunt, end, _QUARTERS[index - 1], _QUARTERS[index], resolution, most - len(_QUARTERS))


def _cut(hunt: Hunt, end: Position, low: float, high: float, resolution: float, most: int) -> None:
    while high - low > resolution and most >= 2:
        third = (high - low) / 3
        near, far = hunt.try_all([_part(end, low + third), _part(end, low + 2 * third)])
        most -= 2
        low, high = (
            (low, low + third)
            if near.breaks
            else (low + third, low + 2 * third)
            if far.breaks
            else (low + 2 * third, high)
        )


def anywhere(hunt: Hunt, axes: int, seed: int, most: int) -> None:
    """Search a whole box of several fields."""
    corner: Position = (1.0,) * axes
    along(hunt, corner, _COARSE, most)
    if hunt.known[(0.0,) * axes].breaks:
        return
    names = [f"position {number}" for number in range(axes)]
    study = Study([Axis(name) for name in names], "tpe", seed)
    for condition in hunt.known.values():
        study.add_known(dict(zip(names, condition.position, strict=True)), _score(condition))
    idle = 0
    while len(hunt.known) < most - _LAST_CUT and idle < most:
        before = len(hunt.known)
        proposed = [
            tuple(float(point[name]) for name in names) for point in study.ask(min(BATCH, most - _LAST_CUT - before))
        ]
        study.tell([None] * len(proposed))
        for condition in hunt.try_all([_drawn_in(position, hunt.best) for position in proposed]):
            study.add_known(dict(zip(names, condition.position, strict=True)), _score(condition))
        idle = idle + 1 if len(hunt.known) == before else 0
    if hunt.best is not None:
        _cut(hunt, hunt.best.position, 0.5, 1.0, _COARSE, _LAST_CUT)


def _score(condition: Condition) -> float:
    """A break close to the benign corner is best; if the claim holds, a smaller margin is better."""
    if condition.breaks:
        return -condition.distance
    return -1.0 - (max(condition.margins) if condition.margins else 1.0)


def _drawn_in(position: Position, best: Condition | None) -> Position:
    if best is None or distance(position) < best.distance:
        return position
    return _part(position, _DRAWN_IN * best.distance / distance(position))


def _part(end: Position, share: float) -> Position:
    # Rounded, so that the same condition is the same key.
    return tuple(round(one * share, 6) for one in end)


def search(
    experiment: Experiment,
    ranges: Sequence[Range],
    claim: Claim,
    run_plan: RunPlan,
    *,
    trials: int = 24,
    confirm: int = 3,
) -> Found:
    """Search, then confirm on `confirm` seeds after those of the search."""
    if experiment.sweep is not None:
        raise PlanError("searching", experiment.experiment, "it has its own sweep", "give the ranges with --over")
    searcher = _Searcher(experiment, ranges, claim, run_plan)
    hunt = Hunt(searcher.judge)
    if len(ranges) == 1:
        along(hunt, (1.0,), _RESOLUTION, trials)
    else:
        anywhere(hunt, len(ranges), experiment.seed, trials)
    tried = tuple(hunt.known.values())
    if all(condition.fault for condition in tried):
        raise BackendError("searching", experiment.experiment, tried[0].fault, "run the experiment alone for details")
    first = experiment.seed + experiment.repeats
    seeds = tuple(range(first, first + confirm))
    candidates = _candidates(tried)
    for rejected, position in enumerate(candidates):
        data, condition, values = searcher.confirm(position, seeds)
        if condition.breaks:
            return Found(tried, condition, data, seeds, values, rejected)
    return Found(tried, None, None, seeds, (), len(candidates))


def _candidates(tried: Sequence[Condition]) -> list[Position]:
    """Candidates for a counterexample, the closest first: conditions that broke, and the best one's line farther out."""
    breaking = [condition.position for condition in tried if condition.breaks]
    if not breaking:
        return []
    best = min(breaking, key=distance)
    farther = [_part(best, factor) for factor in _FARTHER]
    inside = [position for position in farther if max(position) <= 1]
    return sorted(dict.fromkeys([*breaking, *inside]), key=distance)[:_MOST_CONFIRMED]


class _Searcher:
    def __init__(self, experiment: Experiment, ranges: Sequence[Range], claim: Claim, run_plan: RunPlan) -> None:
        self._experiment = experiment
        self._ranges = ranges
        self._claim = claim
        self._run_plan = run_plan

    def judge(self, positions: list[Position]) -> list[Condition]:
        values = [self._values(position) for position in positions]
        documents = self._run_plan(compile_plan(with_sweep(self._experiment, values)))
        repeats = self._experiment.repeats
        return [
            self._condition(position, point, documents[index * repeats : (index + 1) * repeats])
            for index, (position, point) in enumerate(zip(positions, values, strict=True))
        ]

    def _values(self, position: Position) -> Values:
        return {one.field: one.value(place) for one, place in zip(self._ranges, position, strict=True)}

    def _condition(self, position: Position, values: Values, documents: Sequence[RunDocument]) -> Condition:
        # As shares of the bound, so that the sampler can compare margins of several claims.
        scale = abs(self._claim.bound) or 1.0
        margins = []
        for document in documents:
            if document["status"] == "failed":
                return Condition(
                    position, values, fault=f"run {document['run'][:8]} failed: {document['error']['what']}"
                )
            try:
                margins.append(self._claim.margin(document) / scale)
            except ValueError as error:
                return Condition(position, values, fault=f"run {document['run'][:8]}: {error}")
        return Condition(position, values, tuple(margins))

    def confirm(self, position: Position, seeds: Sequence[int]) -> tuple[Written, Condition, tuple[float, ...]]:
        """The counterexample as an experiment, and the outcome of exactly that experiment."""
        values = self._values(position)
        data = self._written(values, seeds)
        documents = self._run_plan(compile_plan(parse_experiment(data, self._experiment.experiment)))
        condition = self._condition(position, values, documents)
        values_there = [] if condition.fault else [one["expect"][0]["value"] for one in documents]
        return data, condition, tuple(float(value) for value in values_there if value is not None)

    def _written(self, values: Values, seeds: Sequence[int]) -> Written:
        """The experiment at a condition, expecting the claim, with the seeds that show that it breaks."""
        data = plain_data(self._experiment)
        for path, value in values.items():
            put(data, path, value)
        return data | {"seed": seeds[0], "repeats": len(seeds), "expect": [expected(self._claim)]}


def expected(claim: Claim) -> dict[str, Any]:
    """The claim as a line of `expect`."""
    flow = {"flow": claim.measure.flow} if claim.measure.flow else {}
    return {
        "measure": claim.measure.name,
        **flow,
        "at_least" if claim.at_least else "at_most": write_amount(claim.measure.name, claim.bound),
    }
