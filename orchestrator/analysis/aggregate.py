"""Summarises repeats: one row a point, flow and measure, with its confidence interval.

A single value is its own summary, for which numpy is not loaded.
"""

from __future__ import annotations

import json
import math
from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.analysis.values import key_of, value_of
from longhaul.orchestrator.plan.run_document import RunDocument, RunNumbers
from longhaul.orchestrator.spec.measures import MEASURES, OF_TOTALS

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from longhaul.orchestrator.analysis.series import Floats

# Phase, flow and name of a measure.
_Key = tuple[str | None, str | None, str]
_RESAMPLES = 2000
_INTERVAL = (2.5, 97.5)


def _mean(values: Floats) -> Floats:
    import numpy as np

    return np.asarray(values.mean(axis=-1))


def _median(values: Floats) -> Floats:
    import numpy as np

    return np.asarray(np.median(values, axis=-1))


def trimmed_mean(values: Floats) -> Floats:
    """The mean without the largest and the smallest value; of fewer than three, the mean."""
    import numpy as np

    kept = np.sort(values)[..., 1:-1] if values.shape[-1] > 2 else values
    return np.asarray(kept.mean(axis=-1))


# Over the last axis, so that all resamples are summarised at once.
AGGREGATES: dict[str, Callable[[Floats], Floats]] = {"mean": _mean, "median": _median, "trimmed_mean": trimmed_mean}


def summarise_repeats(documents: Iterable[RunDocument], aggregate: str) -> list[dict[str, Any]]:
    """The `summary` of a result: every measure of every flow, over the repeats of each point."""
    repeats = Repeats()
    for document in documents:
        repeats.add(document)
    return list(repeats.summarise(aggregate))


class Repeats:
    """The values of many runs, of which each may be forgotten once it is added: those of the measures that the first run of its point has."""

    def __init__(self) -> None:
        self._points: dict[str, tuple[dict[str, str], tuple[_Key, ...], list[array[float]]]] = {}
        self._keys: dict[tuple[_Key, ...], tuple[_Key, ...]] = {}

    def add(self, document: RunDocument) -> None:
        """Take the values of one run."""
        key = point_key(document["point"])
        if key not in self._points:
            # Nearly all points have the same measures.
            keys = tuple(measure_keys(document))
            self._points[key] = (dict(document["point"]), self._keys.setdefault(keys, keys), [])
        _, keys, runs = self._points[key]
        found = (value_of(document, measure, flow, phase) for phase, flow, measure in keys)
        runs.append(array("d", (math.nan if value is None else value for value in found)))

    def summarise(self, aggregate: str) -> Iterator[dict[str, Any]]:
        """The rows of the summary."""
        for point, keys, runs in self._points.values():
            for place, (phase, flow, measure) in enumerate(keys):
                values = [run[place] for run in runs if not math.isnan(run[place])]
                if values:
                    value, low, high = with_interval(values, aggregate)
                    yield {
                        "point": point,
                        **({} if phase is None else {"phase": phase}),
                        "flow": flow,
                        "measure": key_of(measure, flow),
                        "value": value,
                        "low": low,
                        "high": high,
                        "n": len(values),
                        "aggregate": aggregate,
                    }


def with_interval(values: Floats | Sequence[float], aggregate: str) -> tuple[float, float, float]:
    """The aggregate and its 95 % bootstrap interval, drawn from a fixed seed so that equal data give equal intervals."""
    combine = AGGREGATES[aggregate]
    if len(values) == 1:
        value = float(values[0])
        return value, value, value
    import numpy as np

    numbers = np.asarray(values, np.float64)
    low, high = np.percentile(combine(numbers[_draws(len(numbers))]), _INTERVAL)
    return float(combine(numbers)), float(low), float(high)


@cache
def _draws(count: int) -> NDArray[np.int64]:
    import numpy as np

    return np.random.default_rng(1).integers(0, count, (_RESAMPLES, count))


def by_point(documents: Iterable[RunDocument]) -> list[list[RunDocument]]:
    """The repeats, grouped by point."""
    groups: dict[str, list[RunDocument]] = {}
    for document in documents:
        groups.setdefault(point_key(document["point"]), []).append(document)
    return list(groups.values())


def point_key(point: Mapping[str, str]) -> str:
    """The key that equal points share."""
    return json.dumps(point, sort_keys=True)


def without(point: Mapping[str, str], *fields: str) -> dict[str, str]:
    """A point without these fields."""
    return {name: value for name, value in point.items() if name not in fields}


def measure_keys(document: RunNumbers) -> Iterator[tuple[str | None, str | None, str]]:
    """Phase (none: the window), flow (none: the path or the run) and name of every measure."""
    for phase in (None, *document.get("phases", {})):
        for flow in document["flows"]:
            yield from ((phase, flow["name"], measure) for measure in _measures(phase, "flow", "either"))
        for total in document.get("totals", ()):
            of_flows = _measures(phase, "flow")
            yield from ((phase, total["name"], measure) for measure in of_flows if measure in OF_TOTALS)
        yield from ((phase, None, measure) for measure in _measures(phase, "path", "either", "run"))


def _measures(phase: str | None, *of: str) -> Iterator[str]:
    return (name for name, measure in MEASURES.items() if measure.of in of and (phase is None or measure.phased))
