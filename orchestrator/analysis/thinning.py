"""Thins a long series for a chart: selects values so that a line through them covers the same dots.

    |first ... least ... greatest ... last|first ... least ... greatest ... last| ...      equal stretches of time

No spike is lost, nothing is averaged, and a quiet stretch keeps its values next to a busy one. A million values take about a millisecond.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

# A stretch keeps its first, last, least and greatest value; no fewer can be requested.
LEAST_POINTS = 4

Indices = NDArray[np.intp]


def thin(x: NDArray[Any], y: NDArray[Any], points: int) -> Indices:
    """Indices of at most `points` values to keep, in order; `x` never falls. NaN is no value: it is kept only at the ends of a stretch."""
    if points < LEAST_POINTS:
        raise ValueError(f"{points} points are fewer than the {LEAST_POINTS} that a stretch keeps")
    if len(x) <= points:
        return np.arange(len(x))
    begins = _begins(x, points // LEAST_POINTS)
    lows, highs = _without_nan(y)
    least, greatest = _first_of(lows, np.minimum, begins), _first_of(highs, np.maximum, begins)
    return _each_once(np.concatenate([begins, np.append(begins[1:], len(x)) - 1, least, greatest]))


def _first_of(y: NDArray[Any], extreme: np.ufunc, begins: Indices) -> Indices:
    """The first extreme of each stretch. Whole arrays at a time: a call a stretch would delay every other thread."""
    lengths = np.diff(begins, append=len(y))
    found = np.flatnonzero(y == np.repeat(extreme.reduceat(y, begins), lengths))
    return found[np.searchsorted(found, begins)]


def _begins(x: NDArray[Any], stretches: int) -> Indices:
    """The beginnings of the stretches with a value."""
    edges = x[0] + np.arange(1, stretches) * (float(x[-1] - x[0]) / stretches)
    # Edges of the series' own type, or numpy would convert the whole series. Among whole numbers, an edge is rounded up.
    own = (edges if x.dtype.kind == "f" else np.ceil(edges)).astype(x.dtype)
    return _each_once(np.append(0, np.searchsorted(x, own)))


def _each_once(indices: Indices) -> Indices:
    """In order. `numpy.unique` would load more of numpy than the chart of a short run takes."""
    ordered = np.sort(indices)
    once: Indices = ordered[np.append(True, ordered[1:] != ordered[:-1])]
    return once


def _without_nan(y: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Values without NaN, which is never the least or the greatest."""
    if y.dtype.kind != "f" or not (missing := np.isnan(y)).any():
        return y, y
    return np.where(missing, np.inf, y), np.where(missing, -np.inf, y)
