"""The counters of shared 802.11 channels: the transmitters' counts must equal the medium's.

medium's exchanges = frames of its transmitters
medium's busy time = their exchanges + its collisions, each counted once
a transmitter's exchanges = the value of wifi_airtime.py for its packets and bytes

On an 802.11n channel, frames that arrived = packets that left or are held for their order; the bytes of an exchange are those of its frames,
with a delimiter and padding for each in an aggregate; their symbols fill them; and the exchanges, to the nanosecond, are what
wifi_airtime_ht.py has for preambles, symbols, ACKs and BlockAcks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.plan.qdiscs import DCF
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.wifi_airtime import Channel
from longhaul.orchestrator.plan.wifi_airtime_ht import (
    DELIMITER_BYTES,
    SERVICE_BITS,
    SYMBOL_US,
    SYMBOLS_PER_S,
    TAIL_BITS,
    WINDOW,
    HtChannel,
)

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
        if transmitters[0]["options"].get("ht") and device["medium_exchanges"]:
            mpdus = sum(one["dcf"]["mpdus"] for one in transmitters)
            text += f", {mpdus / device['medium_exchanges']:.1f} frames in each exchange"
        yield not wrong, f"channel {number}: {'; '.join(wrong) or text}"


def _books(transmitters: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    devices = [one["dcf"] for one in transmitters]
    medium = devices[0]
    exchanges, busy_ns = sum(one["frames"] for one in devices), sum(one["exchange_ns"] for one in devices)
    if exchanges != medium["medium_exchanges"]:
        yield f"{exchanges} frames of its transmitters, {medium['medium_exchanges']} exchanges"
    lost_ns = medium["medium_busy_ns"] - busy_ns
    options = transmitters[0]["options"]
    collision_us = (_ht_channel(options) if options.get("ht") else _channel(options)).collision_us(0)
    if options["rts"] and lost_ns != medium["medium_collisions"] * collision_us * 1000:
        yield f"{lost_ns} ns in {medium['medium_collisions']} collisions"
    # At least two take part in each, all for the same time.
    if 2 * lost_ns > sum(one["collision_ns"] for one in devices):
        yield f"{lost_ns} ns in collisions, and less than twice that of their transmitters"


def _exchanges(run: Run, one: Mapping[str, Any]) -> Iterator[str]:
    # After a change of rate there is no sum to compare with.
    changes = any(run.device_changes)
    if one["options"].get("ht"):
        yield from _bursts(one)
        if not changes:
            yield from _burst_times(one)
        return
    device, options = one["dcf"], one["options"]
    if device["frames"] != one["packets"]:
        yield f"{device['frames']} frames, {one['packets']} packets"
    if changes:
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


def _ht_channel(options: Mapping[str, Any]) -> HtChannel:
    return HtChannel(options["rate_bps"], WINDOW, options["rts"], options["basic_rate_bps"], options["overhead_bytes"])


def _in_aggregates(device: Mapping[str, Any]) -> int:
    """Frames that were not sent alone."""
    return int(device["mpdus"] - device["frames"] + device["aggregates"])


def _bursts(one: Mapping[str, Any]) -> Iterator[str]:
    """Frames and bytes of a transmitter of 802.11n."""
    device, options = one["dcf"], one["options"]
    arrived = device["mpdus"] - device["failed_mpdus"]
    if arrived != one["packets"] + device["held"]:
        yield f"{arrived} frames arrived, {one['packets']} packets left and {device['held']} are held"
    aggregates, together = device["aggregates"], _in_aggregates(device)
    if not 2 * aggregates <= together <= WINDOW * aggregates or device["block_acks"] > aggregates:
        yield f"{together} frames and {device['block_acks']} BlockAcks of {aggregates} aggregates"
    if not device["failed_mpdus"]:
        left_bytes = one["bytes"] + one["packets"] * (options["overhead_bytes"] - _ETHERNET_HEADER_BYTES)
        if device["mpdu_bytes"] != left_bytes:
            yield f"{device['mpdu_bytes']} bytes of frames, {left_bytes} computed"
        if device["block_acks"] != aggregates:
            yield f"{device['block_acks']} BlockAcks of {aggregates} aggregates, of which no frame failed"
    # A delimiter for each frame in an aggregate, and padding of less than one.
    around = device["psdu_bytes"] - device["mpdu_bytes"]
    if not DELIMITER_BYTES * together <= around <= (2 * DELIMITER_BYTES - 1) * together:
        yield f"{around} bytes around {together} frames in aggregates"


def _burst_times(one: Mapping[str, Any]) -> Iterator[str]:
    """Symbols and air time of a transmitter of 802.11n whose channel had one rate."""
    device, channel = one["dcf"], _ht_channel(one["options"])
    frames, aggregates, symbols = device["frames"], device["aggregates"], device["symbols"]
    bits = 8 * device["psdu_bytes"] + frames * (SERVICE_BITS + TAIL_BITS * channel.encoders())
    # The last symbol of each exchange is not always full.
    spare = symbols * (channel.rate_bps // SYMBOLS_PER_S) - bits
    if not 0 <= spare <= frames * (channel.rate_bps // SYMBOLS_PER_S - 1):
        yield f"{symbols} symbols for {bits} bits"
    exchanges_us = frames * (channel.before_us() + channel.preamble_us()) + SYMBOL_US * symbols
    exchanges_us += (frames - aggregates) * channel.answer_us(1) + aggregates * channel.answer_us(2)
    if device["exchange_ns"] != exchanges_us * 1000:
        yield f"{device['exchange_ns']} ns for {frames} exchanges of {symbols} symbols together, {exchanges_us * 1000} computed"
