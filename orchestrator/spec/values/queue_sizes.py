"""Sizes of a queue and of a window, which have several quantities: a buffer in BDP, packets, bytes or time."""

from __future__ import annotations

import math
from collections.abc import Callable

from longhaul.orchestrator.system.units import (
    format_duration,
    format_size,
    parse_duration,
    parse_multiple,
    parse_packets,
    parse_size,
)

_LARGEST_BDP = 1000
_LIKELY_BDP = 20
_LONGEST_STEP_US = 1000 * 10**6
# In bytes it has to fit RED's word of 32 bits, whatever the MTU.
_MOST_PACKETS = 100_000
_MOST_MARK_BYTES = 900 * 10**6


def buffer_size(text: str) -> None:
    """ValueError unless the text is a buffer: BDP, packets, bytes, or time at the line's rate."""
    if any(_reads(text, parse, above=0) for parse in (parse_packets, parse_size, parse_duration)):
        return
    multiple = parse_multiple(text, "BDP")
    if multiple is None or not 0 < multiple <= _LARGEST_BDP:
        raise ValueError("a buffer in BDP, packets, KB or ms, above 0, as in 1 BDP")


def likely_buffer(text: str) -> None:
    """ValueError for a buffer that a number alone does not mean: 100 are packets, not BDP."""
    buffer_size(text)
    multiple = parse_multiple(text, "BDP")
    if multiple is not None and multiple > _LIKELY_BDP:
        raise ValueError("a buffer of more BDP than experiments have")


def mark_threshold(text: str) -> None:
    """ValueError unless the text is a number of packets or bytes from which a queue marks; 0 B marks every packet."""
    if not (
        _reads(text, parse_packets, above=0, most=_MOST_PACKETS) or _reads(text, parse_size, most=_MOST_MARK_BYTES)
    ):
        raise ValueError(
            f"a number of packets up to {_MOST_PACKETS}, or a size up to {format_size(_MOST_MARK_BYTES)}, as in 20 packets or 30 KB"
        )


def step_threshold(text: str) -> None:
    """ValueError unless the text is a queue's delay or a number of packets from which it marks."""
    if not (_reads(text, parse_duration, most=_LONGEST_STEP_US) or _reads(text, parse_packets, most=_MOST_PACKETS)):
        raise ValueError(
            f"a duration up to {format_duration(_LONGEST_STEP_US)}, or a number of packets up to {_MOST_PACKETS}, as in 1 ms"
        )


def window_size(text: str) -> None:
    """ValueError unless the text is a window in packets or bytes."""
    if not any(_reads(text, parse, above=0) for parse in (parse_packets, parse_size)):
        raise ValueError("a window in packets or KB, above 0, as in 20 packets")


def _reads(text: str, parse: Callable[[str], int], *, above: float = -math.inf, most: float = math.inf) -> bool:
    """Whether a text is a value of the kind that this function reads, within these limits."""
    try:
        return above < parse(text) <= most
    except ValueError:
        return False
