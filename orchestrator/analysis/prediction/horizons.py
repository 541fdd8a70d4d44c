"""How long the first runs of a candidate should be: its loss epochs by the laws of its congestion control, on this path.

A guess that only saves runs: what the runs then show decides, and too short a guess leads to longer ones.
"""

from __future__ import annotations

import math

from longhaul.orchestrator.analysis.prediction.steady import (
    LEAST_EPOCHS,
    LEAST_EPOCHS_A_STREAM,
    MOST_TRANSIENT,
    SETTLING_EPOCHS,
)
from longhaul.orchestrator.plan.lint import loss_bound_packets
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.congestion_controls import find_control
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# BBR measures the least round trip 10 s after it has last seen it, for 0.2 s, and sends little meanwhile.
_PERIODS_S = {"bbr": 10.2}
# Cycles of each of the first runs: two runs with one each would give too wide an interval.
_PERIODS = 2.02
# The least share of its window that a congestion control gives up at a loss, where it differs from CUBIC's; Westwood gives up what it
# believes to be in the queue. After n losses, (1 - share)^n of the window at the start is left.
_GIVEN_UP = {
    "reno": 0.5, "compound": 0.5, "veno": 0.2, "bic": 0.2, "highspeed": 0.2, "htcp": 0.2,
    "illinois": 0.125, "scalable": 0.125, "htcp_be": 0.05, "agilesd": 0.05, "westwood": 0.05,
}  # fmt: skip
_CUBIC_GIVEN_UP = 0.3
_MOST_LEFT = 0.1
# CUBIC's growth, packets / s^3 (RFC 9438).
_CUBIC_C = 0.4
# A buffer that holds what is given up, and losses by chance that are this much rarer than those of a full window, let a line be filled.
_FILLED_ROOM, _FILLED_BOUND = 0.97, 2.0
# Windows at a loss of Reno (Mathis et al. 1997), CUBIC, and Illinois with little delay (Liu et al. 2008: it adds 10 packets and gives up
# an eighth); controls without a known law are between or above the first two.
_RENO, _CUBIC, _ILLINOIS = 1.22, 1.054, 8.7
_SPARE = 1.15
_LEAST_S = 3.0
# Round trips of a start-up; BBR drains its queue after it and then holds its first window for some more.
_START_RTTS, _MODEL_START_RTTS = 25, 45
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
    room = (1 + run.meaning.buffer_packets / run.meaning.bdp_packets) * (1 - given_up(control))
    fills = room > _FILLED_ROOM and (bound is None or bound * streams > _FILLED_BOUND * run.meaning.bdp_packets)
    line_byte_s = run.meaning.bandwidth_bps / 8 * run.meaning.mss_bytes / run.meaning.frame_bytes
    rate_byte_s = line_byte_s if bound is None else min(line_byte_s, bound * streams * run.meaning.mss_bytes / rtt_s)
    whole_s = size_bytes / rate_byte_s
    start_s = _START_RTTS * rtt_s
    if not find_control(control).loss_based:
        return Horizons(_MODEL_START_RTTS * rtt_s + max(_PERIODS * period_s(control), _LEAST_S, 60 * rtt_s), whole_s)
    epoch_s = _epoch_s(control, share, bound, loss, rtt_s)
    epochs = epochs_needed(streams, runs, settling_epochs(control))
    needed_s = start_s + max(_LEAST_S, 20 * rtt_s, epochs * epoch_s)
    if fills:
        needed_s = min(needed_s, start_s + max(_LEAST_S, 20 * rtt_s, _FIRST_SHARE * whole_s / runs))
    return Horizons(needed_s, whole_s)


def given_up(control: str) -> float:
    """The share of its window that a congestion control gives up at a loss, at the least."""
    return _GIVEN_UP.get(control, _CUBIC_GIVEN_UP)


def settling_epochs(control: str) -> int:
    """Losses of a stream after which its window no longer depends on where slow start left it."""
    return max(SETTLING_EPOCHS, math.ceil(math.log(_MOST_LEFT) / math.log(1 - given_up(control)) - 1e-9))


def epochs_needed(streams: int, runs: int, settling: int, known: int = 0) -> float:
    """Loss epochs of a stream in each run, those of its start included, if so many are known from other runs."""
    counted = _SPARE * max(LEAST_EPOCHS_A_STREAM, (LEAST_EPOCHS + 1 - known) / streams / runs)
    # A start-up may take no more than a part of the run.
    return max(settling + counted, _SPARE * settling / MOST_TRANSIENT)


def _bound_packets(run: Run, control: str, loss: float, rtt_s: float) -> float | None:
    """The mean window at which random losses hold a stream; None if they do not."""
    if not loss or not find_control(control).loss_based:
        return None
    if control == "illinois":
        return _ILLINOIS / math.sqrt(loss)
    return loss_bound_packets(run.flows[0], loss, rtt_s) or max(
        _RENO / math.sqrt(loss), _CUBIC * math.pow(rtt_s / loss, 0.75)
    )


def _epoch_s(control: str, share: float, bound: float | None, loss: float, rtt_s: float) -> float:
    """From one loss of a stream to the next: by chance, or because the buffer is full."""
    overflow_s = max(math.cbrt(share * _CUBIC_GIVEN_UP / _CUBIC_C), 4 * rtt_s)
    if control in ("reno", "veno", "westwood"):
        overflow_s = share * given_up(control) * rtt_s
    if bound is None:
        return overflow_s
    by_chance_s = rtt_s / (loss * max(2.0, min(bound, share)))
    # A recovery takes some round trips, and losses within it are of the same epoch.
    return 1 / (1 / by_chance_s + 1 / overflow_s) + 2 * rtt_s
