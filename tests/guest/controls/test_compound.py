"""Compound TCP: Reno with an additional delay-based window, on virtual-time traces."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from tests.guest.windows import acks_of, at, between, growth, module_state, reductions, seconds
from tests.support.guests import Finished, Runner


def compound(**params: Any) -> list[dict[str, Any]]:
    return [{"name": "one", "cc": "compound", "params": params}]


@pytest.fixture(scope="module")
def unhindered(finish: Runner) -> Finished:
    """Losses in the first second leave a small window; then it grows for half a minute without a queue."""
    schedule = [{"at": "1 s", "path": {"loss": 0}}]
    return finish(
        path={"bandwidth": "10 Gbit/s", "rtt": "100 ms", "loss": 0.02},
        flows=compound(),
        duration="32 s",
        schedule=schedule,
    )


@pytest.mark.parametrize(("window", "segments"), [(100, 3.95), (1000, 22.2), (10_000, 125.0)])
def test_growth_while_the_queue_is_short(unhindered: Finished, window: int, segments: float) -> None:
    acks = acks_of(unhindered.trace)
    t_s = float(seconds(acks)[(acks["cwnd"] >= window) & (seconds(acks) > 1.5)][0])
    assert growth(unhindered.trace, t_s - 0.2, t_s + 0.2) == pytest.approx(segments, rel=0.1)


def test_growth_below_the_low_window_is_renos(unhindered: Finished) -> None:
    acks = acks_of(unhindered.trace)
    small = (acks["cwnd"] < 37) & (seconds(acks) > 1.5)
    begin_s, end_s = seconds(acks)[small][[0, -1]]
    assert end_s - begin_s > 0.5
    assert growth(unhindered.trace, float(begin_s), float(end_s)) == pytest.approx(1.0, abs=0.15)
    # dwnd stays as the losses left it. The last ACK of a window below 37 may end the round trip in which it begins to grow.
    left = module_state(unhindered.trace, float(begin_s)).rttcnt
    assert left <= 2
    assert module_state(unhindered.trace, float(end_s) - 0.1).rttcnt == left


def test_the_window_rests_while_some_segments_wait(finish: Runner) -> None:
    """dwnd shrinks by as much as cwnd grows: a plateau a little above the pipe for many round trips."""
    schedule = [{"at": "1 s", "path": {"loss": 0}}]
    done = finish(
        path={"bandwidth": "200 Mbit/s", "rtt": "50 ms", "buffer": "2 BDP", "loss": 0.02},
        flows=compound(tune_gamma="off"),
        duration="20 s",
        schedule=schedule,
    )
    pipe = done.run.meaning.bdp_packets
    acks = acks_of(done.trace)
    full_s = float(seconds(acks)[(seconds(acks) > 1.5) & (acks["cwnd"] >= pipe)][0])
    plateau = between(done.trace, full_s, full_s + 60 * 0.05)
    assert plateau.mean() == pytest.approx(pipe, abs=60)
    assert plateau.min() >= pipe - 60
    # A queue is detected at the end of its round, when the window has grown by pipe^(3/4) / 8 once more.
    assert plateau.max() <= pipe + 60 + 1.5 * pipe**0.75 / 8
    begin, end = module_state(done.trace, full_s + 0.5), module_state(done.trace, full_s + 3)
    assert 0 < end.rttcnt < begin.rttcnt


def test_a_loss_halves_the_window_and_both_its_parts(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "100 ms", "loss": 1e-5, "buffer": "1 BDP"},
        flows=compound(),
        duration="60 s",
    )
    seen = 0
    for reduction in reductions(done.trace):
        assert reduction.after == pytest.approx(reduction.before / 2, abs=1)
        before, after = module_state(done.trace, reduction.t_s), module_state(done.trace, reduction.t_s + 0.08)
        if before.enabled and before.rttcnt > 50:
            seen += 1
            assert after.rttcnt == pytest.approx(before.rttcnt / 2, rel=0.05)
    assert seen >= 3


def test_the_delay_window_is_empty_in_slow_start_and_after_a_timeout(finish: Runner) -> None:
    schedule = [{"at": "30 s", "path": {"loss": 0.999999}}, {"at": "31 s", "path": {"loss": 0}}]
    done = finish(
        path={"bandwidth": "200 Mbit/s", "rtt": "50 ms"}, flows=compound(), duration="40 s", schedule=schedule
    )
    states = done.trace.states
    first = reductions(done.trace)[0].t_s
    assert not states["word1"][seconds(states) < first].any()
    acks = acks_of(done.trace)
    lost = (acks["state"] == 4) & (seconds(acks) > 30)
    assert lost.any()
    begin_s, end_s = seconds(acks)[lost][[0, -1]]
    inside = (seconds(states) >= begin_s) & (seconds(states) <= end_s)
    assert not states["word1"][inside].any()


def test_gamma_follows_a_short_buffer_down(finish: Runner) -> None:
    path = {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "10 packets"}

    def goodput(cc: str, seed: int = 1, **more: Any) -> float:
        flows = [{"name": "one", "cc": cc}]
        done = finish(path=path | more, flows=flows, duration="60 s", warmup="20 s", seed=seed)
        if cc == "compound":
            assert module_state(done.trace, 59).enabled == 5
        return float(done.document["flows"][0]["goodput_bps"])

    # Alone and without random loss both have a sawtooth with a mean of three quarters; Compound's rises and loses
    # sooner. Compound gains under random loss.
    assert goodput("compound") >= 0.95 * goodput("reno")
    lossy = {cc: sum(goodput(cc, seed, loss=1e-4) for seed in range(1, 5)) for cc in ("compound", "reno")}
    assert lossy["compound"] >= 1.5 * lossy["reno"]


@pytest.mark.default_kernel
@pytest.mark.parametrize(
    ("cc", "params"),
    [("compound", {"log_alpha": 8}), ("agilesd", {"lambda_max": 1, "beta_ss": 0.5, "beta_ca": 0.5})],
)
def test_with_their_controls_compound_and_agilesd_are_reno(finish: Runner, cc: str, params: dict[str, Any]) -> None:
    path = {"bandwidth": "50 Mbit/s", "rtt": "60 ms", "buffer": "0.5 BDP", "loss": 2e-5}
    reno = finish(path=path, flows=[{"name": "one", "cc": "reno"}], duration="60 s")
    other = finish(path=path, flows=[{"name": "one", "cc": cc, "params": params}], duration="60 s")
    assert len(reductions(reno.trace)) > 5
    for field in ("t_ns", "cwnd", "ssthresh", "acked_bytes"):
        assert np.array_equal(acks_of(reno.trace)[field], acks_of(other.trace)[field]), field


def test_with_renos_decrease_agilesd_is_only_slower_to_fall(finish: Runner) -> None:
    """lambda_max = 1 alone: a segment a round trip, nineteen twentieths at a loss."""
    done = finish(
        path={"bandwidth": "50 Mbit/s", "rtt": "60 ms"},
        flows=[{"name": "one", "cc": "agilesd", "params": {"lambda_max": 1}}],
        duration="60 s",
    )
    later = reductions(done.trace)[1:]
    assert len(later) >= 3
    for reduction, following in pairwise(later):
        assert reduction.after == pytest.approx(0.95 * reduction.before, abs=1)
        if following.t_s - reduction.t_s > 1.2:
            assert growth(done.trace, reduction.t_s + 0.3, reduction.t_s + 1.1) == pytest.approx(1.0, abs=0.1)
    assert at(done.trace, 59) > done.run.meaning.bdp_packets
