"""Confidence interval of a mean difference of few pairs: the bootstrap's interval, widened for the small number of pairs.

The percentile bootstrap resamples what it has, and so is too narrow for few values: of five it contains the truth 83 times in a
hundred instead of 95. Both halves are stretched by t / z * sqrt(n / (n - 1)), the factor by which Student's interval is wider: t is
Student's quantile for n - 1 degrees of freedom, z the normal one. The same factor serves several comparisons at once: each of m
gets the level 1 - 5 % / m (Bonferroni), by t at that level.
"""

from __future__ import annotations

import math
from functools import cache
from statistics import NormalDist

from longhaul.orchestrator.analysis.aggregate import with_interval
from longhaul.orchestrator.analysis.series import Floats

_ALPHA = 0.05
_Z = NormalDist().inv_cdf(1 - _ALPHA / 2)
# No t of a level above 99.9999 % is larger.
_LARGEST_T = 1e7


def mean_interval(differences: Floats, comparisons: int = 1) -> tuple[float, float, float]:
    """The mean of differences, and its interval at 1 - 5 % / comparisons: a single difference has no finite interval."""
    mean, low, high = with_interval(differences, "mean")
    if len(differences) == 1:
        return mean, -math.inf, math.inf
    factor = stretch(len(differences), comparisons)
    return mean, mean + (low - mean) * factor, mean + (high - mean) * factor


@cache
def stretch(count: int, comparisons: int = 1) -> float:
    """The factor by which the half-widths of a bootstrap of this many values are too narrow."""
    return student_quantile(_ALPHA / comparisons, count - 1) / _Z * math.sqrt(count / (count - 1))


@cache
def student_quantile(alpha: float, freedom: int) -> float:
    """The t beyond which, on both sides together, a share alpha of Student's distribution lies."""
    low, high = 0.0, _LARGEST_T
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        if 1 - _within(middle, freedom) > alpha:
            low = middle
        else:
            high = middle
    return high


def _within(t: float, freedom: int) -> float:
    """The share of Student's distribution between -t and t, for whole degrees of freedom (Abramowitz and Stegun, 26.7.3 and 26.7.4)."""
    angle = math.atan2(t, math.sqrt(freedom))
    sine, square = math.sin(angle), math.cos(angle) ** 2
    odd = freedom % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0 if freedom == 1 else term
    for step in range(2 + odd, freedom - 1, 2):
        term *= square * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + sine * total) if odd else sine * total


def count_to_resolve(count: int, half_width: float, wanted: float, comparisons: int = 1) -> int:
    """About how many values give the wanted half-width: it shrinks with the square root of their number."""
    bare = half_width / stretch(count, comparisons) * student_quantile(_ALPHA / comparisons, 10**3) / _Z
    return max(count + 1, math.ceil(count * (bare / wanted) ** 2) + 2)
