"""A shared 802.11 channel reproduces known answers: air time, contention, and the goodput of TCP."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.plan.qdiscs import DCF_MODULE, Impairment, netem
from longhaul.orchestrator.plan.run import DeviceChange, Module, Run
from longhaul.orchestrator.plan.wifi_airtime import CW_MIN, DIFS_US, SLOT_US, Channel, mean_backoff_us
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.trace.records import trace_sha256
from tests.guest.wireless import (
    HEADERS,
    MEGABIT,
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
WITHOUT_RTS = replace(MEGABIT, rts=False)
# The topology sets its own rates and delays.
AS_BUILT = {"bandwidth": None, "rtt": None, "buffer": "50 packets", "mtu": MTU}


def with_window_of_one(run: Run) -> Run:
    """The run with a window of one packet."""
    flows = tuple(replace(flow, cc="lhfixed", variant="lhfixed") for flow in run.flows)
    return replace(run, flows=flows, modules=(*run.modules, Module("tcp_lhfixed", {"cwnd": "1"})))


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
@pytest.mark.parametrize("channel", [MEGABIT, WITHOUT_RTS], ids=["rts", "basic"])
def test_a_packet_that_waits_for_its_acknowledgement_takes_two_exchanges(
    execute_run: Execute, channel: Channel, kernel: str
) -> None:
    done = execute_run(with_window_of_one(wireless_run([tcp("s1", "d")], channel=channel, kernel=kernel)))
    (goodput,) = goodputs_bps(done, 10, 60)
    # 4000 packets with two backoffs each: the mean's standard deviation is 0.03 %.
    assert goodput == pytest.approx(float(channel.alternating_bps(PAYLOAD, HEADERS)), rel=0.002)
    assert all(one["dcf"]["collisions"] == 0 for one in radios(done).values())
    rtts_us = done.trace.acks["rtt_us"][10:]
    least_us = 2 * DIFS_US + channel.arrival_us(MTU) + channel.arrival_us(HEADERS)
    # Each transmission waits for the end of the previous exchange.
    least_us += 2 * (channel.exchange_us(0) - channel.arrival_us(0))
    assert least_us <= rtts_us.min() <= least_us + 4 * SLOT_US
    most_us = least_us + 2 * CW_MIN * SLOT_US
    assert most_us - 4 * SLOT_US <= rtts_us.max() <= most_us


def test_an_idle_channel_is_accessed_after_difs_and_a_backoff(execute_run: Execute) -> None:
    """The handshake: a SYN and a SYN-ACK of 60 bytes each, alone on the channel."""
    rtts_us = []
    for number in range(12):
        run = wireless_run([tcp("s1", "d", start_us=100_000 + 1237 * number)], duration_s=1)
        rtts_us.append(execute_run(run).facts["flows"][0]["connected_us"] - run.flows[0].start_us)
    least_us = 2 * DIFS_US + MEGABIT.arrival_us(60) + MEGABIT.exchange_us(60)
    # The slots of the SYN begin at the next slot of the channel.
    most_us = least_us + SLOT_US + 2 * CW_MIN * SLOT_US
    assert least_us <= min(rtts_us)
    assert max(rtts_us) <= most_us
    assert len(set(rtts_us)) > 1


@pytest.mark.default_kernel
@pytest.mark.parametrize("ends", [("s1", "d"), ("d", "s1")], ids=["up", "down"])
@pytest.mark.parametrize("channel", [MEGABIT, WITHOUT_RTS], ids=["rts", "basic"])
@pytest.mark.parametrize("packets_per_ack", [1, 2])
def test_the_goodput_of_a_lone_flow_agrees_with_the_air_time(
    execute_run: Execute, ends: tuple[str, str], channel: Channel, packets_per_ack: int
) -> None:
    run = wireless_run([tcp(*ends)], channel=channel)
    done = execute_run(run if packets_per_ack == 1 else with_delayed_acks(run))
    (goodput,) = goodputs_bps(done, 10, 60)
    assert goodput == pytest.approx(float(channel.lone_flow_bps(PAYLOAD, HEADERS, packets_per_ack)), rel=0.015)


@pytest.mark.parametrize("cc", ["reno", "cubic"])
def test_two_stations_share_the_channel(execute_run: Execute, cc: str) -> None:
    done = execute_run(wireless_run([tcp("d", "s1", cc=cc), tcp("d", "s2", cc=cc)], stations=2, duration_s=120))
    goodputs = goodputs_bps(done, 20, 120)
    assert 620_000 < sum(goodputs) < 670_000
    assert min(goodputs) > 0.7 * max(goodputs)


def test_two_sending_stations_share_the_channel(execute_run: Execute) -> None:
    """The windows are too small for drops, so each packet is acknowledged."""
    run = wireless_run([tcp("s1", "d"), tcp("s2", "d")], stations=2, duration_s=120)
    capped = tuple(replace(flow, options=replace(flow.options, window_clamp_bytes=20 * PAYLOAD)) for flow in run.flows)
    done = execute_run(replace(run, flows=capped))
    goodputs = goodputs_bps(done, 20, 120)
    assert 620_000 < sum(goodputs) < 670_000
    assert goodputs[0] == pytest.approx(goodputs[1], rel=0.1)
    assert all(one["drops"] == 0 for one in radios(done).values())


@pytest.mark.default_kernel
def test_the_base_station_sends_a_third_of_the_frames(execute_run: Execute) -> None:
    """Half of its acknowledgements for two saturated stations overflow, which leaves more air time for data."""
    done = execute_run(wireless_run([tcp("s1", "d"), tcp("s2", "d")], stations=2, duration_s=120))
    assert sum(goodputs_bps(done, 20, 120)) == pytest.approx(
        float(MEGABIT.lone_flow_bps(PAYLOAD, HEADERS, 2)), rel=0.03
    )
    frames = {name: one["dcf"]["frames"] for name, one in radios(done).items()}
    assert frames["b"] / sum(frames.values()) == pytest.approx(1 / 3, rel=0.05)


def test_both_directions_share_the_channel(execute_run: Execute) -> None:
    done = execute_run(wireless_run([tcp("s1", "d"), tcp("d", "s1")], duration_s=120))
    up, down = goodputs_bps(done, 20, 120)
    assert up + down == pytest.approx(float(MEGABIT.lone_flow_bps(PAYLOAD, HEADERS)), rel=0.03)
    assert min(up, down) > 0.2 * max(up, down)


@pytest.mark.parametrize("stations", [1, 2, 5, 10])
@pytest.mark.parametrize("channel", [MEGABIT, WITHOUT_RTS], ids=["rts", "basic"])
def test_saturation_agrees_with_bianchi(execute_run: Execute, channel: Channel, stations: int) -> None:
    rate_bps = 2 * channel.rate_bps // stations
    flows = [udp(f"s{number}", "d", rate_bps, PAYLOAD) for number in range(1, stations + 1)]
    done = execute_run(wireless_run(flows, stations=stations, channel=channel, duration_s=150))
    stats = [one["dcf"] for one in radios(done).values()]
    frames, collided = sum(one["frames"] for one in stats), sum(one["collisions"] for one in stats)
    expected = channel.saturation(stations, PAYLOAD + UDP_HEADERS)
    assert frames / 150 == pytest.approx(expected.packets_per_s, rel=0.015)
    # 150 s have 15000 transmissions: the standard deviation of a share of 6 % is 4 % of it, since collisions come in pairs.
    assert collided / (collided + frames) == pytest.approx(expected.collided, rel=0.11)
    assert sum(goodputs_bps(done, 0, 150)) == pytest.approx(frames / 150 * PAYLOAD * 8, rel=0.002)
    shares = [one["frames"] for one in stats if one["frames"]]
    assert len(shares) == stations
    # Of 1,400 frames each, a share varies by 3 %, so the extremes of ten may differ by a quarter.
    assert min(shares) > 0.72 * max(shares)


def test_a_frame_is_dropped_after_seven_collisions(execute_run: Execute) -> None:
    flows = [udp(f"s{number}", "d", 200_000) for number in range(1, 31)]
    done = execute_run(wireless_run(flows, stations=30))
    dropped = 0
    for one in radios(done).values():
        stats = one["dcf"]
        assert stats["collisions"] == stats["retries"] + stats["retry_drops"]
        assert stats["retry_drops"] <= one["drops"]
        dropped += stats["retry_drops"]
    assert dropped > 0
    sent = sum(flow["packets_sent"] for flow in done.facts["flows"])
    received = sum(flow["packets_received"] for flow in done.facts["flows"])
    lost = sum(one["drops"] for one in radios(done).values())
    assert sent == received + lost + sum(one["qlen"] for one in radios(done).values())
    assert len(done.trace.drops) == lost


def test_the_medium_is_busy_for_the_sum_of_all_exchanges(execute_run: Execute) -> None:
    flows = [udp(f"s{number}", "d", 1_000_000, PAYLOAD) for number in (1, 2, 3)]
    done = execute_run(wireless_run(flows, stations=3))
    stats = [one["dcf"] for one in radios(done).values()]
    collisions = stats[0]["medium_collisions"]
    frames = sum(one["frames"] for one in stats)
    exchanges_us = frames * MEGABIT.exchange_us(PAYLOAD + UDP_HEADERS)
    assert sum(one["exchange_ns"] for one in stats) == exchanges_us * 1000
    assert all(one["medium_busy_ns"] == (exchanges_us + collisions * MEGABIT.collision_us(0)) * 1000 for one in stats)
    # The idle time is DIFS and slots; the last exchange may be incomplete.
    idle_us = 60e6 - stats[0]["medium_busy_ns"] / 1000
    slots = (idle_us - (frames + collisions) * DIFS_US) / SLOT_US
    assert 0 < slots < sum(one["backoff_slots"] for one in stats)


def test_the_trace_follows_the_transmitters(execute_run: Execute) -> None:
    done = execute_run(wireless_run([tcp("s1", "d"), tcp("d", "s1")]))
    for link in done.run.links:
        records = done.trace.links[done.trace.links["id"] == link.id]
        fact = radios(done)[link.node]
        assert records["tx_packets"][-1] == fact["packets"]
        assert records["tx_bytes"][-1] == fact["bytes"]
        assert records["drops"][-1] == fact["drops"] > 0
        assert np.count_nonzero(done.trace.drops["id"] == link.id) == fact["drops"]
        assert records["queue_packets"][-1] == fact["qlen"]
        # The queue was full of full frames; the bytes of the link include the header of Ethernet.
        assert records["queue_max_packets"].max() == link.queue_limit_packets


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
def test_reruns_on_a_channel_are_identical(settings: Settings, tmp_path: Path, kernel: str) -> None:
    flows = [tcp("s1", "d", cc="cubic"), tcp("d", "s2"), udp("s3", "d", 100_000)]
    run = wireless_run(flows, stations=3, duration_s=30, kernel=kernel)
    hashes = set()
    for number in range(5):
        execute(run, settings, tmp_path / str(number))
        hashes.add(trace_sha256(tmp_path / str(number) / "trace.bin"))
    assert len(hashes) == 1


def test_a_transmitter_below_a_delay_line(execute_run: Execute) -> None:
    run = with_window_of_one(wireless_run([tcp("s1", "d")]))
    below = replace(queue_of(run, "w1"), parent="1:1")
    delayed = with_qdiscs(run, "w1-air", netem(Impairment(20_000), keep_order=False, seed=1), below)
    (near,), (far,) = (goodputs_bps(execute_run(one), 10, 60) for one in (run, delayed))
    # The previous exchange has ended when a packet arrives, which then waits for the beginning of a slot.
    closing_us = MEGABIT.exchange_us(0) - MEGABIT.arrival_us(0)
    more_us = -(-(20_000 - closing_us) // SLOT_US) * SLOT_US
    assert PAYLOAD * 8e6 / far - PAYLOAD * 8e6 / near == pytest.approx(more_us, rel=0.002)


def test_a_channel_changes_in_flight(execute_run: Execute) -> None:
    """The rate belongs to the channel: a change at one transmitter holds for all. The queue length belongs to a transmitter."""
    run = wireless_run([udp("s1", "d", 3_000_000, PAYLOAD), udp("s2", "d", 3_000_000, PAYLOAD)], stations=2)
    queue = queue_of(run, "w1")
    faster = replace(queue, options={**queue.options, "rate_bps": 2_000_000, "limit": 7})
    done = execute_run(replace(run, schedule=(DeviceChange(30_000_000, "w1", "w1-air", (faster,)),)))
    before, after = (sum(goodputs_bps(done, *span)) for span in ((5, 30), (35, 60)))
    for channel, goodput in ((MEGABIT, before), (replace(MEGABIT, rate_bps=2_000_000), after)):
        packets_per_s = channel.saturation(2, PAYLOAD + UDP_HEADERS).packets_per_s
        assert goodput == pytest.approx(packets_per_s * PAYLOAD * 8, rel=0.02)
    options = {name: one["options"] for name, one in radios(done).items()}
    assert {one["rate_bps"] for one in options.values()} == {2_000_000}
    assert [options[name]["limit"] for name in ("b", "w1", "w2")] == [50, 7, 50]
    records = done.trace.links[(done.trace.links["id"] == 1) & (done.trace.links["t_ns"] > 35e9)]
    assert records["queue_max_packets"].max() == 7


@pytest.mark.parametrize(("name", "value"), [("rate_bps", 2_000_000), ("basic_rate_bps", 2_000_000), ("rts", False)])
def test_transmitters_of_a_channel_agree(execute_run: Execute, name: str, value: int) -> None:
    run = wireless_run([tcp("s1", "d")])
    queue = queue_of(run, "w1")
    odd = with_qdiscs(run, "w1-air", replace(queue, options={**queue.options, name: value}))
    with pytest.raises(
        BackendError,
        match=r"installing the queue lh_dcf 2: on w1-air of node w1: .*others on the medium have another rate",
    ):
        execute_run(odd)


def test_a_fixed_option_of_the_channel_cannot_change(execute_run: Execute) -> None:
    run = wireless_run([tcp("s1", "d")])
    queue = queue_of(run, "w1")
    other = replace(queue, options={**queue.options, "rts": False})
    with pytest.raises(BackendError, match=r"changing the queue lh_dcf 2: on w1-air of node w1: .*for life"):
        execute_run(replace(run, schedule=(DeviceChange(1_000_000, "w1", "w1-air", (other,)),)))


def test_two_channels_do_not_interfere(execute_run: Execute) -> None:
    """The same packets also cross a second channel, between the hosts and their radios: four accesses, each to an idle channel."""
    run = with_window_of_one(wireless_run([tcp("s1", "d")]))
    queue = queue_of(run, "w1")
    other = replace(queue, options={**queue.options, "medium": 2})
    done = execute_run(with_qdiscs(with_qdiscs(run, "s1-w1", other), "d-b", other))
    (goodput,) = goodputs_bps(done, 10, 60)
    access_us = DIFS_US + mean_backoff_us() + Fraction(SLOT_US, 2)
    both_us = 2 * access_us + MEGABIT.arrival_us(MTU) + MEGABIT.arrival_us(HEADERS)
    assert goodput == pytest.approx(float(PAYLOAD * 8_000_000 / (2 * both_us)), rel=0.003)
    books = [check["text"] for check in done.document["fidelity"]["checks"] if check["name"] == "air time"]
    assert [text.partition(":")[0] for text in sorted(books)] == ["channel 1", "channel 2"]


def test_the_run_lists_the_channels_module_and_fails_without_it(execute_run: Execute) -> None:
    run = wireless_run([tcp("s1", "d")])
    assert [module.name for module in run.modules] == [DCF_MODULE]
    with pytest.raises(BackendError, match="installing the queue lh_dcf"):
        execute_run(replace(run, modules=()))


@pytest.mark.default_kernel
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_wireless_topology_agrees_with_the_channel(finish: Runner, seed: int) -> None:
    """Wired hosts that send to stations, with receivers that acknowledge every second segment."""
    flows = [{"name": f"f{n}", "cc": "cubic", "sender": f"w{n}", "receiver": f"m{n}"} for n in (1, 2)]
    done = finish(topology="mixed_wireless", path=AS_BUILT, flows=flows, duration="120 s", warmup="20 s", seed=seed)
    goodputs = [flow["goodput_bps"] for flow in done.document["flows"]]
    assert sum(goodputs) == pytest.approx(float(MEGABIT.lone_flow_bps(PAYLOAD, HEADERS, 2)), rel=0.03)
    assert min(goodputs) > 0.5 * max(goodputs)
    assert set(radios(done)) == {"base", "x3", "x4"}


@pytest.mark.default_kernel
def test_a_rate_of_the_topologys_channel_changes_in_flight(finish: Runner) -> None:
    faster = {f"{name}-air": {"bandwidth": "2 Mbit/s"} for name in ("base", "m1", "m2")}
    flows = [{"name": "one", "cc": "reno", "sender": "w1", "receiver": "m1"}]
    schedule = [{"at": "30 s", "links": faster}]
    done = finish(topology="mixed_wireless", path=AS_BUILT, flows=flows, duration="60 s", schedule=schedule)
    slow, fast = (goodputs_bps(done, *span)[0] for span in ((10, 30), (40, 60)))
    for channel, goodput in ((MEGABIT, slow), (replace(MEGABIT, rate_bps=2_000_000), fast)):
        assert goodput == pytest.approx(float(channel.lone_flow_bps(PAYLOAD, HEADERS, 2)), rel=0.03)
