"""Estimates of time and memory: what a run is expected to send, and the pace of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import guest_estimate_s, memory_estimate_mb, wall_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.traffic.draws import Draws
from longhaul.orchestrator.plan.traffic.estimate import expected_traffic
from longhaul.orchestrator.plan.traffic.path_state import PathState, loss_share
from longhaul.orchestrator.plan.traffic.senders import udp_sent, web_fetched
from longhaul.orchestrator.system.pace import note_run, pace
from tests.support.guests import experiment


def _run(flow: dict[str, Any], duration: str = "20 s", **path: Any) -> Run:
    (run,) = compile_plan(experiment(path=path, flows=[{"name": "app"} | flow], duration=duration)).runs
    return run


def test_a_flow_without_losses_fills_the_path() -> None:
    packets = expected_traffic(_run({"cc": "cubic"})).tcp
    assert packets == pytest.approx(20 * 100e6 / 8 / 1514, rel=0.15)


def test_a_window_and_a_size_bound_what_is_sent() -> None:
    assert expected_traffic(_run({"cc": "reno", "window": "10 packets"})).tcp == pytest.approx(10 * 20 / 0.04, rel=0.05)
    assert expected_traffic(_run({"cc": "reno", "size": "1 MB"})).tcp == pytest.approx(1e6 / 1448, rel=0.05)


def test_bursts_lose_what_both_states_lose() -> None:
    """With p 1 % and r 9 % a tenth of all packets meets the bad state."""
    run = _run({"cc": "cubic"}, burst={"p": "1 %", "r": "9 %", "bad": "80 %", "good": "1 %"})
    (link,) = next(end.qdiscs for end in run.ends if end.dev == run.links[0].dev)
    assert loss_share(link) == pytest.approx(0.1 * 0.8 + 0.9 * 0.01)


def test_losses_take_most_of_a_loss_based_flow_and_little_of_bbr() -> None:
    lossy = {cc: expected_traffic(_run({"cc": cc}, loss="2 %")).tcp for cc in ("reno", "bbr")}
    assert lossy["reno"] < 0.1 * lossy["bbr"]


def test_nothing_arrives_during_a_blackout() -> None:
    assert expected_traffic(_run({"cc": "cubic"}, loss="100 %")).tcp < 100


def test_data_follows_a_round_trip_after_the_start() -> None:
    """A flow whose handshake takes longer than the run sends nothing; a lost one is repeated after a second."""
    assert expected_traffic(_run({"cc": "cubic"}, duration="0.29 s", rtt="300 ms")).tcp == 0
    packets = expected_traffic(_run({"cc": "reno", "window": "10 packets"}, duration="0.7 s", rtt="100 ms")).tcp
    assert packets == pytest.approx(10 * 6, rel=0.05)
    assert expected_traffic(_run({"cc": "cubic"}, duration="0.5 s", reverse_loss="60 %")).tcp == 0


def test_a_blackout_ends_at_a_timeout() -> None:
    """Nothing arrives from 100 to 190 ms: the first timeout, 200 ms and a round trip after the begin, is later than the end."""
    dark = [{"at": "100 ms", "path": {"loss": "100 %"}}, {"at": "190 ms", "path": {"loss": 0.0}}]
    short, long = (_scheduled(dark, duration) for duration in ("300 ms", "500 ms"))
    before = _scheduled([], "100 ms")
    assert expected_traffic(short).tcp == pytest.approx(expected_traffic(before).tcp, rel=0.05)
    assert expected_traffic(long).tcp > 1.5 * expected_traffic(short).tcp


def _scheduled(schedule: list[dict[str, Any]], duration: str) -> Run:
    flows = [{"name": "app", "cc": "cubic"}]
    (run,) = compile_plan(experiment(path={"rtt": "4 ms"}, flows=flows, duration=duration, schedule=schedule)).runs
    return run


def test_recovery_without_sack_takes_a_round_trip_for_each_lost_packet() -> None:
    with_sack, without = (
        expected_traffic(_run({"cc": "reno", "sack": sack}, duration="2 s", rtt="100 ms", buffer="20 packets"))
        for sack in (True, False)
    )
    assert without.tcp < 0.7 * with_sack.tcp


def test_jitter_that_keeps_the_order_lengthens_the_round_trip() -> None:
    """Of many packets within the jitter each waits for the latest; those that may overtake wait for none."""
    run = _run({"cc": "cubic"}, jitter="10 ms")
    assert PathState(run, 0).path(run.flows[0]).base_s == pytest.approx(0.05, abs=0.001)
    free = _run({"cc": "cubic"}, jitter="10 ms", reorder="1 %")
    assert PathState(free, 0).path(free.flows[0]).base_s == pytest.approx(0.04, abs=0.0001)


def test_packets_that_overtake_end_the_slow_start_of_cubic() -> None:
    plain, overtaking = (
        expected_traffic(_run({"cc": "cubic"}, "3 s", bandwidth="1 Gbit/s", rtt="200 ms", **path)).tcp
        for path in ({}, {"reorder": "5 %"})
    )
    assert overtaking < 0.3 * plain


def test_hybla_grows_by_powers_of_its_round_trip() -> None:
    """At 100 ms it multiplies its window by 16 in a round trip, where others double."""
    hybla, reno = (
        expected_traffic(_run({"cc": cc}, "0.45 s", bandwidth="10 Gbit/s", rtt="100 ms")).tcp
        for cc in ("hybla", "reno")
    )
    assert reno == pytest.approx(10 + 20 + 40 + 40, rel=0.1)
    assert hybla == pytest.approx(10 + 160 + 2560 + 20480, rel=0.1)


def test_udp_is_lost_at_a_small_queue_and_crosses_no_wire_behind_it() -> None:
    """At 950 Mbit/s 250 us of packets, 19 of them, are sent at once, and a queue of one packet passes two."""
    run = _run({"udp": "950 Mbit/s"}, "1 s", bandwidth="1 Gbit/s", buffer="1 packets", rtt="0.1 ms")
    sent = udp_sent(run, run.flows[0])
    assert sent.packets == pytest.approx(950e6 / 8 / 1514, rel=0.03)
    assert sent.packets / sent.sends == pytest.approx(19)
    assert expected_traffic(run).crossings == pytest.approx(sent.packets + 2 * sent.sends, rel=0.01)


def test_a_receiver_of_udp_looks_a_hundred_times_a_second() -> None:
    run = _run({"udp": "1 Mbit/s"}, "12 s")
    assert expected_traffic(run).looks == pytest.approx(1200, abs=10)


def test_draws_are_those_of_the_agent() -> None:
    """The first numbers of orchestrator/agent/system/random.c with seed 1, as its C gives them."""
    draws = Draws(1)
    assert [int(draws.exponential(1_000_000)) for _ in range(3)] == [352509, 653087, 554941]
    draws = Draws(1)
    assert [int(draws.pareto(100_000, 1.2)) for _ in range(3)] == [22357, 28721, 26466]


def test_a_web_user_fetches_at_once_and_after_each_pause() -> None:
    run = _run({"web": {"mean": "1 KB", "think": "10 s"}}, "0.5 s")
    assert web_fetched(run, run.flows[0], 1e6, 1, 0).fetches == 1
    busy = _run({"web": {"mean": "1 KB", "think": "100 ms"}}, "2000 s")
    # A pause and two round trips or a little more.
    assert web_fetched(busy, busy.flows[0], 1e6, 1, 0).fetches == pytest.approx(2000 / (0.1 + 2 * 0.04), rel=0.1)


def test_iperf3_waits_for_four_round_trips() -> None:
    near, far = (_run({"cc": "cubic", "tool": "iperf3", "size": "1 MB"}, rtt=rtt) for rtt in ("1 ms", "301 ms"))
    plain = [_run({"cc": "cubic", "size": "1 MB"}, rtt=rtt) for rtt in ("1 ms", "301 ms")]
    more_s = [guest_estimate_s(run) - guest_estimate_s(other) for run, other in zip((near, far), plain, strict=True)]
    assert more_s[1] - more_s[0] == pytest.approx(4 * 0.3 * 0.3, rel=0.05)


def test_udp_on_its_way_takes_memory() -> None:
    """100,000 packets a second, 50 ms on their way and up to 10 ms before the receiver looks."""
    run = _run({"udp": "1211.2 Mbit/s"}, "1 s", bandwidth="2 Gbit/s", rtt="100 ms")
    assert expected_traffic(run).udp_peak == pytest.approx(6000, rel=0.02)


def test_memory_grows_with_what_is_on_the_path() -> None:
    small, large = _run({"cc": "bbr"}), _run({"cc": "bbr"}, bandwidth="1 Gbit/s", rtt="300 ms")
    assert memory_estimate_mb(small) + 30 < memory_estimate_mb(large) < large.memory_mb


def test_runs_that_take_twice_as_long_double_the_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    run = _run({"cc": "cubic"})
    before_s = wall_estimate_s(run)
    assert pace() == 1.0
    note_run(0.001, 0.01)
    assert pace() == 1.0, "a run that is too short tells nothing"
    for _ in range(60):
        note_run(guest_estimate_s(run), 2 * guest_estimate_s(run))
    assert pace() == pytest.approx(2, rel=0.06)
    assert wall_estimate_s(run) == pytest.approx(2 * before_s, rel=0.06)


def test_a_broken_file_is_the_usual_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    (tmp_path / "pace.json").write_text('{"pace": "fast"}')
    assert pace() == 1.0
