"""The counters of shared 802.11 channels: the transmitters' counts must equal the medium's.

medium's exchanges = frames of its transmitters
medium's busy time = their exchanges + its collisions, each counted once
a transmitter's exchanges = the value of wifi_airtime.py for its packets and bytes
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.plan.qdiscs import DCF
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.wifi_airtime import Channel

_ETHERNET_HEADER_BYTES = 14


def is_wireless(run: Run) -> bool:
    """True when devices share a channel."""
    return any(qdisc.kind == DCF for end in run.ends for qdisc in end.qdiscs)


def judge_media(run: Run, facts: Mapping[str, Any]) -> Iterator[tuple[bool, str]]:
    """For each medium, whether its counters agree, and their values."""
    media: dict[int, list[Mapping[str, Any]]] = defaultdict(list)
    for device in facts["devices"]:
        for qdisc in device["qdiscs"]:
            if qdisc["kind"] == DCF:
                media[qdisc["options"]["medium"]].append(qdisc)
    for number, transmitters in media.items():
        wrong = [*_books(transmitters), *(word for one in transmitters for word in _exchanges(run, one))]
        device = transmitters[0]["dcf"]
        text = f"{device['medium_exchanges']} exchanges and {device['medium_collisions']} collisions in {device['medium_busy_ns'] / 1e9:.3f} s"
        yield not wrong, f"channel {number}: {'; '.join(wrong) or text}"


def _books(transmitters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    devices = [one["dcf"] for one in transmitters]
    medium = devices[0]
    exchanges, busy_ns = sum(one["frames"] for one in devices), sum(one["exchange_ns"] for one in devices)
    if exchanges != medium["medium_exchanges"]:
        yield f"{exchanges} frames of its transmitters, {medium['medium_exchanges']} exchanges"
    lost_ns = medium["medium_busy_ns"] - busy_ns
    options = transmitters[0]["options"]
    channel = _channel(options)
    if options["rts"] and lost_ns != medium["medium_collisions"] * channel.collision_us(0) * 1000:
        yield f"{lost_ns} ns in {medium['medium_collisions']} collisions"
    # At least two take part in each, all for the same time.
    if 2 * lost_ns > sum(one["collision_ns"] for one in devices):
        yield f"{lost_ns} ns in collisions, and less than twice that of their transmitters"


def _exchanges(run: Run, one: Mapping[str, Any]) -> Iterator[str]:
    device, options = one["dcf"], one["options"]
    if device["frames"] != one["packets"]:
        yield f"{device['frames']} frames, {one['packets']} packets"
    # After a change of rate there is no sum to compare with.
    if any(run.device_changes):
        return
    channel, frames = _channel(options), device["frames"]
    bytes_in_air = one["bytes"] + frames * (options["overhead_bytes"] - _ETHERNET_HEADER_BYTES)
    empty_us = Channel(channel.rate_bps, channel.basic_rate_bps, channel.rts, overhead_bytes=0).exchange_us(0)
    least_ns = frames * empty_us * 1000 + bytes_in_air * 8_000_000_000 // channel.rate_bps
    # Each frame's length is in whole microseconds, upwards, unless every byte's is.
    rounded_ns = frames * 1000 if 8_000_000 % channel.rate_bps else 0
    if not least_ns <= device["exchange_ns"] <= least_ns + rounded_ns:
        yield f"{device['exchange_ns']} ns for {frames} frames of {bytes_in_air} bytes together, {least_ns} computed"


def _channel(options: Mapping[str, Any]) -> Channel:
    return Channel(options["rate_bps"], options["basic_rate_bps"], options["rts"], options["overhead_bytes"])
