"""Physics that the laboratory must reproduce before its charts can be trusted.

`lhfixed` keeps a constant window, so that every number here has a closed form. Tolerances are those of docs/fidelity.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from tests.support.guests import Finished, Runner

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


def burst(packets: int, queue: str, window: int, unit: str = "packets") -> dict[str, object]:
    """A TCP window sent at one instant into an idle line; frames are small, so that they all fit into the first window."""
    size = f"{packets} packets" if unit == "packets" else f"{packets * 590} B"
    return {
        "path": {"bandwidth": "20 Mbit/s", "rtt": "80 ms", "buffer": size, "queue": queue, "mtu": 576},
        "flows": [fixed(window, initial_window=window, delayed_ack="off")],
        "duration": "150 ms",
    }


@pytest.mark.parametrize("packets", [1, 2, 3, 5, 50])
def test_a_buffer_of_n_packets_holds_n_of_a_burst_and_one_is_in_service(finish: Runner, packets: int) -> None:
    fits = finish(**burst(packets, "droptail", packets + 1))
    assert not len(fits.trace.drops)
    assert fits.document["path"]["queue_packets"]["max"] == packets
    one_more = finish(**burst(packets, "droptail", packets + 2))
    assert len(one_more.trace.drops) == 1
    assert one_more.document["path"]["queue_packets"]["max"] == packets


# RED drops from its threshold on, which is below 50 packets of this size.
@pytest.mark.parametrize(
    ("queue", "unit", "packets"),
    [
        *((queue, "packets", packets) for queue in ("codel", "fq_codel", "pie") for packets in (1, 5, 50)),
        *(("droptail", "bytes", packets) for packets in (1, 5, 50)),
        *(("red", "packets", packets) for packets in (1, 5)),
    ],
)
def test_every_kind_of_queue_holds_as_many_packets(finish: Runner, queue: str, unit: str, packets: int) -> None:
    done = finish(**burst(packets, queue, packets + 1, unit))
    assert not len(done.trace.drops)
    assert done.document["path"]["queue_packets"]["max"] == packets


@pytest.mark.parametrize(("cc", "packets", "ns3_mbps"), [("reno", 2, 14.5), ("cubic", 2, 16.2), ("reno", 3, 14.69)])
def test_a_tiny_buffer_gives_what_the_same_queue_gives_in_ns3(
    finish: Runner, cc: str, packets: int, ns3_mbps: float
) -> None:
    done = finish(
        path={"bandwidth": "20 Mbit/s", "rtt": "40 ms", "buffer": f"{packets} packets"},
        flows=[{"name": "one", "cc": cc}],
        duration="60 s",
        warmup="5 s",
    )
    assert done.document["flows"][0]["goodput_bps"] / 1e6 == pytest.approx(ns3_mbps, rel=0.15)


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


def test_ten_equal_flows_share_equally(finish: Runner) -> None:
    flows = [{"name": "twin", "cc": "lhfixed", "params": {"cwnd": "40 packets"}, "count": 10}]
    done = finish(
        path={"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "500 packets"},
        flows=flows,
        duration="20 s",
        warmup="2 s",
    )
    assert done.document["jain"] > 0.999


@pytest.mark.parametrize(("loss", "duration_s"), [(1e-3, 400), (1e-4, 1600)])
def test_reno_follows_the_square_root_law_of_loss(finish: Runner, loss: float, duration_s: int) -> None:
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


@pytest.mark.parametrize(
    ("cc", "bandwidth", "buffer", "far_ms", "least", "most"),
    [
        # Lakshman and Madhow 1997: between the inverse of the round trips and of their squares.
        ("reno", "20 Mbit/s", "50 packets", 40, 1, 2),
        # From RTT^-1/4, the response function (RFC 9438, section 5), to RTT^-1, equal windows (section 3.3).
        ("cubic", "50 Mbit/s", "100 packets", 80, 0.25, 1),
    ],
)
def test_the_longer_round_trip_gets_less_as_published(
    finish_all: Callable[..., list[Finished]],
    cc: str,
    bandwidth: str,
    buffer: str,
    far_ms: int,
    least: float,
    most: float,
) -> None:
    """The exponent of the ratio of rates over that of mean round trips. The jitter prevents phase effects (fidelity.md)."""
    done = finish_all(
        path={"bandwidth": bandwidth, "rtt": "20 ms", "buffer": buffer, "jitter": "1 ms"},
        flows=[{"name": "near", "cc": cc}, {"name": "far", "cc": cc, "rtt": f"{far_ms} ms"}],
        duration="60 s",
        warmup="10 s",
        start_jitter="1 RTT",
        sample="10 ms",
        repeats=4,
    )
    exponents = []
    for one in done:
        near, far = one.document["flows"]
        ratio = near["goodput_bps"] / far["goodput_bps"]
        exponents.append(math.log(ratio) / math.log(far["rtt_ms"]["mean"] / near["rtt_ms"]["mean"]))
    # Those of single runs of CUBIC have a standard deviation of 0.17.
    assert least <= np.mean(exponents) <= most


def test_every_ack_is_traced(finish: Runner) -> None:
    done = finish(flows=[fixed(20)], duration="2 s")
    acks = done.trace.acks
    assert set(np.unique(acks["cwnd"]).tolist()) <= {20}
    (arrived,) = [device["rx_packets"] for device in done.facts["devices"] if device["dev"] == "a1-s1"]
    # The SYN-ACK acknowledges no data.
    assert len(acks) == arrived - 1
