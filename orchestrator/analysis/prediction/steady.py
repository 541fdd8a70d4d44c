"""The steady state of a transfer, from runs that differ in their seed and may differ in length: where it begins, its rate, and how it varies.

It begins where MSER-5 (White 1997) puts the end of the transient of the mean over the runs, and no earlier than the end of the first loss
epoch of every stream of a loss-based control; where the line is not filled, no earlier than the loss after which a window no longer depends on
where slow start left it. From there the rate is judged in a few batches, each as long as possible. There is a steady state if

- the line is filled in every batch, also behind two losses of each stream, or more than 20 in all where the path loses by chance: no transfer can be faster, and its losses do not make it slower;
- or there have been more than 20 loss epochs, and at least four of each stream in each run;
- or the congestion control is not loss-based: what it does follows from its own cycle and the path;

and in each case if the batches show no trend. sigma^2 is the variance of the batches times their length, larger if neighbours are alike.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from longhaul.orchestrator.analysis.intervals import student_quantile
from longhaul.orchestrator.analysis.prediction.observation import Observation
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

LEAST_EPOCHS, LEAST_EPOCHS_A_STREAM = 20, 4
SETTLING_EPOCHS, FILLED_EPOCHS, FILLED_EPOCHS_BY_CHANCE = 4, 2, 21
# A line with this share of its payload rate in every batch is filled; batches cut packets and round trips.
FILLED = 0.985
# Batches of each run, if there are enough loss epochs for them. Few long ones are nearly independent, many short ones are not.
_MOST_BATCHES, _LEAST_BATCHES = 5, 2
_EPOCHS_A_BATCH = 2.0
_LEAST_RTTS_A_BATCH = 10
# The transient may take this share of a run; a longer one is not believed.
MOST_TRANSIENT = 0.5
_MSER_GROUP = 5
# A drift over the steady part by less than this does not matter.
_LEAST_TREND, _TREND_ALPHA = 0.01, 0.05
_MOST_CORRELATION = 0.5
# Runs of one round have one length, but for a tick.
_AS_LONG = 0.99


@dataclass(frozen=True, slots=True)
class Steady:
    """The steady part of some runs; `why_not` is empty if there is a steady state, and otherwise says what is missing."""

    begin_s: float
    # Mean and variance over the runs of the bytes that had arrived by then.
    begun_bytes: float
    begun_variance: float
    runs: int
    rate_byte_s: float
    # Bytes^2 a second: the variance of what arrives in a long time, divided by that time.
    sigma2: float
    batches: int
    batch_s: float
    # Of all steady parts together, and of the longest run from its beginning.
    length_s: float
    longest_s: float
    epochs: int
    # Of a stream in all of one of the longest runs.
    epochs_in_a_run: float
    settled: bool
    filled: bool
    trend: float
    why_not: str

    @property
    def freedom(self) -> int:
        """Degrees of freedom of sigma^2."""
        return max(1, self.batches - 1)


def find_steady(
    runs: Sequence[Observation], *, loss_based: bool, random_losses: bool, period_s: float = 0.0, settling: int = SETTLING_EPOCHS
) -> Steady:  # fmt: skip
    """The steady state of runs with different seeds; a congestion control with a cycle gives its period, others how many losses it
    takes to forget its start.

    The longest of them decide where it begins. All that are long enough show its rate.
    """
    length_s = max(one.length_s for one in runs)
    longest = [one for one in runs if one.length_s > _AS_LONG * length_s]
    begin_s, settled = _transient_s(longest, length_s, loss_based=loss_based)
    if loss_based and not _fills(longest, begin_s):
        settling_s = _settling_s(longest, length_s, settling)
        settled = settled and settling_s < MOST_TRANSIENT * length_s
        begin_s = min(max(begin_s, settling_s), MOST_TRANSIENT * length_s)
    each_s = length_s - begin_s
    streams = len(runs[0].epochs_s)
    a_stream, in_a_run = (
        sum(one.epochs_after(from_s) for one in longest) / streams / len(longest) for from_s in (begin_s, 0.0)
    )
    if period_s:
        count = max(1, min(_MOST_BATCHES, int(each_s / period_s)))
    else:
        least_s = max(_EPOCHS_A_BATCH * each_s / max(a_stream, 1e-9), _LEAST_RTTS_A_BATCH * runs[0].rtt_s)
        count = max(_LEAST_BATCHES, min(_MOST_BATCHES, int(each_s / least_s)))
    parts = _batches(runs, begin_s, each_s / count, period_s)
    begun = np.array([one.at(begin_s) for one in parts.runs])
    epochs = sum(one.epochs_after(begin_s) for one in parts.runs)
    total_s = float(parts.widths_s.sum())
    rate_byte_s = float((parts.rates * parts.widths_s).sum()) / total_s
    freedom = len(parts.rates) - 1
    variance = float((parts.widths_s * (parts.rates - rate_byte_s) ** 2).sum()) / freedom if freedom else math.inf
    filled = _fills(parts.runs, begin_s)
    trend = _trend(parts, rate_byte_s, each_s)
    return Steady(
        begin_s=begin_s,
        begun_bytes=float(begun.mean()),
        begun_variance=float(begun.var(ddof=1)) if len(begun) > 1 else math.inf,
        runs=len(begun),
        rate_byte_s=rate_byte_s,
        sigma2=variance * _stretch(parts),
        batches=len(parts.rates),
        batch_s=total_s / len(parts.rates),
        length_s=total_s,
        longest_s=length_s,
        epochs=epochs,
        epochs_in_a_run=in_a_run,
        settled=settled,
        filled=filled,
        trend=trend,
        why_not=_why_not(
            settled=settled, filled=filled, epochs=epochs, a_stream=a_stream, together=epochs / streams, trend=trend, rate=rate_byte_s,
            loss_based=loss_based, random_losses=random_losses, periods=each_s / period_s if period_s else 1.0,
        ),
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Batches:
    """The batches of some runs, those of a run one after the other: its place in `runs`, the middle, the width and the rate of each."""

    runs: list[Observation]
    of: Floats
    middles_s: Floats
    widths_s: Floats
    rates: Floats


def _batches(runs: Sequence[Observation], begin_s: float, batch_s: float, period_s: float) -> _Batches:
    """The steady parts in batches of about this length. Runs whose steady part is much shorter than a batch are left out."""
    used, edges_s = [], []
    for one in runs:
        part_s, first_s = one.length_s - begin_s, begin_s
        count = round(part_s / batch_s)
        if period_s and part_s > period_s:
            # Whole cycles, so that each batch has the same part of each.
            cycles = int(part_s / period_s)
            first_s, count = one.length_s - cycles * period_s, min(count, cycles)
        if count < 1:
            continue
        used.append(one)
        edges_s.append(np.linspace(first_s, one.length_s, count + 1))
    widths_s = np.concatenate([np.diff(each) for each in edges_s])
    bytes_ = np.concatenate([np.diff([one.at(edge) for edge in each]) for one, each in zip(used, edges_s, strict=True)])
    return _Batches(
        used,
        np.concatenate([np.full(len(each) - 1, float(place)) for place, each in enumerate(edges_s)]),
        np.concatenate([(each[1:] + each[:-1]) / 2 for each in edges_s]),
        widths_s,
        bytes_ / widths_s,
    )


def _fills(runs: Sequence[Observation], begin_s: float) -> bool:
    """Whether every fifth of every run fills the line. What is sent again fills it too: the transfer has to have nearly all of it."""
    least_byte_s = FILLED * runs[0].payload_byte_s
    for one in runs:
        edges_s = np.linspace(begin_s, one.length_s, _MOST_BATCHES + 1)
        line = np.diff(np.interp(edges_s, one.t_s, one.line)) / np.diff(edges_s)
        arrived = (one.at(one.length_s) - one.at(begin_s)) / (one.length_s - begin_s)
        if line.min() < least_byte_s or arrived < least_byte_s:
            return False
    return True


def _settling_s(runs: Sequence[Observation], length_s: float, settling: int) -> float:
    """When a stream has had its first few losses, on average."""
    ends = [float(one[settling - 1]) if len(one) >= settling else length_s for run in runs for one in run.epochs_s]
    return float(np.mean(ends))


def _why_not(
    *, settled: bool, filled: bool, epochs: int, a_stream: float, together: float, trend: float, rate: float,
    loss_based: bool, random_losses: bool, periods: float,
) -> str:  # fmt: skip
    if rate <= 0:
        return "nothing arrives"
    if not settled:
        return "the start-up has not ended"
    if trend:
        return f"the rate still {'rises' if trend > 0 else 'falls'}, by {abs(trend):.0%} in the runs"
    if periods < 0.99:
        return "the runs are shorter than a cycle of the congestion control"
    if not loss_based or (
        filled and (epochs >= FILLED_EPOCHS_BY_CHANCE or (not random_losses and together >= FILLED_EPOCHS))
    ):
        return ""
    if epochs <= LEAST_EPOCHS or a_stream < LEAST_EPOCHS_A_STREAM:
        return f"{epochs} loss epochs are too few"
    return ""


def _transient_s(runs: Sequence[Observation], length_s: float, *, loss_based: bool) -> tuple[float, bool]:
    """The end of the transient, and whether it ended well before the end of the runs."""
    width_s = max(2 * runs[0].rtt_s, length_s / 400)
    edges_s = np.arange(0.0, length_s + 1e-9, width_s)
    mean = np.mean([np.diff(np.interp(edges_s, one.t_s, one.total)) for one in runs], axis=0)
    mser_s = _mser(mean) * width_s
    first_s = max((float(one[0]) for run in runs for one in run.epochs_s if len(one)), default=0.0)
    if not loss_based:
        first_s = 0.0
    # The recovery of the first loss and the round trips after it still belong to the start.
    ended_s = max(mser_s, first_s + 4 * runs[0].rtt_s, 10 * runs[0].rtt_s)
    most_s = MOST_TRANSIENT * length_s
    settled = mser_s < 0.9 * most_s and min(first_s, most_s) + 10 * runs[0].rtt_s <= length_s
    return min(ended_s, most_s), settled


def _mser(values: Floats) -> int:
    """Values to leave out at the beginning, at most half: with them left out, the standard error of the mean is least."""
    groups = len(values) // _MSER_GROUP
    if groups < 4:
        return 0
    means = values[: groups * _MSER_GROUP].reshape(groups, _MSER_GROUP).mean(axis=1)
    errors = [float(means[cut:].var() / (groups - cut)) for cut in range(groups // 2 + 1)]
    return int(np.argmin(errors)) * _MSER_GROUP


def _trend(parts: _Batches, mean: float, each_s: float) -> float:
    """The change of the rate over the longest steady part as a share of it, if the batches prove one that matters; otherwise 0."""
    freedom = len(parts.rates) - 2
    x = parts.middles_s - float((parts.middles_s * parts.widths_s).sum() / parts.widths_s.sum())
    spread = float((parts.widths_s * x * x).sum())
    if freedom < 2 or mean <= 0 or spread <= 0:
        return 0.0
    y = parts.rates - mean
    slope = float((parts.widths_s * x * y).sum()) / spread
    rest = float((parts.widths_s * (y - slope * x) ** 2).sum()) / freedom
    change = slope * each_s / mean
    error = math.sqrt(rest / spread) * each_s / mean
    proven = abs(change) > student_quantile(_TREND_ALPHA, freedom) * error
    return change if proven and abs(change) > _LEAST_TREND else 0.0


def _stretch(parts: _Batches) -> float:
    """How much more a long mean varies than the batches show, if neighbours are alike (an autoregression of the first order)."""
    centred = parts.rates - parts.rates.mean()
    neighbours = parts.of[1:] == parts.of[:-1]
    total = float((centred**2).sum())
    if len(centred) < 4 * len(parts.runs) or total == 0:
        return 1.0
    correlation = float((centred[1:] * centred[:-1])[neighbours].sum()) / total
    bounded = min(max(correlation, 0.0), _MOST_CORRELATION)
    return (1 + bounded) / (1 - bounded)
