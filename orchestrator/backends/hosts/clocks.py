"""Clocks of endpoints against the controller's, by an exchange through their own sessions.

Both clocks of a host are asked for: the monotonic one, by which a run goes and which nobody sets, and the wall clock, which logs and
people go by. An answer lies between when it was asked for and when it came; of many, the one that took least says most. So the start is
the same instant everywhere within half of that time, whatever the wall clocks say.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from longhaul.orchestrator.backends.hosts.ssh_channel import Channel
from longhaul.orchestrator.system.errors import BackendError

_EXCHANGES = 12
_PATIENCE_S = 10.0
_LEAST_EXCHANGES, _LONG_S = 3, 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One exchange: how far a host's clocks are ahead of the controller's, and the most by which that may be wrong."""

    at_ns: int
    monotonic_ns: int
    wall_ns: int
    error_ns: int


def wall_now_ns() -> int:
    """The controller's wall clock."""
    return time.time_ns()


def ask_time(channel: Channel, number: int) -> tuple[int, int]:
    """Ask; what to read the answer with."""
    asked = time.monotonic_ns(), wall_now_ns()
    channel.say(f"time {number}")
    return asked


def read_time(asked: tuple[int, int], payload: bytes) -> Reading:
    """What an answer that has just come says."""
    came_ns = time.monotonic_ns()
    _, heard, said, real = map(int, payload.split())
    round_trip_ns = (came_ns - asked[0]) - (said - heard)
    middle_ns = (asked[0] + came_ns) // 2
    wall_middle_ns = asked[1] + (middle_ns - asked[0])
    there_ns = (heard + said) // 2
    return Reading(
        middle_ns, there_ns - middle_ns, real - (said - there_ns) - wall_middle_ns, max(0, round_trip_ns) // 2
    )


def compare_clocks(channel: Channel) -> Reading:
    """The best of many exchanges."""
    readings: list[Reading] = []
    until = time.monotonic() + _PATIENCE_S
    for number in range(_EXCHANGES):
        asked = ask_time(channel, number)
        readings.append(read_time(asked, channel.wait_for("TIME", _PATIENCE_S, "comparing clocks with")))
        if len(readings) >= _LEAST_EXCHANGES and time.monotonic() > until - _PATIENCE_S + _LONG_S:
            break
    return min(readings, key=lambda one: one.error_ns)


def start_for(reading: Reading, start_ns: int) -> int:
    """The controller's instant by the host's monotonic clock."""
    found = start_ns + reading.monotonic_ns
    if found < 0:
        raise BackendError("agreeing on a start", "", "a clock is before its own beginning", "please report this")
    return found


def drift_ppm(before: Reading, after: Reading) -> tuple[float, float]:
    """By how much a host's monotonic clock ran faster than the controller's, and the most by which that may be wrong."""
    span_ns = max(1, after.at_ns - before.at_ns)
    gained_ns = after.monotonic_ns - before.monotonic_ns
    return gained_ns / span_ns * 1e6, (before.error_ns + after.error_ns) / span_ns * 1e6
