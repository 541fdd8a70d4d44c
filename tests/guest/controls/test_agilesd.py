"""Agile-SD: a small decrease and a quick return, on virtual-time traces."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.guest.windows import Reduction, acks_of, at, growth, module_state, reductions, seconds
from tests.support.guests import Finished, Runner


def agile(**params: Any) -> list[dict[str, Any]]:
    return [{"name": "agile", "cc": "agilesd", "params": params}]


@pytest.fixture(scope="module")
def epochs(finish: Runner) -> Finished:
    """A path of 825 packets with a short queue, which drops packets again and again."""
    return finish(
        path={"bandwidth": "100 Mbit/s", "rtt": "100 ms", "buffer": "0.25 BDP"}, flows=agile(), duration="90 s"
    )


def settled(done: Finished) -> list[Reduction]:
    found = reductions(done.trace)[1:]
    assert len(found) >= 5
    return found


def test_the_first_loss_keeps_nine_tenths_and_later_ones_nineteen_twentieths(epochs: Finished) -> None:
    first, *later = reductions(epochs.trace)
    assert first.after == pytest.approx(0.90 * first.before, abs=1)
    for reduction in later:
        assert reduction.after == pytest.approx(0.95 * reduction.before, abs=1)


def _after_recovery(done: Finished, reduction: Reduction) -> float:
    acks = acks_of(done.trace)
    back = (seconds(acks) > reduction.t_s) & (acks["state"] == 0)
    return float(seconds(acks)[back][0])


def test_lambda_falls_in_proportion_to_the_gap(epochs: Finished) -> None:
    for reduction in settled(epochs)[1:4]:
        begin_s = _after_recovery(epochs, reduction)
        gap = reduction.before - reduction.after
        for later_s in (0.3, 0.8, 1.5, 2.5):
            state = module_state(epochs.trace, begin_s + later_s)
            assert (state.rtt, state.minrtt) == (reduction.before, reduction.after)
            # lambda belongs to the last window for which it was computed, at most a segment below the present one.
            share = (reduction.before - at(epochs.trace, begin_s + later_s)) / gap
            assert state.rttcnt == pytest.approx(1000 * min(3.0, max(1.0, 3 * share)), abs=3000 / gap + 10)


def test_growth_equals_lambda_which_is_three_right_after_a_loss(epochs: Finished) -> None:
    states = epochs.trace.states
    for reduction in settled(epochs)[1:4]:
        begin_s = _after_recovery(epochs, reduction)
        inside = (seconds(states) > begin_s + 0.05) & (seconds(states) < begin_s + 1)
        lambdas = states["word1"][inside] / 1000
        assert lambdas[0] == pytest.approx(3.0, abs=0.2)
        assert growth(epochs.trace, begin_s, begin_s + 1) == pytest.approx(float(lambdas.mean()), abs=0.2)


def test_the_return_takes_the_sum_of_the_steps(epochs: Finished) -> None:
    """G / lambda_max * (1 + ln lambda_max) windows, G = 0.05 W: 0.035 W, where Reno would need 0.5 W."""
    acks = acks_of(epochs.trace)
    for reduction in settled(epochs)[1:4]:
        begin_s = _after_recovery(epochs, reduction)
        rising = seconds(acks) > begin_s
        back_s = float(seconds(acks)[rising & (acks["cwnd"] >= reduction.before)][0])
        delivered = acks["delivered"][(seconds(acks) >= begin_s) & (seconds(acks) <= back_s)].astype(np.int64)
        windows = (delivered[-1] - delivered[0]) / ((reduction.before + reduction.after) / 2)
        gap = reduction.before - reduction.after
        assert windows == pytest.approx(gap / 3 * (1 + math.log(3)), rel=0.08)


def epoch_ms(lambdas: list[float], rtt_ms: float) -> float:
    """Equation 6: a segment takes a round trip divided by lambda."""
    return rtt_ms * sum(1 / step for step in lambdas)


def test_the_papers_example_of_an_epoch() -> None:
    assert epoch_ms([4, 3, 2, 1], 20) == pytest.approx(41.66, abs=0.01)
    assert epoch_ms([1, 1, 1, 1], 20) == 80


@pytest.mark.default_kernel
@pytest.mark.parametrize("fastest", [4, 1])
def test_an_epoch_of_a_few_segments_agrees_with_equation_6(finish: Runner, fastest: int) -> None:
    """The paper's example, lambda_max = 4 and 20 ms: a loss in the first flight, and the way back."""
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "20 ms", "loss": 0.015},
        flows=[{**agile(lambda_max=fastest, beta_ss=0.95)[0], "initial_window": 80}],
        duration="2 s",
        schedule=[{"at": "25 ms", "path": {"loss": 0}}],
        # The first packet of the flight is lost, and no other.
        seed=43,
    )
    (loss,) = reductions(done.trace)
    assert (loss.before, loss.after) == (80, 76)
    acks = acks_of(done.trace)
    begin_s = _after_recovery(done, loss)
    back_s = float(seconds(acks)[(seconds(acks) > begin_s) & (acks["cwnd"] >= loss.before)][0])
    lambdas = [max(1.0, fastest * left / 4) for left in (4, 3, 2, 1)]
    # ACKs arrive in one burst a round trip here, so the law counts acknowledged windows, not milliseconds.
    acknowledged = at(done.trace, back_s, "delivered") - at(done.trace, begin_s, "delivered")
    assert acknowledged / loss.after * 20 == pytest.approx(epoch_ms(lambdas, 20), rel=0.06)


def test_it_probes_by_one_segment_beyond_the_last_loss(finish: Runner) -> None:
    """After a loss at a small window on a path with room the window grows by a segment a round trip."""
    schedule = [{"at": "500 ms", "path": {"loss": 0.05}}, {"at": "520 ms", "path": {"loss": 0}}]
    done = finish(path={"bandwidth": "1 Gbit/s", "rtt": "100 ms"}, flows=agile(), duration="20 s", schedule=schedule)
    (loss,) = reductions(done.trace)
    acks = acks_of(done.trace)
    beyond_s = float(seconds(acks)[(seconds(acks) > loss.t_s + 0.3) & (acks["cwnd"] > loss.before)][0])
    assert growth(done.trace, beyond_s + 0.5, beyond_s + 8) == pytest.approx(1.0, abs=0.02)


def _mean_window_at_loss(draw: np.random.Generator, loss: float, rounds: int, kept_from: int) -> float:
    """The law under independent losses, a round at a time: the mean window at the end of an epoch, once the loss has fallen from 1e-3."""
    window, last, degraded = 150.0, 150.0, 142.5
    ends: list[float] = []
    for number in range(rounds):
        if draw.random() < 1 - (1 - (loss if number >= 200 else 1e-3)) ** window:
            if number >= kept_from:
                ends.append(window)
            last, degraded = window, 0.95 * window
            window = degraded
            continue
        step = 3 * (last - window) / (last - degraded) if window < last else 1.0
        window += min(3.0, max(1.0, step))
    return float(np.mean(ends))


@pytest.mark.parametrize(("loss", "seconds_long"), [(1e-4, 30), (1e-5, 35)])
def test_the_window_under_random_loss_is_that_of_the_law(
    finish_all: Callable[..., list[Finished]], loss: float, seconds_long: int
) -> None:
    """Evenly spaced losses would give sqrt(1 / (0.035 p)), 535 and 1690; independent ones vary, and the window still grows towards it."""
    draw = np.random.default_rng(1)
    expected = [_mean_window_at_loss(draw, loss, 100 * seconds_long, 1200) for _ in range(200)]
    assert np.mean(expected) == pytest.approx(math.sqrt(1 / (0.035 * loss)), rel=0.35)
    # After slow start the window would need minutes to shrink, so a higher loss reduces it first.
    done = finish_all(
        path={"bandwidth": "10 Gbit/s", "rtt": "10 ms", "loss": 1e-3},
        flows=agile(),
        duration=f"{seconds_long} s",
        schedule=[{"at": "2 s", "path": {"loss": loss}}],
        sample="10 ms",
        repeats=3,
    )
    found = [np.mean([reduction.before for reduction in reductions(one.trace) if reduction.t_s > 12]) for one in done]
    spread = float(np.std(expected)) / math.sqrt(len(done))
    assert float(np.mean(found)) == pytest.approx(np.mean(expected), abs=3.5 * spread)
