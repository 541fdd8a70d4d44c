"""A long series made short for a picture: which of its values to keep, so that a line through them covers the same dots.

    |first ... least ... greatest ... last|first ... least ... greatest ... last| ...      equal stretches of time

No spike is lost, nothing is averaged, and a quiet stretch keeps its values beside a busy one. A million values take about a millisecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# What a stretch keeps: its first, last, least and greatest value. Fewer than this cannot be asked for.
LEAST_POINTS = 4

Indices = NDArray[np.intp]


def thin(x: NDArray[Any], y: NDArray[Any], points: int) -> Indices:
    """Places of at most `points` values to keep, in order; `x` never falls. NaN is no value: it is kept at the ends of a stretch alone."""
    if points < LEAST_POINTS:
        raise ValueError(f"{points} points hold no stretch, which keeps {LEAST_POINTS}")
    if len(x) <= points:
        return np.arange(len(x))
    begins = _begins(x, points // LEAST_POINTS)
    ends = np.append(begins[1:], len(x))
    lows, highs = _without_nan(y)
    # A call a stretch and side: they are few, and each runs through its values at the speed of memory.
    spans = list(zip(begins.tolist(), ends.tolist(), strict=True))
    least = [begin + int(lows[begin:end].argmin()) for begin, end in spans]
    greatest = [begin + int(highs[begin:end].argmax()) for begin, end in spans]
    return np.unique(np.concatenate([begins, ends - 1, np.array([least, greatest], dtype=np.intp).ravel()]))


def _begins(x: NDArray[Any], stretches: int) -> Indices:
    """Where the stretches begin that hold a value."""
    edges = x[0] + np.arange(1, stretches) * (float(x[-1] - x[0]) / stretches)
    # Edges of the series' own type, or numpy would convert the whole series to theirs. Among whole numbers, an edge is the next one.
    own = (edges if x.dtype.kind == "f" else np.ceil(edges)).astype(x.dtype)
    return np.unique(np.append(0, np.searchsorted(x, own)))


def _without_nan(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values among which a NaN is never the least, and never the greatest."""
    if y.dtype.kind != "f" or not (missing := np.isnan(y)).any():
        return y, y
    return np.where(missing, np.inf, y), np.where(missing, -np.inf, y)
