"""HTCP-BE: H-TCP's increase and a decrease to the estimated bandwidth, on virtual-time traces."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.guest.windows import Reduction, acks_of, at, growth, module_state, reductions, seconds
from tests.support.guests import Finished, Runner

MSS = 1448


def be(**params: Any) -> list[dict[str, Any]]:
    return [{"name": "be", "cc": "htcp_be", "params": params}]


@pytest.fixture(scope="module")
def undisturbed(finish: Runner) -> tuple[Finished, float]:
    """Losses at a window of some hundred packets, then twelve seconds without loss; with the time of the last loss."""
    schedule = [{"at": "850 ms", "path": {"loss": 0.003}}, {"at": "960 ms", "path": {"loss": 0}}]
    done = finish(
        path={"bandwidth": "10 Gbit/s", "rtt": "100 ms"}, flows=be(beta_floor=0.9), duration="14 s", schedule=schedule
    )
    last_s = reductions(done.trace)[-1].t_s
    assert last_s < 1.5
    return done, last_s


@pytest.mark.parametrize(
    ("delta_s", "alpha"), [(0.6, 1.0), (1.5, 6.06), (2.0, 11.25), (3.0, 22.0), (5.0, 45.0), (10.0, 111.25)]
)
def test_the_increase_grows_with_the_time_since_the_loss(
    undisturbed: tuple[Finished, float], delta_s: float, alpha: float
) -> None:
    done, loss_s = undisturbed
    # Five windows, each a burst of ACKs, which grow by whole segments.
    measured = growth(done.trace, loss_s + delta_s - 0.25, loss_s + delta_s + 0.25)
    assert measured == pytest.approx(alpha, rel=0.05, abs=0.2)


@pytest.mark.parametrize("t_s", [2.0, 5.0, 10.0])
def test_the_window_grows_as_the_increase_adds_up(undisturbed: tuple[Finished, float], t_s: float) -> None:
    done, loss_s = undisturbed
    late = t_s - 1
    expected = (1 + late + 5 * late**2 + late**3 / 12) / 0.1
    # The window grows with one burst of ACKs a round trip, so the mean of before and after is the present window.
    now = (at(done.trace, loss_s + t_s) + at(done.trace, loss_s + t_s + 0.1)) / 2
    # Recovery is the first of the round trips, without growth.
    assert now - at(done.trace, loss_s + 0.25) == pytest.approx(expected, rel=0.05)


def late_reductions(done: Finished, after_s: float) -> list[Reduction]:
    found = [reduction for reduction in reductions(done.trace) if reduction.t_s > after_s]
    assert len(found) >= 3
    return found


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_loss_leads_to_the_bandwidth_times_the_average_round_trip(finish: Runner, mode: int) -> None:
    done = finish(
        path={"bandwidth": "200 Mbit/s", "rtt": "20 ms"}, flows=be(rtt_avg_mode=mode, beta_cap=1), duration="40 s"
    )
    for reduction in late_reductions(done, 15):
        state = module_state(done.trace, reduction.t_s)
        window = state.enabled * 1000 / 8 * state.rtt / 1e6 / MSS
        assert reduction.after == pytest.approx(min(window, reduction.before), rel=0.05)


def test_the_kept_share_is_between_the_ratio_of_round_trips_and_the_cap(finish: Runner) -> None:
    done = finish(path={"bandwidth": "200 Mbit/s", "rtt": "20 ms"}, flows=be(), duration="40 s")
    full_ms = done.document["flows"][0]["rtt_ms"]
    ratio = 20 / 40
    assert full_ms["min"] == pytest.approx(20, rel=0.01)
    for reduction in late_reductions(done, 15):
        assert ratio - 0.05 <= reduction.kept <= 0.951


@pytest.mark.parametrize(("buffer", "kept"), [("1 BDP", 0.75), ("0.25 BDP", 0.9)])
def test_the_midpoint_drains_half_of_the_queue(finish: Runner, buffer: str, kept: float) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "20 ms", "buffer": buffer}, flows=be(rtt_avg_mode=2), duration="22 s"
    )
    later = late_reductions(done, 8)
    assert float(np.mean([reduction.kept for reduction in later])) == pytest.approx(kept, abs=0.05)


@pytest.mark.parametrize(("cc", "kept"), [("htcp_be", (0.94, 0.951)), ("htcp", (0.49, 0.81)), ("reno", (0.49, 0.51))])
def test_random_loss_without_a_queue_costs_a_twentieth(finish: Runner, cc: str, kept: tuple[float, float]) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "40 ms", "loss": 1e-4, "buffer": "2 BDP"},
        flows=[{"name": "be", "cc": cc}],
        duration="40 s",
    )
    low, high = kept
    ratios = [reduction.kept for reduction in late_reductions(done, 10) if reduction.before > 50]
    assert low <= float(np.median(ratios)) <= high


def test_after_a_timeout_slow_start_leads_back_to_the_bandwidth(finish: Runner) -> None:
    schedule = [{"at": "20 s", "path": {"loss": 0.999999}}, {"at": "21 s", "path": {"loss": 0}}]
    done = finish(
        path={"bandwidth": "100 Mbit/s", "rtt": "40 ms"}, flows=be(), duration="30 s", schedule=schedule
    )  # fmt: skip
    acks = acks_of(done.trace)
    inside = (acks["state"] == 4) & (seconds(acks) > 20)
    assert np.any(inside)
    assert acks["cwnd"][inside].min() <= 2
    threshold = int(acks["ssthresh"][inside][0])
    bdp = 100e6 / 8 * 0.04 / 1514
    assert threshold > 0.5 * bdp
    lasted_s = seconds(acks)[inside][-1] - seconds(acks)[inside][0]
    assert lasted_s < (np.log2(threshold) + 3) * 0.08


@pytest.mark.parametrize(("loss", "kept"), [(1e-4, True), (1e-2, False)])
def test_a_window_is_spared_while_few_segments_are_lost(finish: Runner, loss: float, kept: bool) -> None:
    """With 1000 ppm allowed, losses of 1e-4 do not reduce the window, losses of 1e-2 do."""
    path = {"bandwidth": "10 Gbit/s", "rtt": "100 ms", "loss": loss}
    spared = finish(path=path, flows=be(spared_ppm=1000), duration="4 s").document["flows"][0]
    plain = finish(path=path, flows=be(), duration="4 s").document["flows"][0]
    assert plain["backoff"] < 0.95
    if kept:
        assert spared["backoff"] > 0.999
        assert spared["goodput_bps"] > plain["goodput_bps"]
    else:
        assert spared["backoff"] < 0.95
