"""Thinning keeps every extreme, the first and the last value, in order, within the requested number of points."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as made
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.thinning import LEAST_POINTS, thin

SIZES = st.integers(1, 300)
VALUES = st.floats(allow_nan=True, allow_infinity=True, width=64)
POINTS = st.integers(LEAST_POINTS, 80)


@st.composite
def a_series(
    draw: st.DrawFn, values: st.SearchStrategy[float] = VALUES
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Rising times in nanoseconds, with bunches and gaps, and any values."""
    size = draw(SIZES)
    gaps = draw(made.arrays(np.uint64, size, elements=st.sampled_from([0, 1, 7, 1000, 10**9])))
    return np.cumsum(gaps, dtype=np.uint64), draw(made.arrays(np.float64, size, elements=values))


@given(a_series(), POINTS)
def test_it_is_a_part_of_the_series_in_order(
    series: tuple[NDArray[np.uint64], NDArray[np.float64]], points: int
) -> None:
    x, y = series
    kept = thin(x, y, points)
    assert len(kept) <= points
    assert (np.diff(kept) > 0).all()
    assert (kept[0], kept[-1]) == (0, len(x) - 1)
    if len(x) <= points:
        assert len(kept) == len(x)


@given(a_series(), POINTS)
def test_the_extremes_are_kept_also_next_to_nan(
    series: tuple[NDArray[np.uint64], NDArray[np.float64]], points: int
) -> None:
    x, y = series
    there = y[~np.isnan(y)]
    kept = y[thin(x, y, points)]
    kept = kept[~np.isnan(kept)]
    if len(there):
        assert (kept.min(), kept.max()) == (there.min(), there.max())


@given(a_series(st.floats(-1e9, 1e9)), POINTS)
def test_dropped_values_lie_between_kept_ones_of_a_stretch(
    series: tuple[NDArray[np.uint64], NDArray[np.float64]], points: int
) -> None:
    x, y = series
    kept = thin(x, y, points)
    # A nanosecond of tolerance: edges of stretches are whole ones.
    stretch = float(x[-1] - x[0]) / (points // LEAST_POINTS) + 1
    for place in sorted(set(range(len(x))) - set(kept.tolist())):
        near = y[kept][np.abs(x[kept].astype(np.float64) - float(x[place])) <= stretch]
        assert near.min() <= y[place] <= near.max()


@given(a_series(st.floats(0, 1e9)), POINTS)
def test_seconds_and_nanoseconds_are_thinned_to_the_same_shape(
    series: tuple[NDArray[np.uint64], NDArray[np.float64]], points: int
) -> None:
    x, y = series
    kept = thin(x / 1e9, y, points)
    assert len(kept) <= points
    assert (y[kept].min(), y[kept].max()) == (y.min(), y.max())


def test_each_stretch_of_time_keeps_four_known_values() -> None:
    # Two stretches of 50: a spike and a dip in each.
    y = np.zeros(100)
    y[[10, 20, 60, 70]] = [9, -9, -5, 5]
    assert thin(np.arange(100), y, 8).tolist() == [0, 10, 20, 49, 50, 60, 70, 99]


def test_a_quiet_stretch_keeps_its_values_next_to_a_busy_one() -> None:
    # Nine values 10 s apart, a thousand within the last 10 s, 20 stretches of 5 s.
    x = np.append(np.arange(9) * 10, 90 + np.arange(1001) / 100)
    assert np.count_nonzero(thin(x, x, 80) < 9) == 9


def test_all_at_one_moment_is_one_stretch() -> None:
    assert thin(np.full(50, 7), np.arange(50), 12).tolist() == [0, 49]


def test_an_empty_series_stays_empty_and_too_few_points_are_refused() -> None:
    assert len(thin(np.zeros(0), np.zeros(0), 4)) == 0
    with pytest.raises(ValueError, match="3 points"):
        thin(np.arange(9), np.arange(9), 3)
