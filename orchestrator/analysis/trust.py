"""Compares two backends: for each measure the mean difference, with its interval.

Runs are paired by their seeds: start times and the draws of chance are the same in both, so that the remaining difference is the backends'.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from longhaul.orchestrator.analysis.intervals import mean_interval
from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Measures of every flow, of the path, of the run; a difference is a share of the reference, or absolute.
_FLOW_MEASURES = ("goodput", "rtt_min", "rtt_p50", "cwnd_mean", "retransmits")
_PATH_MEASURES = ("utilisation", "queue_mean", "drops")
_RUN_MEASURES = ("jain",)


@dataclass(frozen=True, slots=True)
class Difference:
    """`value` is the reference's mean, `difference` the deviation of the other, between `low` and `high` with 95 % confidence."""

    measure: str
    flow: str | None
    value: float
    difference: float
    low: float
    high: float

    @property
    def agrees(self) -> bool:
        """Whether chance alone explains the difference."""
        return self.low <= 0 <= self.high


def differences(reference: Sequence[RunDocument], other: Sequence[RunDocument]) -> Iterator[Difference]:
    """Every measure that both have, of the repeats of one experiment in two backends."""
    for flow, measure in _measured(reference[0]):
        reference_runs, other_runs = (_by_seed(documents, measure, flow) for documents in (reference, other))
        if seeds := sorted(reference_runs.keys() & other_runs.keys()):
            apart = np.array([other_runs[seed] - reference_runs[seed] for seed in seeds])
            difference, low, high = mean_interval(apart)
            yield Difference(
                measure, flow, float(np.mean([reference_runs[seed] for seed in seeds])), difference, low, high
            )


def _measured(document: RunDocument) -> Iterator[tuple[str | None, str]]:
    for flow in document["flows"]:
        yield from ((flow["name"], measure) for measure in _FLOW_MEASURES)
    yield from ((None, measure) for measure in _PATH_MEASURES)
    if len(document["flows"]) > 1:
        yield from ((None, measure) for measure in _RUN_MEASURES)


def _by_seed(documents: Sequence[RunDocument], measure: str, flow: str | None) -> dict[int, float]:
    found = ((document["seed"], value_of(document, measure, flow)) for document in documents)
    return {seed: value for seed, value in found if value is not None}
