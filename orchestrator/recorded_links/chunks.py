"""Rows of a recording in the order of time, a part of a file at a time: a recording of a gigabyte takes no more memory than a short one."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Ints = npt.NDArray[np.int64]

# An opportunity of mahimahi is one IP packet of this size.
OPPORTUNITY_BYTES = 1500

NS_PER_S = 10**9
LARGEST_RATE_BPS = 10**11
LARGEST_DELAY_NS = 3600 * NS_PER_S


@dataclass(frozen=True, slots=True)
class Chunk:
    """Some rows. Each column holds from its row's instant until the next row's; `opportunities` are bytes at that instant alone."""

    at_ns: Ints
    rate_bps: Ints | None = None
    opportunities: Ints | None = None
    delay_ns: Ints | None = None
    loss_2p32: Ints | None = None


Chunks = Iterator[Chunk]


@dataclass(frozen=True, slots=True)
class Summary:
    """A whole recording in a few numbers; a column that it does not have is None."""

    rows: int
    length_ns: int
    mean_bps: float | None = None
    highest_bps: float | None = None
    outages: int | None = None
    outage_ns: int | None = None
    longest_outage_ns: int | None = None
    least_delay_ns: int | None = None
    mean_delay_ns: float | None = None
    highest_delay_ns: int | None = None
    mean_loss: float | None = None
    opportunities: int | None = None
    lost_packets: int | None = None
