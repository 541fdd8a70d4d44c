"""Clocks of endpoints compared with the controller's, by an exchange through their own sessions.

Both clocks of a host are read: the monotonic one, which times a run and which no program sets, and the wall clock of logs and
people. A reply's time lies between request and arrival; of many exchanges, the shortest is the most precise. So the start is
the same instant on every host within half of that time, whatever the wall clocks show.
"""

from __future__ import annotations

import time

from longhaul.orchestrator.backends.hosts.ssh_channel import Channel
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_EXCHANGES = 12
_PATIENCE_S = 10.0
_LEAST_EXCHANGES, _LONG_S = 3, 1.0


@dataclass(frozen=True, slots=True)
class Reading:
    """One exchange: how far a host's clocks are ahead of the controller's, and the largest error of that."""

    at_ns: int
    monotonic_ns: int
    wall_ns: int
    error_ns: int


def wall_now_ns() -> int:
    """The controller's wall clock."""
    return time.time_ns()


def ask_time(channel: Channel, number: int) -> tuple[int, int]:
    """Send a request; returns what read_time needs."""
    requested = time.monotonic_ns(), wall_now_ns()
    channel.send(f"time {number}")
    return requested


def read_time(requested: tuple[int, int], payload: bytes) -> Reading:
    """The clock reading of a reply that has just arrived."""
    came_ns = time.monotonic_ns()
    _, received_ns, sent_ns, real = map(int, payload.split())
    round_trip_ns = (came_ns - requested[0]) - (sent_ns - received_ns)
    middle_ns = (requested[0] + came_ns) // 2
    wall_middle_ns = requested[1] + (middle_ns - requested[0])
    there_ns = (received_ns + sent_ns) // 2
    return Reading(
        middle_ns, there_ns - middle_ns, real - (sent_ns - there_ns) - wall_middle_ns, max(0, round_trip_ns) // 2
    )


def compare_clocks(channel: Channel) -> Reading:
    """The best of many exchanges."""
    readings: list[Reading] = []
    until = time.monotonic() + _PATIENCE_S
    for number in range(_EXCHANGES):
        requested = ask_time(channel, number)
        readings.append(read_time(requested, channel.wait_for("TIME", _PATIENCE_S, "comparing clocks with")))
        if len(readings) >= _LEAST_EXCHANGES and time.monotonic() > until - _PATIENCE_S + _LONG_S:
            break
    return min(readings, key=lambda one: one.error_ns)


def start_for(reading: Reading, start_ns: int) -> int:
    """This instant of the controller on the host's monotonic clock."""
    found = start_ns + reading.monotonic_ns
    if found < 0:
        raise BackendError("agreeing on a start", "", "a clock shows a time before its start", "please report this")
    return found


def drift_ppm(before: Reading, after: Reading) -> tuple[float, float]:
    """How much faster a host's monotonic clock ran than the controller's, and the largest error of that."""
    span_ns = max(1, after.at_ns - before.at_ns)
    gained_ns = after.monotonic_ns - before.monotonic_ns
    return gained_ns / span_ns * 1e6, (before.error_ns + after.error_ns) / span_ns * 1e6
