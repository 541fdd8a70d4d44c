"""The meaning of a run's numbers: what the experiment's text came to, for tables and reports; nothing is computed from it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Meaning:
    """The resolved values: a buffer of `1 BDP` and its integers, the base path, how repeats are summarised."""

    about: str
    topology: str
    bandwidth_bps: int
    rtt_us: int
    forward_us: int
    reverse_us: int
    mtu: int
    frame_bytes: int
    mss_bytes: int
    bdp_bytes: int
    bdp_packets: int
    queue: str
    buffer_text: str
    buffer_packets: int
    buffer_bytes: int
    aggregate: str
