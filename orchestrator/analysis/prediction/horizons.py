"""How long the first runs of a candidate should be: its loss epochs by the laws of its congestion control, on this path.

A guess that only saves runs: what the runs then show decides, and too short a guess leads to longer ones.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from longhaul.orchestrator.analysis.prediction.steady import LEAST_EPOCHS, LEAST_EPOCHS_A_STREAM, SETTLING_EPOCHS
from longhaul.orchestrator.plan.lint import loss_bound_packets
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.congestion_controls import find_control

# BBR measures the least round trip 10 s after it has last seen it, for 0.2 s, and sends little meanwhile.
_PERIODS_S = {"bbr": 10.2}
# CUBIC's growth, packets / s^3, and what it gives up at a loss (RFC 9438).
_CUBIC_C, _CUBIC_GIVEN_UP = 0.4, 0.3
# Windows at a loss of Reno (Mathis et al. 1997) and CUBIC; controls without a known law are between or above them.
_RENO, _CUBIC = 1.22, 1.054
_SPARE = 1.15
_LEAST_S = 3.0
_START_RTTS = 25
# The first runs of a transfer take this share of its time together: where the line is filled, they are enough.
_FIRST_SHARE = 0.04


def period_s(control: str) -> float:
    """The cycle of a congestion control; 0 if it has none."""
    return _PERIODS_S.get(control, 0.0)


@dataclass(frozen=True, slots=True)
class Horizons:
    """Guesses for a candidate on a path: the length of its first runs, and the time of the whole transfer."""

    first_s: float
    whole_s: float


def guess(run: Run, control: str, streams: int, runs: int, loss: float, size_bytes: int) -> Horizons:
    """The length of each of the first runs, and the time of a transfer of this size."""
    rtt_s = max(run.meaning.rtt_us / 1e6, 1e-3)
    share = max(2.0, (run.meaning.bdp_packets + run.meaning.buffer_packets) / streams)
    bound = _bound_packets(run, control, loss, rtt_s)
    fills = bound is None or bound * streams > run.meaning.bdp_packets
    line_byte_s = run.meaning.bandwidth_bps / 8 * run.meaning.mss_bytes / run.meaning.frame_bytes
    rate_byte_s = line_byte_s if bound is None else min(line_byte_s, bound * streams * run.meaning.mss_bytes / rtt_s)
    whole_s = size_bytes / rate_byte_s
    start_s = _START_RTTS * rtt_s
    if not find_control(control).loss_based:
        return Horizons(start_s + max(period_s(control), _LEAST_S, 60 * rtt_s), whole_s)
    epoch_s = _epoch_s(control, share, bound, loss, rtt_s)
    needed_s = start_s + max(_LEAST_S, 20 * rtt_s, epochs_needed(streams, runs) * epoch_s)
    if fills:
        needed_s = min(needed_s, start_s + max(_LEAST_S, 20 * rtt_s, _FIRST_SHARE * whole_s / runs))
    return Horizons(needed_s, whole_s)


def epochs_needed(streams: int, runs: int) -> float:
    """Loss epochs of a stream in each run, those of its start included."""
    return SETTLING_EPOCHS + _SPARE * max(LEAST_EPOCHS_A_STREAM, (LEAST_EPOCHS + 1) / streams / runs)


def _bound_packets(run: Run, control: str, loss: float, rtt_s: float) -> float | None:
    """The mean window at which random losses hold a stream; None if they do not."""
    if not loss or not find_control(control).loss_based:
        return None
    return loss_bound_packets(run.flows[0], loss, rtt_s) or max(
        _RENO / math.sqrt(loss), _CUBIC * math.pow(rtt_s / loss, 0.75)
    )


def _epoch_s(control: str, share: float, bound: float | None, loss: float, rtt_s: float) -> float:
    """From one loss of a stream to the next: by chance, or because the buffer is full."""
    overflow_s = max(math.cbrt(share * _CUBIC_GIVEN_UP / _CUBIC_C), 4 * rtt_s)
    if control in ("reno", "veno", "westwood"):
        overflow_s = share * rtt_s
    if bound is None:
        return overflow_s
    by_chance_s = rtt_s / (loss * max(2.0, min(bound, share)))
    # A recovery takes some round trips, and losses within it are of the same epoch.
    return 1 / (1 / by_chance_s + 1 / overflow_s) + 2 * rtt_s
