"""Policers in guests: what passes is a token bucket's arithmetic, to the frame, and nothing waits."""

from __future__ import annotations

import numpy as np
import pytest

from longhaul.orchestrator.analysis.fidelity.policing import judge_policers
from longhaul.orchestrator.trace.records import POLICE_DROP, POLICE_PASS, Records
from tests.support.guests import Finished, Runner
from tests.support.tested_kernels import TESTED_KERNELS

_FRAME = 1514
_POLICE = {"rate": "10 Mbit/s", "burst": "100 KB"}
_UDP = [{"name": "udp", "udp": "20 Mbit/s"}]
_RTT_S, _WINDOW = 0.04, 100


def _passed(done: Finished) -> Records:
    passed: Records = done.trace.decisions[done.trace.decisions["state"] == POLICE_PASS]
    return passed


def _text(done: Finished) -> str:
    (check,) = [check for check in done.document["fidelity"]["checks"] if check["name"] == "policer"]
    assert check["ok"]
    return str(check["text"])


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_udp_above_the_rate_gets_the_burst_and_the_rate(finish: Runner, kernel: str) -> None:
    """In each time since the first packet: burst + rate x time, to a frame."""
    done = finish(path={"police": _POLICE}, flows=_UDP, kernel=kernel)
    passed = _passed(done)
    since_s = (passed["t_ns"] - done.trace.decisions["t_ns"][0]) / 1e9
    expected = 100_000 + 10e6 / 8 * since_s
    carried = np.cumsum(passed["length"], dtype=np.int64)
    later = since_s > 0.5
    assert later.sum() > 3000
    assert (carried <= expected + 1e-6).all()
    assert (carried[later] > expected[later] - 2 * _FRAME).all()
    assert done.document["policed"] == len(done.trace.decisions) - len(passed)
    assert done.document["path"]["drops"] == 0, "no queue dropped them"
    (flow,) = done.document["flows"]
    assert flow["loss_ratio"] == pytest.approx(done.document["policed"] / len(done.trace.decisions), abs=0.002)
    assert _text(done).startswith(f"s1-b1: {len(passed)} packets, {carried[-1]} bytes passed")


def test_a_fixed_window_loses_its_first_packet_when_the_bucket_is_empty(finish: Runner) -> None:
    """Two windows come at once, the first as large as a receiver allows; the third comes at the pace of the line, and empties what is left."""
    flow = {"name": "fixed", "cc": "lhfixed", "params": {"cwnd": f"{_WINDOW} packets"}, "initial_window": _WINDOW}
    done = finish(path={"police": {"rate": "10 Mbit/s", "burst": "200 KB"}}, flows=[flow], duration="1 s")
    decisions = done.trace.decisions
    begun_s = decisions["t_ns"][decisions["length"] == _FRAME][0] / 1e9
    first_s = decisions["t_ns"][decisions["state"] == POLICE_DROP][0] / 1e9
    # Bytes a second.
    line, fill = 100e6 / 8, 10e6 / 8
    third_s = 2 * (_RTT_S + _FRAME / line)
    left = 200_000 + fill * third_s - (65_535 // 1448 + _WINDOW) * _FRAME
    assert 0 < left < _WINDOW * _FRAME
    # Each acknowledgement lets two packets go at once, the first one earlier.
    assert first_s - begun_s == pytest.approx(third_s + left / (line - fill), abs=4 * _FRAME / line)


@pytest.mark.parametrize("queue", ["droptail", "fq_codel"])
def test_what_passes_is_not_delayed(finish: Runner, queue: str) -> None:
    """With a bucket that holds everything, each acknowledgement comes at the same nanosecond as without a policer."""
    without = finish(path={"queue": queue})
    done = finish(path={"queue": queue, "police": {"rate": "10 Gbit/s", "burst": "100 MB"}})
    assert done.document["policed"] == 0
    assert len(without.trace.acks) > 1000
    for name in ("t_ns", "cwnd", "rtt_us", "acked_bytes"):
        assert (done.trace.acks[name] == without.trace.acks[name]).all(), name


@pytest.mark.parametrize(
    "changes",
    [
        {"links": {"a1-s1": {"police": _POLICE}}},
        {"emulation": "chain", "path": {"police": _POLICE, "loss": "1 %", "duplicate": "1 %"}},
        {"path": {"police": _POLICE, "offloads": "on"}},
        {"topology": "parking_lot", "path": None, "links": {"s2-s3": {"police": _POLICE}}},
        {"path": {"queue": "cake", "police": {"rate": "3 Mbit/s", "burst": "2 KB"}}},
        {"path": {"police": _POLICE, "mtu": 9000}},
    ],
    ids=["an end host without a rate", "netem", "trains", "a middle link", "cake", "large frames"],
)
def test_every_kind_of_link_has_policers(finish: Runner, changes: dict[str, object]) -> None:
    flows = [{"name": "udp", "udp": "20 Mbit/s"}, {"name": "tcp", "cc": "cubic"}]
    done = finish(**{"flows": flows, "duration": "2 s"} | changes)
    assert done.document["policed"] > 100
    assert "decisions differ" not in _text(done)


def test_a_schedule_changes_a_policer(finish: Runner) -> None:
    """10 Mbit/s for 2 s, then 2 Mbit/s: the bucket's tokens stay, up to what the new one holds."""
    changed = {"at": "2 s", "path": {"police": {"rate": "2 Mbit/s", "burst": "30 KB"}}}
    done = finish(path={"police": _POLICE}, flows=_UDP, duration="4 s", schedule=[changed])
    passed = _passed(done)
    late = passed[passed["t_ns"] > 2_000_000_000]
    assert int(late["length"].sum()) <= 2e6 / 8 * 2 + 30_000
    assert int(late["length"].sum()) == pytest.approx(2e6 / 8 * 2, abs=2 * _FRAME)
    assert (policed := done.document["policers"])[0]["name"] == "s1-b1"
    assert policed[0]["passed"] == len(passed)


def test_a_wrong_decision_is_found(finish: Runner) -> None:
    """One packet that passed and should not have, and one the other way round."""
    done = finish(path={"police": _POLICE}, flows=_UDP)
    assert [ok for ok, _ in judge_policers(done.run, done.trace, done.facts)] == [True]
    for state, other in ((POLICE_DROP, POLICE_PASS), (POLICE_PASS, POLICE_DROP)):
        decisions = done.trace.decisions.copy()
        place = int(np.flatnonzero(decisions["state"] == state)[100])
        decisions["state"][place] = other
        trace = type(done.trace)(
            *(decisions if kind == "decision" else one for kind, one in done.trace.kinds().items())
        )
        ((ok, text),) = judge_policers(done.run, trace, done.facts)
        assert not ok
        assert f"the first at {decisions['t_ns'][place]} ns" in text
        assert "the kernel counted" in text
