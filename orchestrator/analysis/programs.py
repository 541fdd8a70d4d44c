"""Measures of flows whose traffic programs make: their connections follow one another, and the trace has no ACK of the last data of each.

The kernel's probe sees the ACKs of established connections. A program that closes its socket still has a window and what is not sent yet on
its way. So packets are taken from the kernel's counts of all connections, and divided over time as the bytes that arrived are.
"""

from __future__ import annotations

from collections import Counter as Tally
from collections.abc import Mapping
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.series import Counter
from longhaul.orchestrator.trace.records import Records

Facts = dict[str, Any]

# Ethernet, IP and TCP headers with all options.
_LONGEST_ACK_BYTES = 14 + 20 + 60


def delivered_packets(fact: Facts, got: Counter, begin_s: float, end_s: float) -> float:
    """Packets that reached the receiver in a part of the run."""
    if not fact["bytes_received"]:
        return 0.0
    share = got.rate(begin_s, end_s) * max(0.0, end_s - begin_s) / fact["bytes_received"]
    return float(fact["program"]["delivered"] * min(1.0, share))


def lost_packets(fact: Facts, drops: Records, shared: frozenset[tuple[int, int]]) -> int | None:
    """Those of these drops that are data of the flow; None if the ports of its connections do not distinguish it.

    Its sender acknowledges what comes the other way: a packet as short as the longest ACK is none of data.
    """
    ports = {(sender, receiver) for sender, receiver in fact["program"]["ports"]}
    if len(fact["program"]["ports"]) < fact["connections"] or ports & shared:
        return None
    numbers = np.array([sender << 16 | receiver for sender, receiver in ports], dtype=np.int64)
    drops = drops[drops["length"] > _LONGEST_ACK_BYTES]
    found = drops["source_port"].astype(np.int64) << 16 | drops["destination_port"]
    return int(np.isin(found, numbers).sum())


def shared_ports(fact_of: Mapping[int, Facts]) -> frozenset[tuple[int, int]]:
    """Pairs of ports that connections of two flows have: a drop between them may be of either."""
    pairs = Tally(
        pair
        for fact in fact_of.values()
        if "program" in fact
        for pair in {(one, other) for one, other in fact["program"]["ports"]}
    )
    return frozenset(pair for pair, number in pairs.items() if number > 1)
