"""The settings of a path and its flows, and their effect in a guest."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.spec.congestion_controls import CONGESTION_CONTROLS
from longhaul.orchestrator.trace.records import DROP_RANDOM
from tests.support.guests import Runner
from tests.support.tested_kernels import TESTED_KERNELS

SMALL = {"bandwidth": "20 Mbit/s", "rtt": "40 ms"}


def pair(**more: object) -> list[dict[str, object]]:
    return [{"name": "pair", "cc": "cubic", "count": 2, **more}]


@pytest.mark.parametrize("cc", [name for name in CONGESTION_CONTROLS if name != "lhfixed"])
@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_every_congestion_control_fills_a_path_in_every_kernel(finish: Runner, cc: str, kernel: str) -> None:
    # DCTCP without marks would be Reno.
    marks = {"ecn": "on", "queue": "codel"} if cc == "dctcp" else {}
    # TCP-LP mistakes a delayed ACK for a queue.
    one: dict[str, Any] = {"name": "one", "cc": cc, **({"delayed_ack": False} if cc == "lp" else {})}
    done = finish(path=SMALL | marks, flows=[one], duration="20 s", warmup="5 s", kernel=kernel)
    assert done.document["kernel"].startswith(kernel + ".")
    assert done.facts["flows"][0]["cc"] == cc
    # CDG and NV back off by delay and leave some of a short path unused; TCP-LP does at the first sign of its own queue.
    least = {"cdg": 0.3, "nv": 0.3, "lp": 0.08}.get(cc, 0.8)
    assert done.document["path"]["utilisation"] > least


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "pie", "red", "cake"])
def test_an_aqm_marks_instead_of_dropping_where_ecn_is_on(finish: Runner, queue: str) -> None:
    marked = finish(path=SMALL | {"queue": queue, "ecn": "on", "buffer": "4 BDP"}, flows=pair(), duration="20 s")
    assert marked.document["path"]["marks"] > 0
    assert all(flow["ecn"] for flow in marked.facts["flows"])
    dropped = finish(path=SMALL | {"queue": queue, "buffer": "4 BDP"}, flows=pair(), duration="20 s")
    assert dropped.document["path"]["marks"] == 0
    assert dropped.document["path"]["drops"] > 0
    full = finish(path=SMALL | {"buffer": "4 BDP"}, flows=pair(), duration="20 s")
    assert dropped.document["path"]["queue_packets"]["mean"] < full.document["path"]["queue_packets"]["mean"]


@pytest.mark.parametrize(("window", "share"), [(26, 0.0), (46, 1.0)])
def test_a_step_queue_marks_packets_above_its_threshold_and_no_others(
    finish: Runner, window: int, share: float
) -> None:
    # A constant window keeps window - BDP packets waiting; with a BDP of 16.5 that is 9.5 and 29.5, and the threshold is 20.
    path = {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "100 packets"}
    flows = [{"name": "one", "cc": "lhfixed", "params": {"cwnd": f"{window} packets"}}]
    step = {"queue": "step", "mark_at": "20 packets", "ecn": "on"}
    done = finish(path=path | step, flows=flows, duration="10 s", warmup="2 s")
    passed = done.document["path"]["throughput_bps"] * 8 / (8 * done.run.meaning.frame_bytes)
    assert done.document["path"]["marks"] == pytest.approx(share * passed, rel=0.01)
    assert done.document["path"]["queue_packets"]["mean"] == pytest.approx(window - 16.5, abs=1)


@pytest.mark.parametrize(("delayed_ack", "segments"), [("off", 2), ("on", 1.5)])
def test_a_threshold_of_0_bytes_marks_every_packet_and_dctcp_keeps_two_segments(
    finish: Runner, delayed_ack: str, segments: float
) -> None:
    # A segment that is acknowledged at once repeats after the round trip. Delayed ACKs cover one and two segments in turn.
    path = {"bandwidth": "100 Mbit/s", "rtt": "10 ms", "buffer": "100 packets", "ecn": "on", "queue": "step"}
    flows = [{"name": "one", "cc": "dctcp", "delayed_ack": delayed_ack}]
    done = finish(path=path | {"mark_at": "0 B"}, flows=flows, duration="6 s", warmup="2 s")
    assert done.document["flows"][0]["goodput_bps"] == pytest.approx(segments * 1448 * 8 / 10e-3, rel=0.01)
    passed = done.document["path"]["throughput_bps"] * 4 / (8 * done.run.meaning.frame_bytes)
    assert done.document["path"]["marks"] == pytest.approx(passed, rel=0.01)


def test_two_dctcp_flows_fill_10_gbit_from_a_seventh_of_a_bdp_on(finish: Runner) -> None:
    """Alizadeh et al. 2010, section 3.4, with frames of 4014 bytes: a seventh of 25 KB is 3.6 KB, less than a frame."""
    path = {
        "bandwidth": "10 Gbit/s",
        "rtt": "20 us",
        "buffer": "1000 packets",
        "ecn": "on",
        "queue": "step",
        "mtu": 4000,
    }
    goodputs_bps = []
    for threshold in ("0 B", "8 KB", "16640 B", "199680 B"):
        done = finish(
            topology="dumbbell", params={"n": 2}, path=path | {"mark_at": threshold}, sample="1 ms",
            flows=[{"name": "app", "cc": "dctcp", "count": 2}], duration="200 ms", warmup="50 ms",
        )  # fmt: skip
        goodputs_bps.append(sum(flow["goodput_bps"] for flow in done.document["flows"]))
        if threshold not in ("0 B", "8 KB"):
            assert goodputs_bps[-1] == pytest.approx(10e9 * 3948 / 4014, rel=0.01)
    assert all(after >= 0.995 * before for before, after in pairwise(goodputs_bps))
    assert goodputs_bps[0] < 0.6 * goodputs_bps[-1]


@pytest.mark.parametrize("forward_ms", [12, 0])
def test_a_sender_does_not_count_the_path_as_its_own_queue(finish: Runner, forward_ms: int) -> None:
    """Slow start sends two packets for each that leaves, so half of a window waits, whichever direction has the delay."""
    one_way = {"forward": f"{forward_ms} ms", "reverse": f"{12 - forward_ms} ms"}
    path = {"bandwidth": "1 Gbit/s", "rtt": None, "one_way": one_way, "buffer": "5000 packets", "mtu": 1052}
    flows = [{"name": "one", "cc": "reno", "delayed_ack": "off"}]
    # 10 packets at once after a round trip of 12 ms, then 20, 40, 80, 160, and 320 at 72 ms.
    done = finish(path=path, flows=flows, duration=f"{82 + forward_ms} ms", start_jitter="0 s")
    assert done.document["path"]["queue_packets"]["max"] == pytest.approx(320 / 2, abs=5)


def test_dctcp_keeps_the_queue_at_the_step_and_the_path_full(finish: Runner) -> None:
    path = {"bandwidth": "100 Mbit/s", "rtt": "2 ms", "buffer": "200 packets", "ecn": "on"}
    flows = [{"name": "pair", "cc": "dctcp", "count": 2}]
    done = finish(path=path | {"queue": "step", "mark_at": "20 packets"}, flows=flows, duration="5 s", warmup="1 s")
    assert done.document["path"]["utilisation"] > 0.99
    assert 14 < done.document["path"]["queue_packets"]["mean"] < 24


def test_a_buffer_in_time_may_hold_more_short_packets_than_full_ones(finish: Runner) -> None:
    # 62500 bytes are 41 full frames; short ones, as of a handshake, fit in addition.
    flows = [{"name": "near", "cc": "bbr"}, {"name": "far", "cc": "bbr", "rtt": "50 ms"}]
    done = finish(
        path={"bandwidth": "50 Mbit/s", "rtt": "10 ms", "buffer": "10 ms"}, flows=flows, duration="40 s", warmup="20 s"
    )
    bottleneck = of_flow(done.trace.links, done.run.links[0].id)
    assert bottleneck["queue_max_packets"].max() > 41
    assert bottleneck["queue_bytes"].max() <= 62_500


def test_jitter_delays_and_never_reorders(finish: Runner) -> None:
    flows = [{"name": "one", "cc": "lhfixed", "params": {"cwnd": "10 packets"}}]
    done = finish(path={"bandwidth": "1 Gbit/s", "rtt": "40 ms", "jitter": "5 ms"}, flows=flows, duration="20 s")
    rtts_us = done.trace.acks["rtt_us"]
    assert rtts_us.max() - rtts_us[rtts_us > 0].min() > 5000
    assert done.document["flows"][0]["retransmits"] == 0


def test_reordering_shortens_the_round_trip_of_the_sender(finish: Runner) -> None:
    done = finish(path=SMALL | {"reorder": 0.02}, flows=[{"name": "one", "cc": "reno"}], duration="20 s")
    least_us = int(done.trace.acks["rtt_us"][done.trace.acks["rtt_us"] > 0].min())
    # A packet that overtakes skips the forward delay.
    assert 19_000 < least_us < 30_000


def test_losses_come_in_bursts(finish: Runner) -> None:
    # The bad state ends after four packets on average, so bursts have four packets, and a share p / (p + r) of all is lost.
    burst = {"p": 0.005, "r": 0.25, "bad": 1.0}
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "10 ms", "burst": burst},
        flows=[{"name": "probe", "udp": "40 Mbit/s"}],
        duration="100 s",
    )
    sent = done.facts["flows"][0]["packets_sent"]
    lost = done.trace.drops[done.trace.drops["state"] == DROP_RANDOM]
    assert len(lost) / sent == pytest.approx(0.005 / 0.255, rel=0.1)
    spacing_ns = 1514 * 8e9 / 40e6
    runs = 1 + np.count_nonzero(np.diff(lost["t_ns"].astype(np.int64)) > 1.5 * spacing_ns)
    assert len(lost) / runs == pytest.approx(4, rel=0.1)


def test_duplicates_arrive_and_do_no_harm(finish: Runner) -> None:
    done = finish(path=SMALL | {"duplicate": 0.01}, flows=[{"name": "probe", "udp": "10 Mbit/s"}], duration="20 s")
    (flow,) = done.facts["flows"]
    arrived = sum(device["rx_packets"] for device in done.facts["devices"] if device["node"] == "b1")
    assert arrived / flow["packets_sent"] - 1 == pytest.approx(0.01, abs=0.003), "copies arrive"
    assert flow["packets_received"] / flow["packets_sent"] == pytest.approx(1, abs=0.002), "and count once"


def test_flows_with_their_own_round_trips(finish: Runner) -> None:
    flows = [
        {"name": name, "cc": "lhfixed", "params": {"cwnd": "4 packets"}, **more}
        for name, more in (("short", {}), ("long", {"rtt": "160 ms"}))
    ]
    done = finish(path={"bandwidth": "1 Gbit/s", "rtt": "40 ms"}, flows=flows, duration="5 s")
    short, long = (flow["rtt_ms"]["min"] for flow in done.document["flows"])
    assert short == pytest.approx(40, rel=0.001)
    assert long == pytest.approx(160, rel=0.001)


def test_a_sized_flow_reports_its_completion_time(finish: Runner) -> None:
    done = finish(path=SMALL, flows=[{"name": "file", "cc": "cubic", "size": "5 MB"}], duration="20 s")
    (flow,) = done.document["flows"]
    assert flow["bytes"] == 5_000_000
    ideal_s = 5e6 / 1448 * 1514 * 8 / 20e6
    assert ideal_s < flow["completion_s"] < ideal_s + 0.5


def test_constant_bit_rate_is_exact(finish: Runner) -> None:
    done = finish(path=SMALL, flows=[{"name": "calls", "udp": "3 Mbit/s"}], duration="20 s", warmup="1 s")
    (flow,) = done.document["flows"]
    assert flow["rate_error"] < 0.001
    assert flow["pdr"] == 1.0


def test_background_traffic_has_its_configured_means(finish: Runner) -> None:
    flows = [
        {"name": "bursts", "on_off": {"rate": "2 Mbit/s", "on": "100 ms", "off": "300 ms"}},
        {"name": "pages", "web": {"mean": "50 KB", "think": "200 ms"}, "count": 3},
    ]
    done = finish(path={"bandwidth": "100 Mbit/s", "rtt": "20 ms"}, flows=flows, duration="200 s")
    bursts, *pages = done.document["flows"]
    assert bursts["goodput_bps"] == pytest.approx(2e6 * 0.25 * 1472 / 1514, rel=0.2)
    assert all(fact["connections"] > 100 for fact in done.facts["flows"][1:])
    assert all(page["bytes"] > 1_000_000 for page in pages)


@pytest.mark.default_kernel
def test_hundreds_of_flows_at_once(finish: Runner) -> None:
    flows = [{"name": "many", "cc": "cubic", "count": 300, "spread": "5 ms"}]
    path = {"bandwidth": "300 Mbit/s", "rtt": "40 ms"}
    done = finish(path=path, flows=flows, duration="10 s", warmup="3 s", start_jitter="1 RTT")
    assert len(done.document["flows"]) == 300
    assert done.document["path"]["utilisation"] > 0.95
    assert all(flow["bytes"] > 0 for flow in done.document["flows"])


def test_parameters_reach_the_module(finish: Runner) -> None:
    """CUBIC keeps beta/1024 of its window at a loss: read from the trace."""

    def kept(beta: int) -> float:
        flows = [{"name": "one", "cc": "cubic", "params": {"beta": beta, "tcp_friendliness": "off"}}]
        path = {"bandwidth": "50 Mbit/s", "rtt": "80 ms"}
        done = finish(path=path, flows=flows, duration="60 s", warmup="10 s")
        acks = done.trace.acks
        falls = np.flatnonzero(np.diff(acks["ssthresh"].astype(np.int64)) != 0)
        later = falls[acks["t_ns"][falls] > 10e9]
        assert len(later)
        return float(acks["ssthresh"][later[0] + 1] / acks["cwnd"][later[0]])

    assert kept(717) == pytest.approx(0.7, abs=0.02)
    assert kept(900) == pytest.approx(900 / 1024, abs=0.02)


def test_a_window_clamp_holds(finish: Runner) -> None:
    flows = [{"name": "one", "cc": "cubic", "window": "20 packets"}]
    done = finish(path={"bandwidth": "100 Mbit/s", "rtt": "40 ms"}, flows=flows, duration="10 s", warmup="2 s")
    assert int(done.trace.acks["inflight"].max()) <= 20
    assert done.document["flows"][0]["goodput_bps"] == pytest.approx(20 * 1448 * 8 / 0.04, rel=0.05)


def test_a_reverse_rate_thins_the_acknowledgements(finish: Runner) -> None:
    path = {"bandwidth": "50 Mbit/s", "rtt": "40 ms", "reverse_bandwidth": "200 kbit/s"}
    done = finish(path=path, flows=[{"name": "one", "cc": "cubic"}], duration="20 s", warmup="5 s")
    # 200 kbit/s carry 378 acknowledgements of 66 bytes a second.
    reverse = done.trace.links[done.trace.links["id"] == 1]
    rate = (
        float(reverse["tx_bytes"][-1] - reverse["tx_bytes"][0]) * 8e9 / float(reverse["t_ns"][-1] - reverse["t_ns"][0])
    )
    assert rate < 200_500


def test_sampling_by_interval_thins_the_trace_and_keeps_the_numbers(finish: Runner) -> None:
    flows = [{"name": "one", "cc": "cubic"}]
    every = finish(path=SMALL, flows=flows, duration="20 s", warmup="5 s")
    some = finish(path=SMALL, flows=flows, duration="20 s", warmup="5 s", sample="50 ms")
    assert len(some.trace.acks) < len(every.trace.acks) / 10
    assert some.document["flows"][0]["goodput_bps"] == every.document["flows"][0]["goodput_bps"]


def test_a_gigabit_guest_needs_little_memory(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "100 ms"}, flows=[{"name": "one", "cc": "cubic"}], duration="8 s"
    )
    assert done.document["max_rss_kb"] < 300_000


def test_a_receiver_that_does_not_delay_acknowledges_each_segment(finish: Runner) -> None:
    def acks_a_segment(delayed: str) -> float:
        done = finish(flows=[{"name": "one", "cc": "cubic", "delayed_ack": delayed}])
        return len(done.trace.acks) / int(done.trace.acks["delivered"].max())

    assert acks_a_segment("on") == pytest.approx(0.5, rel=0.05)
    assert acks_a_segment("off") == pytest.approx(1, rel=0.02)
