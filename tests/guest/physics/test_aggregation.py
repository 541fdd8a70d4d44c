"""A shared 802.11n channel reproduces known answers: the air time of aggregates, contention, losses of frames, and the goodput of TCP."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.plan.qdiscs import Impairment, netem
from longhaul.orchestrator.plan.run import DeviceChange, Option, Run
from longhaul.orchestrator.plan.wifi_airtime_ht import DIFS_US, SLOT_US, HtChannel, mean_backoff_us
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.trace.records import trace_sha256
from tests.guest.wireless import (
    HEADERS,
    MTU,
    UDP_HEADERS,
    Execute,
    execute,
    goodputs_bps,
    queue_of,
    radios,
    tcp,
    udp,
    wireless_run,
    with_delayed_acks,
    with_qdiscs,
)
from tests.guest.wireless import execute_run as execute_run
from tests.support.guests import Runner
from tests.support.tested_kernels import TESTED_KERNELS

PAYLOAD = MTU - HEADERS
PACKET = PAYLOAD + UDP_HEADERS
# MCS 7 in 20 MHz: 260 bits in a symbol.
MCS7 = HtChannel(65_000_000)
# More than MCS 7 carries.
SATURATING_BPS = 120_000_000
AS_BUILT = {"bandwidth": None, "rtt": None, "buffer": "1000 packets", "mtu": 1500}


def saturated(
    channel: HtChannel, *, stations: int = 1, payload: int = PAYLOAD, duration_s: int = 10, **more: int
) -> Run:
    """Stations that always have more than a window of packets for the base station."""
    rate_bps = max(SATURATING_BPS, 2 * channel.rate_bps) // stations
    flows = [udp(f"s{number}", "d", rate_bps, payload) for number in range(1, stations + 1)]
    return wireless_run(flows, stations=stations, channel=channel, duration_s=duration_s, limit=1000, **more)


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
@pytest.mark.parametrize("aggregate", [1, 2, 8, 32, 64])
def test_a_saturated_station_sends_what_the_air_time_allows(execute_run: Execute, aggregate: int, kernel: str) -> None:
    channel = replace(MCS7, aggregate=aggregate)
    done = execute_run(replace(saturated(channel), kernel=kernel))
    stats, burst = radios(done)["w1"]["dcf"], channel.full_burst(PACKET)
    # The backoffs that were drawn are part of the answer: 2,000 of them have a mean within 1.3 %, which is 0.02 % of the time.
    assert stats["mpdus"] / 10 == pytest.approx(channel.saturation(1, PACKET).packets_per_s, rel=0.002)
    assert stats["frames"] > 1500
    assert burst.count - 1 < stats["mpdus"] / stats["frames"] <= burst.count
    # All but the first exchanges and the last, to the nanosecond.
    idle_ns = stats["frames"] * DIFS_US * 1000 + stats["backoff_slots"] * SLOT_US * 1000
    assert stats["exchange_ns"] + idle_ns == pytest.approx(10e9, abs=channel.exchange_us(burst) * 1000 + 1e6)


@pytest.mark.parametrize(
    ("rate_bps", "payload", "bite", "most"),
    [
        (6_500_000, 1000, "time", 4),
        (65_000_000, 1000, "time", 41),
        # 8 symbols of 1066 bytes have 8640 bits.
        (270_000_000, 1000, "bytes", 61),
        (65_000_000, 100, "frames", 64),
    ],
)
def test_each_limit_of_an_aggregate_bites(
    execute_run: Execute, rate_bps: int, payload: int, bite: str, most: int
) -> None:
    channel = HtChannel(rate_bps, 64)
    burst = channel.full_burst(payload + UDP_HEADERS)
    one_more = replace(channel, rate_bps=540_000_000).burst([payload + UDP_HEADERS] * 64)
    assert burst.count == most
    assert {"time": burst.count < one_more.count, "bytes": burst.count == one_more.count < 64, "frames": most == 64}[
        bite
    ]
    done = execute_run(saturated(channel, payload=payload, duration_s=2))
    stats = radios(done)["w1"]["dcf"]
    assert stats["mpdus"] / 2 == pytest.approx(channel.saturation(1, payload + UDP_HEADERS).packets_per_s, rel=0.01)


@pytest.mark.parametrize(
    ("channel", "stations"),
    [
        (replace(MCS7, aggregate=32), 2),
        (replace(MCS7, aggregate=32), 10),
        (replace(MCS7, aggregate=32, rts=True), 5),
        (MCS7, 10),
    ],
)
def test_saturated_stations_agree_with_bianchi(execute_run: Execute, channel: HtChannel, stations: int) -> None:
    done = execute_run(saturated(channel, stations=stations, duration_s=30 if channel.aggregate > 1 else 10))
    stats = [one["dcf"] for one in radios(done).values()]
    mpdus, seconds = sum(one["mpdus"] for one in stats), done.run.duration_us / 1e6
    expected = channel.saturation(stations, PACKET)
    # The model lets a backoff count the slots in which others send, and so finds up to 1.9 % more where an exchange is short.
    assert mpdus / seconds == pytest.approx(expected.packets_per_s, rel=0.02 if channel.aggregate > 1 else 0.025)
    frames, collided = sum(one["frames"] for one in stats), sum(one["collisions"] for one in stats)
    assert collided / (collided + frames) == pytest.approx(expected.collided, rel=0.1)
    shares = [one["mpdus"] for one in stats if one["mpdus"]]
    assert len(shares) == stations
    assert min(shares) > 0.5 * max(shares)


@pytest.mark.parametrize("ends", [("s1", "d"), ("d", "s1")], ids=["up", "down"])
def test_aggregation_raises_the_goodput_of_tcp_as_computed(execute_run: Execute, ends: tuple[str, str]) -> None:
    goodputs, expected = {}, {}
    for aggregate in (1, 8, 32, 64):
        channel = replace(MCS7, aggregate=aggregate)
        run = wireless_run([tcp(*ends, cc="reno")], channel=channel, duration_s=20, limit=1000)
        run = with_delayed_acks(run)
        (goodputs[aggregate],) = goodputs_bps(execute_run(run), 5, 20)
        expected[aggregate] = channel.lone_flow_bps(PAYLOAD, HEADERS)
    # Acknowledgements that come on top of earlier ones, and windows below their largest, are not in the arithmetic.
    assert goodputs == pytest.approx(expected, rel=0.03)
    assert goodputs[64] / goodputs[1] == pytest.approx(expected[64] / expected[1], rel=0.03)
    assert expected[64] / expected[1] > 2.5


def test_an_aggregate_has_one_receiver(execute_run: Execute) -> None:
    """Of the 40 packets that wait for ten stations in turn, an aggregate takes those of one station."""
    names = [f"s{number}" for number in range(1, 11)]
    run = wireless_run(
        [udp("d", name, 8_000_000, PAYLOAD) for name in names],
        stations=len(names),
        channel=replace(MCS7, aggregate=64),
        duration_s=5,
        limit=40,
    )
    stats = radios(execute_run(run))["b"]["dcf"]
    apart = stats["mpdus"] / stats["frames"]
    queue = queue_of(run, "b")
    joined = with_qdiscs(run, "b-air", replace(queue, options={**queue.options, "one_receiver": True}))
    stats = radios(execute_run(joined))["b"]["dcf"]
    together = stats["mpdus"] / stats["frames"]
    assert 2 < apart < 10 < together


def test_failed_frames_are_sent_again_and_packets_keep_their_order(execute_run: Execute) -> None:
    share = 0.1
    channel = replace(MCS7, aggregate=32)
    done = execute_run(saturated(channel))
    lossless = radios(done)["w1"]["dcf"]["mpdus"]
    done = execute_run(
        wireless_run(
            [udp("s1", "d", SATURATING_BPS, PAYLOAD)], channel=channel, duration_s=10, limit=1000, frame_loss=share
        )
    )
    stats = radios(done)["w1"]["dcf"]
    deviation = (stats["mpdus"] * share * (1 - share)) ** 0.5
    assert stats["failed_mpdus"] == pytest.approx(stats["mpdus"] * share, abs=5 * deviation)
    # Seven failures of one frame are one in 10^7.
    assert stats["mpdu_drops"] == 0
    assert stats["mpdus"] == pytest.approx(lossless, rel=0.05)
    (flow,) = done.facts["flows"]
    assert flow["packets_received"] == pytest.approx(stats["mpdus"] * (1 - share), rel=0.01)
    run = wireless_run([tcp("s1", "d", cc="reno")], channel=channel, duration_s=10, limit=1000, frame_loss=share)
    window = tuple(replace(one, options=replace(one.options, window_clamp_bytes=500 * PAYLOAD)) for one in run.flows)
    done = execute_run(replace(run, flows=window))
    assert radios(done)["w1"]["dcf"]["failed_mpdus"] > 1000
    # A packet out of order would make TCP retransmit.
    assert done.facts["flows"][0]["retransmits"] == 0


def test_a_frame_that_fails_too_often_is_lost(execute_run: Execute) -> None:
    """Seven failures of 0.8 each leave a fifth of the frames."""
    share = 0.8
    run = wireless_run([udp("s1", "d", 2_000_000, PAYLOAD)], channel=replace(MCS7, aggregate=32), frame_loss=share)
    done = execute_run(run)
    one, (flow,) = radios(done)["w1"], done.facts["flows"]
    lost = one["dcf"]["mpdu_drops"]
    assert lost == one["drops"] == len(done.trace.drops)
    assert lost / flow["packets_sent"] == pytest.approx(share**7, rel=0.05)
    assert flow["packets_sent"] == flow["packets_received"] + lost + one["qlen"]


def test_a_channel_slows_down_under_aggregates(execute_run: Execute) -> None:
    """The air time allows fewer frames from then on; collided aggregates too are cut to it."""
    channel = replace(MCS7, aggregate=64)
    run = saturated(channel, stations=3, duration_s=20)
    queue = queue_of(run, "w1")
    slower = replace(queue, options={**queue.options, "rate_bps": 13_000_000, "aggregate": 16})
    done = execute_run(replace(run, schedule=(DeviceChange(10_000_000, "w1", "w1-air", (slower,)),)))
    before, after = (sum(goodputs_bps(done, *span)) for span in ((1, 10), (11, 20)))
    for rate_bps, goodput in ((65_000_000, before), (13_000_000, after)):
        expected = replace(channel, rate_bps=rate_bps).saturation(3, PACKET).packets_per_s
        assert goodput == pytest.approx(expected * PAYLOAD * 8, rel=0.03)
    assert {name: one["options"]["aggregate"] for name, one in radios(done).items()} == {
        "b": 64,
        "w1": 16,
        "w2": 64,
        "w3": 64,
    }


@pytest.mark.parametrize("limit", [1, 3])
def test_a_queue_limits_an_aggregate(execute_run: Execute, limit: int) -> None:
    channel = replace(MCS7, aggregate=64)
    flows = [udp("s1", "d", SATURATING_BPS, PAYLOAD)]
    done = execute_run(wireless_run(flows, channel=channel, duration_s=5, limit=limit))
    stats = radios(done)["w1"]["dcf"]
    assert stats["mpdus"] / stats["frames"] == pytest.approx(limit, rel=0.01)
    # A queue that is as long as an aggregate is empty at its end, and the next packet contends anew, from a slot of the channel.
    rate = replace(channel, aggregate=limit).saturation(1, PACKET).packets_per_s
    assert 0.7 * rate < stats["mpdus"] / 5 <= 1.002 * rate


def test_packets_below_a_delay_line_are_aggregated(execute_run: Execute) -> None:
    run = saturated(replace(MCS7, aggregate=32), duration_s=5)
    below = replace(queue_of(run, "w1"), parent="1:1")
    done = execute_run(with_qdiscs(run, "w1-air", netem(Impairment(20_000), keep_order=False, seed=1), below))
    stats = radios(done)["w1"]["dcf"]
    assert stats["mpdus"] / 5 == pytest.approx(
        replace(MCS7, aggregate=32).saturation(1, PACKET).packets_per_s, rel=0.01
    )


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_reruns_with_aggregates_are_identical(settings: Settings, tmp_path: Path, kernel: str) -> None:
    flows = [tcp("s1", "d", cc="cubic"), tcp("d", "s2"), udp("s3", "d", 5_000_000)]
    channel = replace(MCS7, aggregate=16)
    run = wireless_run(flows, stations=3, channel=channel, duration_s=5, limit=100, frame_loss=0.05, kernel=kernel)
    hashes = set()
    for number in range(3):
        execute(run, settings, tmp_path / str(number))
        hashes.add(trace_sha256(tmp_path / str(number) / "trace.bin"))
    assert len(hashes) == 1


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"ht": False, "aggregate": 0, "one_receiver": False}, "others on the medium have another rate"),
        ({"rate_bps": 65_100_000}, "multiples of 250 kbit/s"),
        ({"rate_bps": 600_000_000}, "multiples of 250 kbit/s up to 540 Mbit/s"),
        ({"aggregate": 0}, "installing the queue lh_dcf"),
    ],
)
def test_the_kernel_refuses_what_the_channel_does_not_have(
    execute_run: Execute, options: dict[str, Option], what: str
) -> None:
    run = wireless_run([tcp("s1", "d")], channel=MCS7)
    queue = queue_of(run, "w1")
    odd = with_qdiscs(run, "w1-air", replace(queue, options={**queue.options, **options}))
    with pytest.raises(BackendError, match=what):
        execute_run(odd)


@pytest.mark.default_kernel
def test_the_wireless_topology_aggregates(finish: Runner) -> None:
    """A download of two stations: the base station aggregates for each, the stations their acknowledgements."""
    params = {"n": 2, "bw": "200 Mbit/s", "wifi": "65 Mbit/s", "queue": "1000 packets"}
    flows = [{"name": f"f{n}", "cc": "cubic", "sender": f"w{n}", "receiver": f"m{n}"} for n in (1, 2)]
    goodputs = {}
    for aggregate in (1, 32):
        done = finish(
            topology="mixed_wireless",
            params=params | {"aggregate": aggregate},
            path=AS_BUILT,
            flows=flows,
            duration="20 s",
            warmup="5 s",
        )
        goodputs[aggregate] = sum(flow["goodput_bps"] for flow in done.document["flows"])
        assert set(radios(done)) == {"base", "x3", "x4"}
        assert [radios(done)[name]["options"]["one_receiver"] for name in ("base", "x3", "x4")] == [False, True, True]
        burst = replace(MCS7, aggregate=aggregate).full_burst(1500)
        most_bps = burst.count * 1448 * 8e6 / (DIFS_US + mean_backoff_us() + MCS7.exchange_us(burst))
        assert 0.7 * most_bps < goodputs[aggregate] < most_bps
    assert goodputs[32] > 2 * goodputs[1]
