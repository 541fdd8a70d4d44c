"""CAKE as an access router has it: who shares the line with whom, its own shaper, and ACK filters on slow uplinks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from longhaul.orchestrator.analysis.series import counter, of_flow
from tests.support.guests import Finished, Runner
from tests.support.tested_kernels import TESTED_KERNELS

_LINE = {"bandwidth": "10 Mbit/s", "rtt": "20 ms", "buffer": "200 packets", "queue": "cake"}
# The frame of an acknowledgement with timestamps, and what two segments carry.
_ACK, _FRAME, _MSS = 66, 1514, 1448


def _shares(finish: Runner, isolation: str, *, same: str, kernel: str) -> tuple[float, float]:
    """What one flow and four flows get, to two receivers from two senders, of which `same` names an end that they share."""
    ends = [{"sender": "a1", "receiver": "b1"}, {"sender": "a2", "receiver": "b2"}]
    if same:
        ends[1][same] = ends[0][same]
    flows = [
        {"name": name, "udp": "6 Mbit/s", "count": count, **end}
        for name, count, end in zip(("one", "four"), (1, 4), ends, strict=True)
    ]
    done = finish(
        topology="dumbbell",
        params={"n": 2},
        path=_LINE | {"cake": {"isolation": isolation, "diffserv": "besteffort"}},
        flows=flows,
        duration="6 s",
        warmup="1 s",
        kernel=kernel,
    )
    shares = {flow["name"]: flow["share"] for flow in done.document["flows"]}
    return shares["one"], sum(share for name, share in shares.items() if name != "one")


@pytest.mark.parametrize("kernel", TESTED_KERNELS)
@pytest.mark.parametrize(
    ("isolation", "same", "expected"),
    [
        ("dual-dsthost", "", 1 / 2),
        ("dual-dsthost", "receiver", 1 / 5),
        ("dual-srchost", "", 1 / 2),
        ("dual-srchost", "sender", 1 / 5),
        ("triple-isolate", "", 1 / 2),
        ("dsthost", "", 1 / 2),
        ("flows", "", 1 / 5),
    ],
)
def test_hosts_or_flows_share_the_line_evenly(
    finish: Runner, isolation: str, same: str, expected: float, kernel: str
) -> None:
    """One flow beside four of another host gets half of the line, or, where flows are isolated alone, a fifth."""
    one, four = _shares(finish, isolation, same=same, kernel=kernel)
    assert one == pytest.approx(expected, abs=0.005)
    assert one + four == pytest.approx(1)


def _utilisation(finish: Runner, cake: Mapping[str, Any]) -> float:
    flows = [{"name": "udp", "udp": "12 Mbit/s"}]
    done = finish(path=_LINE | {"cake": dict(cake)}, flows=flows, duration="6 s", warmup="1 s")
    return float(done.document["path"]["utilisation"])


@pytest.mark.parametrize(
    ("cake", "counted"),
    [
        ({}, _FRAME),
        ({"overhead": 44}, 1500 + 44),
        ({"overhead": 40, "cells": "atm"}, -(-(1500 + 40) // 48) * 53),
        ({"mpu": 64}, _FRAME),
    ],
    ids=["frames", "overhead", "ATM", "a least size"],
)
def test_its_shaper_counts_bytes_of_the_link_layer(finish: Runner, cake: dict[str, Any], counted: int) -> None:
    """9.5 Mbit/s of what it counts for a packet, of a line that counts frames."""
    found = _utilisation(finish, {"bandwidth": "9.5 Mbit/s", **cake})
    assert found == pytest.approx(0.95 * _FRAME / counted, rel=0.002)


def test_a_shaper_below_the_line_keeps_the_queue_in_cake(finish: Runner) -> None:
    """The line's own check takes CAKE's rate, and CAKE's AQM holds the delay."""
    done = finish(path=_LINE | {"cake": {"bandwidth": "9.5 Mbit/s"}}, duration="8 s", warmup="2 s")
    checks = {check["name"]: check["text"] for check in done.document["fidelity"]["checks"]}
    assert checks["bottleneck rate"].endswith("9500000 configured")
    assert done.document["path"]["utilisation"] == pytest.approx(0.95, rel=0.005)
    assert done.document["path"]["queue_delay_ms"] < 20


def _uplink(finish: Runner, **reverse: Any) -> Finished:
    path = {"bandwidth": "20 Mbit/s", "rtt": "20 ms", "buffer": "200 packets", "reverse_bandwidth": "100 kbit/s"}
    return finish(path=path | reverse, duration="20 s", warmup="5 s", window=None)


def _acks_a_second(done: Finished) -> float:
    (reverse,) = [link.id for link in done.run.links if link.name == "reverse"]
    return counter(of_flow(done.trace.links, reverse), "tx_packets", done.run).rate(5, 20)


def test_an_ack_filter_gives_a_slow_uplink_the_whole_downlink(finish: Runner) -> None:
    """100 kbit/s carry 189 acknowledgements a second: without a filter each is of two segments, with it of as many as have come."""
    plain, filtered = (
        _uplink(finish, **reverse) for reverse in ({}, {"reverse_queue": "cake", "reverse_cake": {"ack_filter": "on"}})
    )
    most = 100_000 / 8 / _ACK
    assert _acks_a_second(plain) == pytest.approx(most, rel=0.01)
    assert plain.document["flows"][0]["goodput_bps"] < most * 2 * _MSS * 8
    assert plain.document["links"][1]["queue_delay_ms"] > 1000
    assert filtered.document["links"][1]["queue_delay_ms"] < 100
    assert _acks_a_second(filtered) <= most * 1.002
    assert filtered.document["flows"][0]["goodput_bps"] > 0.9 * 20e6 * _MSS / _FRAME
    assert "acks_filtered" not in plain.document
    devices = filtered.facts["devices"]
    ((counted, root),) = [
        (qdisc, device["qdiscs"][0]) for device in devices for qdisc in device["qdiscs"] if "cake" in qdisc
    ]
    assert filtered.document["acks_filtered"] == sum(tin["ack_drops"] for tin in counted["cake"]["tins"])
    # Of those that the receiver sent, each left, waits, or was dropped: nearly all by the filter.
    (receiver,) = [device for device in devices if device["node"] == "b1"]
    assert receiver["tx_packets"] == pytest.approx(counted["packets"] + counted["drops"] + root["qlen"], abs=2)
    assert 0.9 * counted["drops"] < filtered.document["acks_filtered"] <= counted["drops"]


@pytest.mark.parametrize("queue", ["codel", "fq_codel", "pie", "red", "cake"])
def test_every_queue_of_acknowledgements_is_there(finish: Runner, queue: str) -> None:
    done = finish(
        path={"bandwidth": "20 Mbit/s", "reverse_bandwidth": "100 kbit/s", "reverse_queue": queue}, duration="2 s"
    )
    (reverse,) = [link for link in done.run.links if link.name == "reverse"]
    (device,) = [one for one in done.facts["devices"] if one["dev"] == reverse.dev]
    assert [qdisc["kind"] for qdisc in device["qdiscs"]] == ["netem", "tbf", queue]
    assert done.document["links"][1]["throughput_bps"] > 0
