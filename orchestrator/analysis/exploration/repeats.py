"""The points of a sweep with several measures each: the mean over the repeats, and its 95 % interval.

    point_values([("run id", {"path.rtt": "20 ms"}, (9.1e6, 41.2)), ...]) -> [PointValues, ...]

The intervals are those of comparisons (intervals.py). One run has no interval.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from longhaul.orchestrator.analysis.aggregate import point_key
from longhaul.orchestrator.analysis.intervals import mean_interval
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class RepeatedValue:
    """The mean of the runs that have a value; of a single one, no interval."""

    value: float
    low: float | None
    high: float | None
    runs: int


@dataclass(frozen=True, slots=True)
class PointValues:
    """A point, its runs, and each measure in order; None if no run has it."""

    point: dict[str, str]
    runs: tuple[str, ...]
    values: tuple[RepeatedValue | None, ...]


def point_values(runs: Iterable[tuple[str, Mapping[str, str], Sequence[float | None]]]) -> list[PointValues]:
    """Points in the order of their first runs, from runs with their points and values."""
    groups: dict[str, tuple[dict[str, str], list[str], list[Sequence[float | None]]]] = {}
    for run, point, values in runs:
        _, ids, rows = groups.setdefault(point_key(point), (dict(point), [], []))
        ids.append(run)
        rows.append(values)
    return [
        PointValues(point, tuple(ids), tuple(_repeated(column) for column in zip(*rows, strict=True)))
        for point, ids, rows in groups.values()
    ]


def _repeated(values: Sequence[float | None]) -> RepeatedValue | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean, low, high = mean_interval(np.array(known))
    if math.isinf(low):
        return RepeatedValue(mean, None, None, len(known))
    return RepeatedValue(mean, low, high, len(known))
