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
    lows, highs = _without_nan(y)
    least, greatest = _first_of(lows, np.minimum, begins), _first_of(highs, np.maximum, begins)
    return np.unique(np.concatenate([begins, np.append(begins[1:], len(x)) - 1, least, greatest]))


def _first_of(y: NDArray[Any], extreme: np.ufunc, begins: Indices) -> Indices:
    """Where each stretch has its extreme first. Whole arrays at a time: a call a stretch would hold every other thread up."""
    lengths = np.diff(begins, append=len(y))
    found = np.flatnonzero(y == np.repeat(extreme.reduceat(y, begins), lengths))
    return found[np.searchsorted(found, begins)]


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
