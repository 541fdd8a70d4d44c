"""A real host in the plan of a run on physical hosts."""

from __future__ import annotations

from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PlacedHost:
    """A real host: address and device of its test traffic, the rate limit of all of it in frames, and the queue of its device, if it sends."""

    node: str
    address: str
    device: str
    rate_bps: int
    link: int | None = None
