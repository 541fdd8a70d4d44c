"""Physics the laboratory must reproduce before anyone believes one of its charts.

`lhfixed` keeps a constant window, so that every number here has a closed form. Tolerances are those of docs/fidelity.md.
"""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.guest.conftest import Runner

FRAME_BYTES = 1514
MSS = 1448


def fixed(cwnd: int, **more: object) -> dict[str, object]:
    return {"name": "one", "cc": "lhfixed", "params": {"cwnd": f"{cwnd} packets"}, **more}


@pytest.mark.parametrize("rtt_ms", [1, 10, 100, 600])
def test_base_rtt_is_the_configured_one(finish: Runner, rtt_ms: int) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": f"{rtt_ms} ms"}, flows=[fixed(2)], duration=f"{max(2, rtt_ms // 20)} s"
    )
    least_us = done.document["flows"][0]["rtt_ms"]["min"] * 1000
    assert abs(least_us - rtt_ms * 1000) <= max(rtt_ms * 1000 * 0.001, 20)


@pytest.mark.parametrize(
    ("bandwidth", "bps", "rtt_ms", "duration_s"),
    [("1 Mbit/s", 1e6, 50, 20), ("10 Mbit/s", 1e7, 50, 10), ("100 Mbit/s", 1e8, 20, 5), ("622 Mbit/s", 622e6, 20, 3),
     ("1 Gbit/s", 1e9, 20, 3), ("10 Gbit/s", 1e10, 10, 2)],
)  # fmt: skip
def test_bottleneck_rate_is_the_configured_one(
    finish: Runner, bandwidth: str, bps: float, rtt_ms: int, duration_s: int
) -> None:
    window = math.ceil(bps * rtt_ms / 1000 / 8 / FRAME_BYTES * 1.5) + 4
    done = finish(
        path={"bandwidth": bandwidth, "rtt": f"{rtt_ms} ms", "buffer": "2 BDP"},
        flows=[fixed(window)],
        duration=f"{duration_s} s",
        warmup="1 s",
    )
    links = done.trace.links
    inside = links[(links["t_ns"] >= 1_000_000_000)]
    span_ns = int(inside["t_ns"][-1] - inside["t_ns"][0])
    rate_bps = float(inside["tx_bytes"][-1] - inside["tx_bytes"][0]) * 8e9 / span_ns
    assert rate_bps == pytest.approx(bps, rel=0.002)


@pytest.mark.parametrize(("cwnd", "rtt_ms"), [(10, 40), (100, 40), (3000, 40), (100, 200)])
def test_goodput_is_window_over_rtt(finish: Runner, cwnd: int, rtt_ms: int) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": f"{rtt_ms} ms"}, flows=[fixed(cwnd)], duration="20 s", warmup="2 s"
    )
    (flow,) = done.document["flows"]
    assert flow["goodput_bps"] == pytest.approx(cwnd * MSS * 8 / (flow["rtt_ms"]["mean"] / 1000), rel=0.005)


@pytest.mark.parametrize("packets", [5, 50, 500])
def test_a_buffer_of_n_packets_drops_the_packet_after_n(finish: Runner, packets: int) -> None:
    # A burst a thousand times faster than the line: one packet leaves at once, N wait, every later one is dropped.
    done = finish(
        path={"bandwidth": "100 kbit/s", "rtt": "10 ms", "buffer": f"{packets} packets"},
        flows=[{"name": "burst", "udp": "10 Gbit/s", "start": "0 s", "stop": "1 ms"}],
        duration=f"{packets * 0.13 + 2:.0f} s",
    )  # fmt: skip
    (flow,) = done.facts["flows"]
    assert flow["packets_sent"] > packets + 2
    assert done.document["path"]["queue_packets"]["max"] == packets
    assert flow["packets_received"] == packets + 1
    assert len(done.trace.drops) == flow["packets_sent"] - packets - 1


@pytest.mark.parametrize(
    ("share", "rate", "seconds"),
    [("1e-5", "1 Gbit/s", 10), ("1e-4", "500 Mbit/s", 5), ("1e-3", "500 Mbit/s", 2), ("1e-2", "500 Mbit/s", 1)],
)
def test_random_loss_is_binomial(finish: Runner, share: str, rate: str, seconds: int) -> None:
    done = finish(
        path={"bandwidth": "10 Gbit/s", "rtt": "10 ms", "loss": float(share)},
        flows=[{"name": "probe", "udp": rate}],
        duration=f"{seconds} s",
    )  # fmt: skip
    (flow,) = done.facts["flows"]
    expected = flow["packets_sent"] * float(share)
    assert abs(len(done.trace.drops) - expected) < 4 * math.sqrt(expected) + 1


def test_ten_twins_share_alike(finish: Runner) -> None:
    flows = [{"name": "twin", "cc": "lhfixed", "params": {"cwnd": "40 packets"}, "count": 10}]
    done = finish(
        path={"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "500 packets"},
        flows=flows,
        duration="20 s",
        warmup="2 s",
    )
    assert done.document["jain"] > 0.999


@pytest.mark.parametrize(("loss", "duration_s"), [(1e-3, 400), (1e-4, 1600)])
def test_reno_answers_loss_with_the_square_root_law(finish: Runner, loss: float, duration_s: int) -> None:
    done = finish(
        path={"bandwidth": "1 Gbit/s", "rtt": "100 ms", "loss": loss},
        flows=[{"name": "one", "cc": "reno"}],
        duration=f"{duration_s} s",
        warmup="20 s",
        sample="10 ms",
    )
    (flow,) = done.document["flows"]
    window = flow["goodput_bps"] / 8 / MSS * 0.1
    assert window == pytest.approx(1.22 / math.sqrt(loss), rel=0.15)


def test_two_renos_share_a_path(finish: Runner) -> None:
    done = finish(
        path={"bandwidth": "20 Mbit/s", "rtt": "40 ms"},
        flows=[{"name": "reno", "cc": "reno", "count": 2}],
        duration="200 s",
        warmup="20 s",
        start_jitter="1 RTT",
    )
    assert done.document["jain"] > 0.95


def test_every_ack_is_traced(finish: Runner) -> None:
    done = finish(flows=[fixed(20)], duration="2 s")
    acks = done.trace.acks
    assert set(np.unique(acks["cwnd"]).tolist()) <= {20}
    (arrived,) = [device["rx_packets"] for device in done.facts["devices"] if device["dev"] == "a1-s1"]
    # The answer to the SYN is no ACK of data.
    assert len(acks) == arrived - 1
