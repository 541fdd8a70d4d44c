"""CCP and CCPD: the fixed points of both laws and what losses, marks and cross traffic do to them, on virtual-time traces.

D is the pipe in segments, Q the queue; C, RTT_min and RTT_max are known exactly here, so the fixed points are too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.guest.windows import acks_of, between, module_state, seconds
from tests.support.guests import Finished, Runner

GIGABIT = {"bandwidth": "1 Gbit/s", "rtt": "20 ms"}


def controlled(cc: str, kp: float, **params: Any) -> list[dict[str, Any]]:
    return [{"name": "one", "cc": cc, "params": {"kp": kp, **params}}]


def pipe(done: Finished) -> int:
    return done.run.meaning.bdp_packets


def late_drops(done: Finished, from_s: float) -> int:
    return int(np.count_nonzero(done.trace.drops["t_ns"] > from_s * 1e9))


def resting_window(cc: str, kp: float, queue: float) -> float:
    """The fixed point of one flow, in pipes: the heads of tcp_ccp.c and tcp_ccpd.c."""
    least, full = (kp * (1 + queue) / 3, kp + 3) if cc == "ccp" else (kp * (1 + queue) / (1 + kp), 1 + 2 * kp)
    return least if least <= 1 else kp * (2 + queue) / full


# Slow paths keep runs cheap; 20 ms need 100 Mbit/s, or a segment would exceed the tolerance of 2 %. From 300 ms on slow start
# overshoots by more than Linux repairs without a timeout.
@pytest.mark.parametrize("queue", [0.25, 0.5, 1])
@pytest.mark.parametrize(
    ("rtt_ms", "rate_mbps", "settled_s"), [(20, 100, 2), (100, 20, 6), (300, 20, 18), (600, 20, 30)]
)
@pytest.mark.parametrize(("cc", "kp"), [("ccp", 1), ("ccp", 2), ("ccpd", 1), ("ccpd", 4)])
def test_the_window_rests_at_the_fixed_point(
    finish: Runner, cc: str, kp: float, rtt_ms: int, rate_mbps: int, settled_s: int, queue: float
) -> None:
    end_s = 1.5 * settled_s
    done = finish(
        path={"bandwidth": f"{rate_mbps} Mbit/s", "rtt": f"{rtt_ms} ms", "buffer": f"{queue} BDP"},
        flows=controlled(cc, kp),
        duration=f"{end_s:g} s",
        warmup=f"{settled_s} s",
    )
    window = resting_window(cc, kp, queue)
    exact_pipe = rate_mbps * rtt_ms * 1000 / 8 / 1514
    assert between(done.trace, settled_s, end_s).mean() == pytest.approx(window * exact_pipe, rel=0.02)
    assert late_drops(done, settled_s) == 0
    assert done.document["flows"][0]["rtt_ms"]["p50"] == pytest.approx(rtt_ms * max(1.0, window), rel=0.02)
    assert done.document["path"]["utilisation"] == pytest.approx(min(1.0, window), abs=0.03)
    state = module_state(done.trace, end_s)
    assert state.enabled == 2
    assert state.minrtt == pytest.approx(rtt_ms * 1000, rel=0.005)
    # A slow start that ends by loss may not have filled the last few places of the queue.
    places_us = 3 * 1514 * 8 / rate_mbps
    assert state.rtt == pytest.approx(
        rtt_ms * 1000 * (1 + queue), abs=max(places_us, 0.01 * rtt_ms * 1000 * (1 + queue))
    )


@pytest.mark.parametrize("queue", [0.06, 0.11])
@pytest.mark.parametrize(("cc", "kp"), [("ccp", 1), ("ccpd", 2)])
def test_a_short_queue_does_not_hide_the_pipe(finish: Runner, cc: str, kp: float, queue: float) -> None:
    """Bursts of slow start are lost before they fill the pipe, so its estimate at that time is too small to stop there."""
    done = finish(
        path={"bandwidth": "200 Mbit/s", "rtt": "600 ms", "buffer": f"{queue} BDP"},
        flows=controlled(cc, kp),
        duration="60 s",
        sample="10 ms",
    )
    exact_pipe = 200 * 600 * 1000 / 8 / 1514
    assert between(done.trace, 50, 60).mean() == pytest.approx(resting_window(cc, kp, queue) * exact_pipe, rel=0.02)


@pytest.mark.parametrize(("cc", "kp"), [("ccp", 1), ("ccpd", 4)])
def test_an_outage_in_slow_start_leaves_no_threshold(finish: Runner, cc: str, kp: float) -> None:
    """A timeout keeps what slow start has measured so far, which is nothing here."""
    schedule = [{"at": "250 ms", "path": {"loss": 0.999999}}, {"at": "1500 ms", "path": {"loss": 0}}]
    done = finish(
        path={"bandwidth": "20 Mbit/s", "rtt": "100 ms"}, flows=controlled(cc, kp), duration="15 s", schedule=schedule
    )
    assert between(done.trace, 10, 15).mean() == pytest.approx(resting_window(cc, kp, 1) * pipe(done), rel=0.03)


@pytest.mark.parametrize("kd_us", [0, 1000, 8000])
def test_the_derivative_does_not_move_the_fixed_point(finish: Runner, kd_us: int) -> None:
    done = finish(path=GIGABIT, flows=controlled("ccpd", 4, kd=f"{kd_us} us"), duration="4 s", warmup="2 s")
    assert between(done.trace, 2, 4).mean() == pytest.approx(12 / 9 * pipe(done), rel=0.03)


def test_a_gain_of_zero_gives_the_smallest_window(finish: Runner) -> None:
    done = finish(path=GIGABIT, flows=controlled("ccp", 0), duration="4 s")
    assert set(between(done.trace, 2, 4).tolist()) == {2}


@pytest.mark.default_kernel
@pytest.mark.parametrize(("cc", "kp"), [("ccp", 2), ("ccpd", 4)])
@pytest.mark.parametrize("buffer", ["0.25 BDP", "1 BDP"])
def test_a_single_loss_changes_nothing(finish: Runner, cc: str, kp: float, buffer: str) -> None:
    schedule = [{"at": "3 s", "path": {"loss": 2e-3}}, {"at": "3010 ms", "path": {"loss": 0}}]
    done = finish(
        path=GIGABIT | {"buffer": buffer}, flows=controlled(cc, kp), duration="5 s", schedule=schedule, seed=3
    )
    assert 1 <= late_drops(done, 2.9) <= 8
    before, after = between(done.trace, 2.5, 3).mean(), between(done.trace, 3.5, 5).mean()
    assert after == pytest.approx(before, rel=0.05)


@pytest.mark.parametrize(("cc", "kp"), [("ccp", 2), ("ccpd", 4)])
def test_the_window_yields_to_cross_traffic_and_comes_back(finish: Runner, cc: str, kp: float) -> None:
    flows = [*controlled(cc, kp), {"name": "udp", "udp": "200 Mbit/s", "start": "5 s", "stop": "10 s"}]
    done = finish(path=GIGABIT, flows=flows, duration="14 s", warmup="2 s")
    before, during = between(done.trace, 4, 5).mean(), between(done.trace, 8, 10).mean()
    assert during < 0.95 * before
    # Twenty round trips after the cross traffic.
    assert between(done.trace, 10.4, 14).mean() == pytest.approx(before, rel=0.10)


@pytest.mark.parametrize("cc", ["ccp", "ccpd"])
def test_marks_reduce_the_window(finish: Runner, cc: str) -> None:
    """Losses are ignored by design; a mark must reduce the window for a round nevertheless."""
    path = GIGABIT | {"ecn": "on", "queue": "codel", "buffer": "2 BDP"}
    done = finish(path=path, flows=controlled(cc, 4), duration="6 s", warmup="2 s")
    acks = acks_of(done.trace)
    marked = (acks["state"] == 2) & (seconds(acks) > 2)
    assert done.document["path"]["marks"] > 0
    assert np.any(marked)
    first = int(np.argmax(marked))
    assert acks["cwnd"][first] <= 0.81 * int(acks["cwnd"][first - 1]) + 1


@pytest.mark.parametrize("cc", ["ccp", "ccpd"])
def test_a_blackout_is_survived(finish: Runner, cc: str) -> None:
    schedule = [{"at": "5 s", "path": {"loss": 0.999999}}, {"at": "7 s", "path": {"loss": 0}}]
    done = finish(
        path={"bandwidth": "100 Mbit/s", "rtt": "40 ms"}, flows=controlled(cc, 2), duration="20 s", schedule=schedule
    )
    assert between(done.trace, 15, 20).mean() == pytest.approx(between(done.trace, 3, 5).mean(), rel=0.05)
