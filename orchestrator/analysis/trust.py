"""How far two places where a run can happen agree: of each measure the difference of the means, with its interval."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.analysis.measures import value_of
from orchestrator.analysis.series import Floats

_RESAMPLES = 2000
_INTERVAL = (2.5, 97.5)

# Of every flow, of the path, of the run; a difference is a share of the reference, or of what stands beside it as it is.
_FLOW_MEASURES = ("goodput", "rtt_min", "rtt_p50", "cwnd_mean", "retransmits")
_PATH_MEASURES = ("utilisation", "queue_mean", "drops")
_RUN_MEASURES = ("jain",)


@dataclass(frozen=True, slots=True)
class Difference:
    """`value` is that of the reference, `low` and `high` bound the difference of the other from it with 95 % confidence."""

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


def differences(reference: Sequence[dict[str, Any]], other: Sequence[dict[str, Any]]) -> Iterator[Difference]:
    """Every measure that both have, of the repeats of one experiment in two places."""
    for flow, measure in _measured(reference[0]):
        ours, theirs = (_values(documents, measure, flow) for documents in (reference, other))
        if len(ours) and len(theirs):
            low, high = _interval(ours, theirs)
            value = float(ours.mean())
            yield Difference(measure, flow, value, float(theirs.mean()) - value, low, high)


def _measured(document: dict[str, Any]) -> Iterator[tuple[str | None, str]]:
    for flow in document["flows"]:
        yield from ((flow["name"], measure) for measure in _FLOW_MEASURES)
    yield from ((None, measure) for measure in _PATH_MEASURES)
    if len(document["flows"]) > 1:
        yield from ((None, measure) for measure in _RUN_MEASURES)


def _values(documents: Sequence[dict[str, Any]], measure: str, flow: str | None) -> Floats:
    found = [value for document in documents if (value := value_of(document, measure, flow)) is not None]
    return np.array(found, dtype=np.float64)


def _interval(ours: Floats, theirs: Floats) -> tuple[float, float]:
    """Bootstrap of the difference of two means, drawn from a fixed seed so that equal data give equal intervals."""
    draw = np.random.default_rng(1)
    means = [values[draw.integers(0, len(values), (_RESAMPLES, len(values)))].mean(axis=1) for values in (ours, theirs)]
    low, high = np.percentile(means[1] - means[0], _INTERVAL)
    return float(low), float(high)
