"""The only module that uses Optuna: takes axes, returns batches of points to try, takes their scores.

A study is seeded and returns batches of one size, so that the same scores give the same points however many runs are active at a time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from longhaul.orchestrator.system.extras import need
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

try:
    import optuna
    from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
except ImportError:
    need("tuning")
    raise

SAMPLERS = ("tpe", "random", "cmaes")
BATCH = 4

Value = float | int | str


@dataclass(frozen=True, slots=True)
class Axis:
    """A varied value: one of `choices`, or a number from `low` to `high`, on a logarithmic scale if it is above 0."""

    name: str
    choices: tuple[Value, ...] = ()
    low: float = 0.0
    high: float = 1.0
    whole: bool = False

    @property
    def distribution(self) -> BaseDistribution:
        if self.choices:
            return CategoricalDistribution(self.choices)
        if self.whole:
            return IntDistribution(int(self.low), int(self.high), log=self.low > 0)
        return FloatDistribution(self.low, self.high, log=self.low > 0)


class Study:
    """Looks for the point with the highest score."""

    def __init__(self, axes: Sequence[Axis], sampler: str, seed: int) -> None:
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._distributions = {axis.name: axis.distribution for axis in axes}
        self._study = optuna.create_study(direction="maximize", sampler=_sampler(sampler, seed))
        self._proposed: list[Any] = []

    def ask(self, count: int = BATCH) -> list[dict[str, Value]]:
        """The next points to try."""
        self._proposed = [self._study.ask(self._distributions) for _ in range(count)]
        return [dict(trial.params) for trial in self._proposed]

    def tell(self, scores: Sequence[float | None]) -> None:
        """Report the scores of the last proposed points; None for a point without a score."""
        for trial, score in zip(self._proposed, scores, strict=True):
            if score is None or not math.isfinite(score):
                self._study.tell(trial, state=optuna.trial.TrialState.FAIL)
            else:
                self._study.tell(trial, score)

    def add_known(self, point: dict[str, Value], score: float) -> None:
        """Add a point with a known score that was not proposed."""
        self._study.add_trial(optuna.trial.create_trial(params=point, distributions=self._distributions, value=score))


def _sampler(name: str, seed: int) -> optuna.samplers.BaseSampler:
    if name == "random":
        return optuna.samplers.RandomSampler(seed=seed)
    if name == "cmaes":
        # For choices and on a single axis, where its own method does not apply, it draws at random.
        return optuna.samplers.CmaEsSampler(seed=seed, warn_independent_sampling=False)
    return optuna.samplers.TPESampler(seed=seed, n_startup_trials=2 * BATCH)
