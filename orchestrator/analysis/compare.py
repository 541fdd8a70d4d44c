"""Compares two sets of runs, pair by pair: each measure's difference, its confidence interval, and whether it is worse.

    difference    the mean of b - a over the seeds of a point, with its bootstrap interval (intervals.py)
    effect        difference / |mean of a|

    same            equal numbers in every pair
    no difference   the interval lies within the least effect that matters, on both sides
    better, worse   the interval lies on one side of 0, and the effect is the least that matters or more;
    changed           `changed` if neither direction is better
    unclear         none of these: more seeds are needed
    missing         a gate's measure has a value in A and none in B
    no verdict      one pair: it has no interval, and another seed may say the opposite

In virtual time, where the same run again gives the same numbers, a gate takes the difference of one pair as it is: it fails for a worse one,
and never reports a better one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np

from longhaul.orchestrator.analysis.aggregate import measure_keys
from longhaul.orchestrator.analysis.intervals import count_to_resolve, mean_interval
from longhaul.orchestrator.analysis.pairing import Differing, Pair, Pairing
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.analysis.values import flow_names, value_of
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.recordings.recording import Recording

SAME, NO_DIFFERENCE, BETTER, WORSE, CHANGED = "same", "no difference", "better", "worse", "changed"
UNCLEAR, MISSING, NO_VERDICT = "unclear", "missing", "no verdict"
# In the order of interest to readers.
VERDICTS = (MISSING, WORSE, BETTER, CHANGED, UNCLEAR, NO_VERDICT, NO_DIFFERENCE, SAME)

# In real time, fewer seeds than this are not conclusive.
_FEWEST_REAL = 5


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number that runs have; larger is better where `better` is 1, smaller where it is -1. None: it has no value in a run."""

    measure: str
    flow: str | None
    better: int
    value: Callable[[RunDocument], float | None]
    phase: str | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """A quantity at a point. Effects are shares of |a|, infinite where a is 0; `seeds` is about how many would decide."""

    point: Mapping[str, str]
    phase: str | None
    flow: str | None
    measure: str
    gates: bool
    n: int
    lacking: int
    a: float | None
    b: float | None
    difference: float | None
    low: float | None
    high: float | None
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    verdict: str
    seeds: int | None

    @property
    def fails(self) -> bool:
        """Whether the gate fails."""
        return self.gates and self.verdict in (WORSE, MISSING)

    def as_dict(self) -> dict[str, Any]:
        """The row for JSON documents, which have no infinity."""
        fields = asdict(self)
        return {
            name: None if isinstance(value, float) and math.isinf(value) else value for name, value in fields.items()
        }


@dataclass(frozen=True, slots=True)
class Comparison:
    """The result of a comparison; `gated` is the number of gated comparisons, which share one error rate.

    `differs` lists the differences between the pairs' plans, where known.
    """

    a: str
    b: str
    pairing: Pairing
    least: float
    gated: int
    rows: tuple[Row, ...]
    differs: tuple[Differing, ...] = ()
    # Of a comparison with recordings: those, with the names of the run's flows, and what to know about them.
    recorded: tuple[Recording, ...] = ()
    about_recorded: tuple[str, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether any gated measure is worse."""
        return any(row.fails for row in self.rows)

    @property
    def identical(self) -> bool:
        """Whether the traces of every pair are identical."""
        return all(_same_trace(pair) for pair in self.pairing.pairs)


def compare(a: str, b: str, pairing: Pairing, gates: Sequence[Quantity], least: float) -> Comparison:
    """Every gate and every other measure that both sides have, at each point; `a` and `b` are the names of the sides."""
    groups = pairing.by_point()
    gated = [(group, quantity, _Sample(group, quantity)) for group in groups for quantity in gates]
    comparisons = sum(len(sample.a) > 1 for _, _, sample in gated)
    judge = _Judge(least, max(1, comparisons))
    rows = [
        judge.row(group, quantity, sample, gates=True)
        for group, quantity, sample in gated
        if len(sample.a) or sample.lacking
    ]
    named = {(quantity.measure, quantity.flow, quantity.phase) for quantity in gates}
    for group in groups:
        for quantity in _measures(group):
            if (quantity.measure, quantity.flow, quantity.phase) not in named:
                sample = _Sample(group, quantity)
                if len(sample.a):
                    rows.append(judge.row(group, quantity, sample, gates=False))
    return Comparison(a, b, pairing, least, sum(row.gates for row in rows), tuple(rows))


class _Sample:
    """The values of a quantity in the pairs of a point where both runs have one, and the number of pairs where only B has none."""

    def __init__(self, group: Sequence[Pair], quantity: Quantity) -> None:
        values = [(quantity.value(first), quantity.value(second)) for first, second in group]
        both = [(one, other) for one, other in values if one is not None and other is not None]
        self.a: Floats = np.array([one for one, _ in both], dtype=np.float64)
        self.b: Floats = np.array([other for _, other in both], dtype=np.float64)
        self.lacking = sum(one is not None and other is None for one, other in values)


@dataclass(frozen=True, slots=True)
class _Judge:
    """The least effect that matters, and the number of gated comparisons."""

    least: float
    comparisons: int

    def row(self, group: Sequence[Pair], quantity: Quantity, sample: _Sample, *, gates: bool) -> Row:
        n = len(sample.a)
        base = abs(float(sample.a.mean())) if n else 0.0
        differences = sample.b - sample.a
        level = self.comparisons if gates else 1
        difference: float | None = None
        low: float | None = None
        high: float | None = None
        if n > 1:
            difference, low, high = mean_interval(differences, level)
        elif n:
            difference = float(differences[0])
        effect, effect_low, effect_high = (
            None if one is None else _share(one, base) for one in (difference, low, high)
        )
        verdict, seeds = MISSING, None
        if effect is not None and not (gates and sample.lacking):
            if effect_low is None or effect_high is None:
                verdict, seeds = self._single(effect, quantity, group[0], gates=gates)
            else:
                verdict = self._verdict(effect, effect_low, effect_high, quantity, same=not differences.any())
                seeds = self._seeds(n, effect, effect_low, effect_high, level) if verdict == UNCLEAR else None
        return Row(
            dict(group[0][0]["point"]), quantity.phase, quantity.flow, quantity.measure, gates, n, sample.lacking,
            float(sample.a.mean()) if n else None, float(sample.b.mean()) if n else None,
            difference, low, high, effect, effect_low, effect_high, verdict, seeds,
        )  # fmt: skip

    def _single(self, effect: float, quantity: Quantity, pair: Pair, *, gates: bool) -> tuple[str, int | None]:
        if effect == 0:
            return SAME, None
        if any(document.get("clock") == "real" for document in pair):
            return UNCLEAR, _FEWEST_REAL
        if not gates:
            return NO_VERDICT, None
        if abs(effect) < self.least:
            return NO_DIFFERENCE, None
        return WORSE if _direction(effect, quantity) == WORSE else NO_VERDICT, None

    def _verdict(self, effect: float, low: float, high: float, quantity: Quantity, *, same: bool) -> str:
        if same:
            return SAME
        if -self.least <= low and high <= self.least:
            return NO_DIFFERENCE
        if (low > 0 or high < 0) and abs(effect) >= self.least:
            return _direction(effect, quantity)
        return UNCLEAR

    def _seeds(self, n: int, effect: float, low: float, high: float, level: int) -> int | None:
        """The seeds that shrink the interval enough: below the effect if that matters, else below the distance to the least effect that does."""
        wanted = abs(effect) if abs(effect) >= self.least else self.least - abs(effect)
        half_width = (high - low) / 2
        return count_to_resolve(n, half_width, wanted, level) if math.isfinite(half_width) and wanted > 0 else None


def _direction(effect: float, quantity: Quantity) -> str:
    return CHANGED if not quantity.better else BETTER if effect * quantity.better > 0 else WORSE


def _share(difference: float, base: float) -> float:
    if base:
        return difference / base
    return math.copysign(math.inf, difference) if difference else 0.0


def _measures(group: Sequence[Pair]) -> Iterator[Quantity]:
    """Every measure that both sides have, in the order of the documents."""
    pair = next((pair for pair in group if not any(_failed(document) for document in pair)), None)
    if pair is None:
        return
    first, second = pair
    flows = {None, *flow_names(second)}
    phases = {None, *second.get("phases", {})}
    for phase, flow, measure in measure_keys(first):
        if flow in flows and phase in phases:
            yield measure_of_runs(measure, flow, phase)


def measure_of_runs(measure: str, flow: str | None, phase: str | None = None) -> Quantity:
    """A measure as something to compare."""

    def value(document: RunDocument) -> float | None:
        return None if _failed(document) else value_of(document, measure, flow, phase)

    return Quantity(measure, flow, MEASURES[measure].better, value, phase)


def _failed(document: RunDocument) -> bool:
    return document["status"] == "failed"


def _same_trace(pair: Pair) -> bool:
    first, second = (document.get("trace_sha256") for document in pair)
    return first is not None and first == second
