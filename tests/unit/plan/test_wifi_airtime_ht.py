"""The arithmetic of an 802.11n channel, computed by hand, and the counters by which every run with one is checked."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from longhaul.orchestrator.analysis.fidelity.wireless import judge_media
from longhaul.orchestrator.plan.wifi_airtime_ht import Burst, HtChannel
from tests.unit.plan.test_wifi_airtime import wireless

MCS7 = HtChannel(65_000_000, 64)


def test_times_are_the_standards() -> None:
    # 22 and 8 (1500 + 38) bits in symbols of 260: 48; a preamble of 36.
    assert MCS7.data_us(1538) == 36 + 4 * 48
    # RTS of 20 bytes and CTS and ACK of 14: two symbols of 96 bits; a BlockAck of 32: three.
    assert MCS7.exchange_us(Burst(1, 1538)) == 228 + 16 + 28
    assert MCS7.exchange_us(Burst(2, 1538)) == 228 + 16 + 32
    with_rts = HtChannel(65_000_000, 64, rts=True)
    assert with_rts.exchange_us(Burst(1, 1538)) == 28 + 16 + 28 + 16 + 272
    assert MCS7.collision_us(1538) == 272
    assert with_rts.collision_us(1538) == 28 + 16 + 28
    # Four streams have four training fields and two encoders.
    assert HtChannel(540_000_000).data_us(1538) == 48 + 4 * 6
    assert [HtChannel(bps * 1_000_000).preamble_us() for bps in (135, 270, 405, 540)] == [36, 40, 48, 48]
    assert HtChannel(250_000).data_us(1) == 36 + 4 * 30


def test_an_aggregate_has_delimiters_and_padding() -> None:
    # Frames of 138 and 139 bytes: 4 + 138 padded to 144, then 4 + 139.
    assert MCS7.burst([100, 101]) == Burst(2, 144 + 143)
    assert MCS7.burst([100, 101, 100]) == Burst(3, 144 + 144 + 142)
    assert MCS7.burst([100]) == Burst(1, 138)
    assert HtChannel(65_000_000, 1).burst([100, 100]) == Burst(1, 138)


def test_each_limit_ends_an_aggregate() -> None:
    assert MCS7.full_burst(40).count == 64
    # 5.484 ms at 65 Mbit/s are 1362 symbols of 260 bits.
    assert MCS7.full_burst(1500) == Burst(28, 28 * 1544 - 2)
    # 65535 bytes.
    assert HtChannel(270_000_000, 64).full_burst(1500) == Burst(42, 42 * 1544 - 2)
    # A delimiter can say 4095 bytes.
    assert MCS7.burst([4057, 4057]).count == 2
    assert MCS7.burst([4058, 100]).count == MCS7.burst([100, 4058]).count == 1


def test_aggregates_and_contention_raise_and_lower_what_a_channel_carries() -> None:
    carried = [HtChannel(65_000_000, frames).saturation(1, 1500).packets_per_s for frames in (1, 2, 8, 28, 64)]
    assert carried == sorted(carried)
    assert carried[0] == pytest.approx(1e6 / (34 + 67.5 + 272))
    assert carried[-1] == carried[-2] == pytest.approx(28e6 / (34 + 67.5 + 5408))
    shares = [MCS7.saturation(number, 1500) for number in (1, 2, 10)]
    assert [one.collided for one in shares] == sorted(one.collided for one in shares)
    assert 0.85 * 2 / 17 < shares[1].collided < 2 / 17
    assert shares[2].packets_per_s < shares[0].packets_per_s


def test_the_goodput_of_tcp_lies_below_a_channel_without_acknowledgements() -> None:
    for frames in (1, 2, 8, 64):
        channel = HtChannel(65_000_000, frames)
        without = channel.saturation(1, 1500).packets_per_s * 1448 * 8
        assert 0.75 * without < channel.lone_flow_bps(1448, 52) < without


def counters() -> dict[str, Any]:
    """A transmitter's 10 aggregates of two packets of 100 bytes, and 5 packets alone."""
    together, alone = MCS7.burst([100, 100]), MCS7.burst([100])
    exchange_ns = (10 * MCS7.exchange_us(together) + 5 * MCS7.exchange_us(alone)) * 1000
    device = {
        "frames": 15,
        "exchange_ns": exchange_ns,
        "collision_ns": 0,
        "medium_exchanges": 15,
        "medium_collisions": 0,
        "medium_busy_ns": exchange_ns,
        "mpdus": 25,
        "aggregates": 10,
        "block_acks": 10,
        "failed_mpdus": 0,
        "mpdu_drops": 0,
        "held": 0,
        "mpdu_bytes": 25 * 138,
        "psdu_bytes": 10 * together.psdu_bytes + 5 * alone.psdu_bytes,
        "symbols": 10 * MCS7.symbols(together.psdu_bytes) + 5 * MCS7.symbols(alone.psdu_bytes),
    }
    options = {
        "medium": 1,
        "rate_bps": 65_000_000,
        "basic_rate_bps": 24_000_000,
        "overhead_bytes": 38,
        "rts": False,
        "ht": True,
    }
    qdisc = {"kind": "lh_dcf", "options": options, "packets": 25, "bytes": 25 * 114, "dcf": device}
    return {"devices": [{"qdiscs": [qdisc]}]}


def test_consistent_counters_are_accepted() -> None:
    ((ok, text),) = judge_media(wireless(), counters())
    assert ok, text
    assert text.endswith(", 1.7 frames in each exchange")
    # Frames that failed were sent again, and some are held.
    facts = counters()
    one = facts["devices"][0]["qdiscs"][0]
    one["packets"] -= 3
    one["dcf"] |= {"failed_mpdus": 2, "held": 1}
    ((ok, text),) = judge_media(wireless(), facts)
    assert ok, text


@pytest.mark.parametrize(
    ("name", "change", "wrong"),
    [
        ("frames", 1, "exchanges"),
        ("mpdus", 1, "frames arrived"),
        ("held", 1, "are held"),
        ("aggregates", 13, "aggregates"),
        ("block_acks", 1, "BlockAcks"),
        ("block_acks", -1, "of which no frame failed"),
        ("mpdu_bytes", 1, "bytes of frames"),
        ("psdu_bytes", 200, "bytes around"),
        ("symbols", 20, "symbols for"),
        ("exchange_ns", 1, "computed"),
        ("medium_busy_ns", 1, "in collisions"),
    ],
)
def test_inconsistent_counters_are_refused(name: str, change: int, wrong: str) -> None:
    facts = copy.deepcopy(counters())
    facts["devices"][0]["qdiscs"][0]["dcf"][name] += change
    ((ok, text),) = judge_media(wireless(), facts)
    assert not ok
    assert wrong in text
