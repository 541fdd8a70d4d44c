"""The completion time of a whole transfer, with an interval that holds the time of one more transfer in 95 of 100 cases.

With a steady state, T = t0 + (S - S0) / r: the start-up as it was measured, the rest at the steady rate. The interval is that of a
transfer, not of a mean: it has the variance of the rate's estimate, of the rest's own fluctuations, and of the start-up between seeds:

    var(T) = sigma^2 / r^2 (R^2 / L + R) + var(S0) / r^2 (1 + 1 / runs),    R = T - t0, L = length of the steady part of all runs

by Student's t with the degrees of freedom of that sum (Welch and Satterthwaite). Without a steady state the times are those of whole runs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from longhaul.orchestrator.analysis.intervals import student_quantile
from longhaul.orchestrator.analysis.prediction.steady import FILLED, Steady
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_ALPHA = 0.05
_NORMAL = 1.96
# A transfer begins within a round trip, and the ends of batches cut cycles: no interval is closer than these shares of a round trip and of
# the time.
_LEAST_RTTS, _LEAST_SHARE = 0.5, 0.003


@dataclass(frozen=True, slots=True)
class Completion:
    """Seconds; `certain_share` is the part of the half width that no more runs would take away, `factor_for` the factor by which the
    steady parts have to be longer for a half width."""

    seconds: float
    low_s: float
    high_s: float
    certain_share: float
    # Variances of the time: what a longer observation reduces, and what it does not.
    reducible: float = 0.0
    inherent: float = 0.0

    def factor_for(self, wanted: float) -> float:
        """How much longer the steady parts have to be for this relative half width; infinite if none is long enough."""
        rest = (wanted * self.seconds / _NORMAL) ** 2 - self.inherent
        return self.reducible / rest if rest > 0 else math.inf

    @property
    def half_width(self) -> float:
        """Relative to the time."""
        return (self.high_s - self.low_s) / 2 / self.seconds


def extrapolate(steady: Steady, size_bytes: int, rtt_s: float, payload_byte_s: float) -> Completion:
    """The time of a transfer that is longer than the start-up; it is never faster than the line."""
    rate = steady.rate_byte_s
    rest_s = max(0.0, (size_bytes - steady.begun_bytes) / rate)
    jitter = steady.sigma2 / rate**2
    of_rate = jitter * (rest_s**2 / steady.length_s)
    of_rest = jitter * rest_s
    of_start = max(steady.begun_variance / rate**2, jitter * steady.begin_s) * (1 + 1 / steady.runs)
    variance = of_rate + of_rest + of_start
    freedom = _freedom([(of_rate + of_rest, steady.freedom), (of_start, max(1, steady.runs - 1))])
    floor_s = _LEAST_RTTS * rtt_s + _LEAST_SHARE * rest_s
    half_s = max(student_quantile(_ALPHA, freedom) * math.sqrt(variance), floor_s)
    without_s = _NORMAL * math.sqrt(of_rest + of_start)
    time_s = steady.begin_s + rest_s
    line_s = size_bytes / payload_byte_s
    low_s = min(time_s, max(time_s - half_s, line_s))
    if rate >= FILLED * payload_byte_s:
        # No batch can show more than a filled line, so what they miss of it is no measure of how much a longer transfer misses.
        low_s = min(low_s, line_s)
    certain = min(1.0, max(without_s, floor_s) / half_s)
    return Completion(time_s, low_s, time_s + half_s, certain, of_rate, of_rest + of_start)


def whole(times_s: Sequence[float], rtt_s: float, least_s: float = 0.0) -> Completion:
    """The time of one more whole run, from those of some; the line takes `least_s`."""
    mean = float(np.mean(times_s))
    count = len(times_s)
    spread = float(np.std(times_s, ddof=1)) if count > 1 else math.inf
    half_s = student_quantile(_ALPHA, max(1, count - 1)) * spread * math.sqrt(1 + 1 / count)
    half_s = max(half_s, _LEAST_RTTS * rtt_s)
    certain_s = max(_NORMAL * spread, _LEAST_RTTS * rtt_s)
    return Completion(mean, min(mean, max(least_s, mean - half_s)), mean + half_s, min(1.0, certain_s / half_s))


def _freedom(parts: Sequence[tuple[float, int]]) -> int:
    """Of a sum of independent variances, each with its own degrees of freedom."""
    total = sum(variance for variance, _ in parts)
    if total <= 0 or not math.isfinite(total):
        return 1
    return max(1, math.floor(total**2 / sum(variance**2 / freedom for variance, freedom in parts)))
