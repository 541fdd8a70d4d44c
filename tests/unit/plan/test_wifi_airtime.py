"""The arithmetic of the 802.11 channel, computed by hand, and the counters by which every run with one is checked."""

from __future__ import annotations

import copy
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from longhaul.orchestrator.analysis.fidelity.wireless import judge_media
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.qdiscs import Medium, dcf
from longhaul.orchestrator.plan.queues.tc_words import tc_command
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.wifi_airtime import Channel, frame_us, mean_backoff_us, window
from tests.support.guests import experiment

MEGABIT = Channel(1_000_000, 1_000_000, rts=True)


def wireless() -> Run:
    """A dumbbell; only one of its transmitters matters here."""
    path = {"bandwidth": "1 Mbit/s", "rtt": "10 ms", "buffer": "50 packets"}
    (run,) = compile_plan(experiment(path=path, flows=[{"name": "one", "cc": "reno"}], duration="1 s")).runs
    queue = dcf(Medium(3, 1_000_000, 1_000_000, True, 28), 50, below_netem=False, seed=7)
    wire = run.wires[0]
    routes = (replace(run.routes[0], quickack=True), *run.routes[1:])
    return replace(
        run,
        wires=(replace(wire, ends=(replace(wire.ends[0], qdiscs=(queue,)), wire.ends[1])), *run.wires[1:]),
        routes=routes,
    )


def test_times_are_the_standards() -> None:
    assert frame_us(14, 1_000_000) == 192 + 112
    # RTS 352, CTS 304, data 192 + 8 (1052 + 28), ACK 304, and SIFS three times.
    assert MEGABIT.exchange_us(1052) == 352 + 10 + 304 + 10 + 192 + 8640 + 10 + 304
    assert replace(MEGABIT, rts=False).exchange_us(1052) == 192 + 8640 + 10 + 304
    assert MEGABIT.collision_us(1052) == 352 + 10 + 304
    assert replace(MEGABIT, rts=False).collision_us(1052) == 192 + 8640 + 10 + 304
    # 11 Mbit/s: the data's length is in whole microseconds, and control frames stay slow.
    assert Channel(11_000_000, 1_000_000, rts=False).exchange_us(1500) == 192 + 1112 + 10 + 304


def test_the_window_doubles_to_its_largest() -> None:
    assert [window(attempt) for attempt in range(7)] == [31, 63, 127, 255, 511, 1023, 1023]
    assert mean_backoff_us() == 310
    assert mean_backoff_us(6) == Fraction(1023 * 20, 2)


def test_a_transmitter_alone_has_only_its_backoff() -> None:
    alone = MEGABIT.saturation(1, 1028)
    assert alone.collided == pytest.approx(0, abs=1e-12)
    assert alone.packets_per_s == pytest.approx(1e6 / (50 + 310 + MEGABIT.exchange_us(1028)))


def test_more_transmitters_collide_more_and_take_turns() -> None:
    shares = [MEGABIT.saturation(number, 1028).collided for number in (1, 2, 5, 10, 50)]
    assert shares == sorted(shares)
    # Two transmitters collide in one slot of (W + 1) / 2, a little less often since a collision makes W larger.
    assert 0.9 * 2 / 33 < shares[1] < 2 / 33
    without = [replace(MEGABIT, rts=False).saturation(number, 1028).packets_per_s for number in (1, 10)]
    assert without[1] < 0.9 * without[0], "collisions of whole frames cost"
    assert MEGABIT.saturation(10, 1028).packets_per_s > MEGABIT.saturation(1, 1028).packets_per_s


def test_a_lone_flow_lies_between_no_contention_and_no_acknowledgements() -> None:
    waits, every, second = (
        MEGABIT.alternating_bps(1000, 52),
        MEGABIT.lone_flow_bps(1000, 52),
        MEGABIT.lone_flow_bps(1000, 52, 2),
    )
    assert waits == Fraction(8_000_000_000, 9822 + 1822 + 2 * 360)
    assert waits < every < second < 8_000_000_000 / Fraction(9822 + 360)


def test_a_transmitter_survives_run_json_and_is_described_as_text() -> None:
    run = wireless()
    again = Run.from_json(run.as_json())
    assert again == run
    assert run.as_json()["routes"][0]["quickack"] is True
    words = tc_command("w1-air", run.wires[0].ends[0].qdiscs[0])
    assert words.startswith("tc qdisc add dev w1-air root handle 2: lh_dcf (not a tc command: ")
    assert "channel 3" in words
    assert "with RTS" in words


def books() -> dict[str, Any]:
    """Two transmitters of 10 and 5 packets of 100 bytes, which collided once."""
    exchange_ns, collision_ns = MEGABIT.exchange_us(100) * 1000, MEGABIT.collision_us(100) * 1000
    medium = {"medium_exchanges": 15, "medium_collisions": 1, "medium_busy_ns": 15 * exchange_ns + collision_ns}
    options = {"medium": 3, "rate_bps": 1_000_000, "basic_rate_bps": 1_000_000, "overhead_bytes": 28, "rts": True}
    qdiscs = [
        {
            "kind": "lh_dcf",
            "options": options,
            "packets": frames,
            "bytes": frames * 114,
            "dcf": {"frames": frames, "exchange_ns": frames * exchange_ns, "collision_ns": collision_ns, **medium},
        }
        for frames in (10, 5)
    ]
    return {"devices": [{"qdiscs": [qdisc]} for qdisc in qdiscs]}


def test_consistent_counters_are_accepted() -> None:
    ((ok, text),) = judge_media(wireless(), books())
    assert ok, text
    assert text.startswith("channel 3: 15 exchanges and 1 collisions in ")


@pytest.mark.parametrize(
    ("where", "wrong"),
    [
        (("dcf", "frames"), "frames"),
        (("dcf", "exchange_ns"), "ns for 10 frames"),
        (("dcf", "medium_busy_ns"), "in 1 collisions"),
        (("dcf", "medium_exchanges"), "exchanges"),
        (("packets",), "packets"),
        (("bytes",), "computed"),
    ],
)
def test_inconsistent_counters_are_refused(where: tuple[str, ...], wrong: str) -> None:
    facts = copy.deepcopy(books())
    place = facts["devices"][0]["qdiscs"][0]
    *path, last = where
    for key in path:
        place = place[key]
    place[last] += 1
    ((ok, text),) = judge_media(wireless(), facts)
    assert not ok
    assert wrong in text


def test_collisions_need_two() -> None:
    facts = books()
    facts["devices"][1]["qdiscs"][0]["dcf"]["collision_ns"] = 0
    ((ok, _),) = judge_media(wireless(), facts)
    assert not ok
