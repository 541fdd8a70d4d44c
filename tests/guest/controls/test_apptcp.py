"""AppTCP keeps the required rate: the properties of its law, checked on virtual-time traces."""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.guest.windows import acks_of, at, between, module_state, seconds
from tests.support.guests import Finished, Runner

MSS = 1448
LONG = {"bandwidth": "622 Mbit/s", "rtt": "300 ms"}


def app(rate_mbps: int, **more: Any) -> dict[str, Any]:
    return {"name": "app", "cc": "apptcp", "params": {"rate": f"{rate_mbps} Mbit/s", **more.pop("params", {})}, **more}


def base_window(rate_mbps: int, rtt_ms: float) -> int:
    return math.ceil(rate_mbps * 1e6 / 8 * rtt_ms / 1000 / MSS)


def goodput_mbps(done: Finished, flow: int = 0) -> float:
    return float(done.document["flows"][flow]["goodput_bps"]) / 1e6


@pytest.mark.parametrize("rate_mbps", [100, 200, 256, 300, 400, 500, 600])
def test_the_rate_is_the_required_one(finish: Runner, rate_mbps: int) -> None:
    done = finish(path=LONG, flows=[app(rate_mbps)], duration="16 s", warmup="7 s")
    assert goodput_mbps(done) == pytest.approx(rate_mbps, rel=0.02)


@pytest.mark.parametrize(
    ("rate_mbps", "rtt_ms", "window"),
    [(100, 300, 2590), (256, 300, 6630), (600, 300, 15539), (850, 139, 10200), (100, 20, 173), (900, 20, 1554)],
)
def test_slow_start_ends_exactly_at_the_base_window(finish: Runner, rate_mbps: int, rtt_ms: int, window: int) -> None:
    assert base_window(rate_mbps, rtt_ms) == window
    done = finish(
        path={"bandwidth": "10 Gbit/s", "rtt": f"{rtt_ms} ms"}, flows=[app(rate_mbps)], duration=f"{rtt_ms * 14} ms"
    )
    acks = acks_of(done.trace)
    reached = int(np.argmax(acks["cwnd"] >= window))
    assert acks["cwnd"][reached] == window
    rounds = math.ceil(math.log2(window / 10))
    assert seconds(acks)[reached] == pytest.approx((rounds + 1) * rtt_ms / 1000, abs=rtt_ms / 1000)
    # The last bursts of slow start queue a little, which the loop follows; the window no longer doubles.
    assert acks["cwnd"][reached:].max() <= 1.05 * window
    assert module_state(done.trace, 1e9).rttcnt == window


def test_the_window_follows_a_longer_round_trip_by_a_tenth_each(finish: Runner) -> None:
    schedule = [{"at": "5 s", "path": {"rtt": "150 ms"}}]
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "100 ms"}, flows=[app(200)], duration="12 s", warmup="8 s",
        schedule=schedule,
    )  # fmt: skip
    before = at(done.trace, 5.0)
    windows = [at(done.trace, 5.15 + 0.15 * rounds) for rounds in range(5)]
    steps = [later / earlier for earlier, later in pairwise(windows)]
    assert steps[:3] == pytest.approx([1.1, 1.1, 1.1], abs=0.01)
    # ln 1.5 / ln 1.1 = 4.3 round trips after the first one of the new length.
    assert at(done.trace, 5.15 + 5 * 0.15) == pytest.approx(1.5 * before, rel=0.02)
    assert goodput_mbps(done) == pytest.approx(200, rel=0.02)


def test_half_the_rate_halves_the_window_in_seven_round_trips(finish: Runner) -> None:
    schedule = [{"at": "5 s", "flows": {"app": {"params": {"rate": "200 Mbit/s"}}}}]
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "100 ms"}, flows=[app(400)], duration="12 s", warmup="7 s",
        schedule=schedule,
    )  # fmt: skip
    before, half = at(done.trace, 5.0), base_window(200, 100)
    assert before == base_window(400, 100)
    falling = between(done.trace, 5.0, 6.0)
    # An acknowledgement that a timer held back for 40 ms is a longer round trip, and worth a packet.
    assert np.all(np.diff(falling) <= 1) and np.sum(np.diff(falling) > 0) <= 1
    assert at(done.trace, 5.0 + 0.3) / at(done.trace, 5.0 + 0.2) == pytest.approx(0.9, abs=0.01)
    assert at(done.trace, 5.8) == pytest.approx(half, abs=1)
    assert goodput_mbps(done) == pytest.approx(200, rel=0.02)


def test_a_window_that_is_too_large_shrinks(finish: Runner) -> None:
    """The sign of the loop: the printed Algorithm 1 would let it grow."""
    schedule = [{"at": "5 s", "path": {"rtt": "100 ms"}}]
    done = finish(path={"bandwidth": "1 Gbit/s", "rtt": "200 ms"}, flows=[app(200)], duration="10 s", schedule=schedule)
    target = base_window(200, 100)
    assert at(done.trace, 5.0) == base_window(200, 200)
    # From here on the round trip is halved, so the window is twice its target.
    windows = [at(done.trace, 5.3 + 0.1 * rounds) for rounds in range(7)]
    assert windows[0] > 1.5 * target
    assert np.all(np.diff([window for window in windows if window > target + 1]) < 0)
    assert at(done.trace, 7.0) == pytest.approx(target, abs=1)


def test_a_loss_leads_back_to_the_base_window(finish: Runner) -> None:
    done = finish(path=LONG | {"loss": 1e-5}, flows=[app(256)], duration="60 s", warmup="7 s")
    acks = acks_of(done.trace)
    ends = np.flatnonzero((acks["state"][:-1] == 3) & (acks["state"][1:] == 0)) + 1
    late = [end for end in ends if seconds(acks)[end] > 5]
    assert len(late) >= 3
    assert [int(acks["cwnd"][end]) for end in late] == pytest.approx([6630] * len(late), abs=1)
    assert goodput_mbps(done) == pytest.approx(256, rel=0.02)


@pytest.mark.parametrize("rate_mbps", [300, 560])
def test_random_loss_costs_little(finish: Runner, rate_mbps: int) -> None:
    done = finish(path=LONG | {"loss": 1e-4}, flows=[app(rate_mbps)], duration="35 s", warmup="7 s")
    assert goodput_mbps(done) >= 0.95 * rate_mbps


def test_it_takes_its_rate_and_leaves_bic_the_rest(finish: Runner) -> None:
    done = finish(path=LONG, flows=[app(256), {"name": "bic", "cc": "bic"}], duration="50 s", warmup="20 s")
    assert goodput_mbps(done) == pytest.approx(256, rel=0.05)
    assert goodput_mbps(done) + goodput_mbps(done, 1) >= 0.85 * 622


def test_two_flows_keep_two_rates(finish: Runner) -> None:
    flows = [app(300), {**app(100), "name": "other"}]
    done = finish(path=LONG, flows=flows, duration="30 s", warmup="10 s")
    assert goodput_mbps(done) == pytest.approx(300, rel=0.02)
    assert goodput_mbps(done, 1) == pytest.approx(100, rel=0.02)


def test_without_a_required_rate_it_is_reno(finish: Runner) -> None:
    path = {"bandwidth": "20 Mbit/s", "rtt": "40 ms"}
    ours, renos = (
        acks_of(finish(path=path, flows=[{"name": "one", "cc": cc}], duration="20 s").trace)["cwnd"]
        for cc in ("apptcp", "reno")
    )
    assert np.array_equal(ours, renos)


def test_the_module_parameter_is_the_rate_of_sockets_without_one(finish: Runner) -> None:
    flows = [{"name": "app", "cc": "apptcp", "params": {"rate_kbps": "50 Mbit/s"}}]
    done = finish(path={"bandwidth": "200 Mbit/s", "rtt": "40 ms"}, flows=flows, duration="10 s", warmup="3 s")
    assert goodput_mbps(done) == pytest.approx(50, rel=0.02)


def test_consecutive_rounds_with_loss_make_it_back_off_if_configured(finish: Runner) -> None:
    """The required rate exceeds the bottleneck: the law of the paper keeps losing packets, the guarded one backs off."""

    def lost(rounds: int) -> float:
        flows = [app(50, params={"max_loss_rounds": rounds})]
        done = finish(
            path={"bandwidth": "20 Mbit/s", "rtt": "40 ms", "buffer": "0.5 BDP"}, flows=flows, duration="40 s", warmup="5 s"
        )  # fmt: skip
        return float(done.document["flows"][0]["loss_ratio"])

    assert lost(1) < 0.9 * lost(0)
