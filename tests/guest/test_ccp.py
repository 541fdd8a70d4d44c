"""CCP and CCPD: the fixed points of both laws and what losses, marks and cross traffic do to them, on virtual-time traces.

D is the pipe in segments, Q the queue; C, RTT_min and RTT_max are known exactly here, so the fixed points are too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.guest.conftest import Finished, Runner
from tests.guest.windows import acks_of, between, seconds, told

GIGABIT = {"bandwidth": "1 Gbit/s", "rtt": "20 ms"}


def controlled(cc: str, kp: float, **params: Any) -> list[dict[str, Any]]:
    return [{"name": "one", "cc": cc, "params": {"kp": kp, **params}}]


def pipe(done: Finished) -> int:
    return done.run.meaning.bdp_packets


def late_drops(done: Finished, from_s: float) -> int:
    return int(np.count_nonzero(done.trace.drops["t_ns"] > from_s * 1e9))


@pytest.mark.parametrize(
    ("cc", "kp", "buffer", "window"),
    [
        ("ccp", 1, 0.25, 1.25 / 3),
        ("ccp", 2, 0.25, 2.5 / 3),
        ("ccp", 2, 1, 6 / 5),
        ("ccpd", 1, 0.25, 1.25 / 2),
        ("ccpd", 1, 1, 1.0),
        ("ccpd", 2, 0.25, 2.5 / 3),
        ("ccpd", 2, 1, 6 / 5),
        ("ccpd", 4, 0.25, 1.0),
        ("ccpd", 4, 1, 12 / 9),
    ],
)
def test_the_window_rests_where_the_law_says(finish: Runner, cc: str, kp: float, buffer: float, window: float) -> None:
    done = finish(path=GIGABIT | {"buffer": f"{buffer} BDP"}, flows=controlled(cc, kp), duration="4 s", warmup="2 s")
    assert between(done.trace, 2, 4).mean() == pytest.approx(window * pipe(done), rel=0.03)
    assert late_drops(done, 1) == 0
    rtt_ms = 20 * max(1.0, window)
    assert done.document["flows"][0]["rtt_ms"]["p50"] == pytest.approx(rtt_ms, rel=0.02)
    assert done.document["path"]["utilisation"] == pytest.approx(min(1.0, window), abs=0.03)
    said = told(done.trace, 3)
    assert said.enabled == 2
    assert said.minrtt == pytest.approx(20_000, abs=50)
    assert said.rtt == pytest.approx(20_000 * (1 + buffer), rel=0.01)


@pytest.mark.parametrize("kd_us", [0, 1000, 8000])
def test_the_derivative_does_not_move_the_fixed_point(finish: Runner, kd_us: int) -> None:
    done = finish(path=GIGABIT, flows=controlled("ccpd", 4, kd=f"{kd_us} us"), duration="4 s", warmup="2 s")
    assert between(done.trace, 2, 4).mean() == pytest.approx(12 / 9 * pipe(done), rel=0.03)


def test_no_gain_is_the_smallest_window(finish: Runner) -> None:
    done = finish(path=GIGABIT, flows=controlled("ccp", 0), duration="4 s")
    assert set(between(done.trace, 2, 4).tolist()) == {2}


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
def test_marks_are_heeded(finish: Runner, cc: str) -> None:
    """Losses are not, by design: an AQM that marks must still get its way for a round."""
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
