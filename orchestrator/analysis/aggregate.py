"""Summarises repeats: one row a point, flow and measure, with its confidence interval.

A single value is its own summary, for which numpy is not loaded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.analysis.values import key_of, value_of
from longhaul.orchestrator.plan.run_document import RunDocument, RunNumbers
from longhaul.orchestrator.spec.measures import MEASURES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from longhaul.orchestrator.analysis.series import Floats

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


def summarise_repeats(documents: Sequence[RunDocument], aggregate: str) -> list[dict[str, Any]]:
    """The `summary` of a result: every measure of every flow, over the repeats of each point."""
    rows = []
    for group in by_point(documents):
        for phase, flow, measure in measure_keys(group[0]):
            values = [value for document in group if (value := value_of(document, measure, flow, phase)) is not None]
            if values:
                value, low, high = with_interval(values, aggregate)
                rows.append(
                    {
                        "point": group[0]["point"],
                        **({} if phase is None else {"phase": phase}),
                        "flow": flow,
                        "measure": key_of(measure, flow),
                        "value": value,
                        "low": low,
                        "high": high,
                        "n": len(values),
                        "aggregate": aggregate,
                    }
                )
    return rows


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
        yield from ((phase, None, measure) for measure in _measures(phase, "path", "either", "run"))


def _measures(phase: str | None, *of: str) -> Iterator[str]:
    return (name for name, measure in MEASURES.items() if measure.of in of and (phase is None or measure.phased))
