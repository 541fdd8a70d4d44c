"""The CPU budget of a run in real time: whether this machine kept up, so that the numbers reflect the path and not the machine.

In virtual time a slow machine takes longer and the numbers stay the same; in real time it changes them. A run outside the
budget has no result. docs/fidelity.md lists the bounds and their reasons.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

# The credit of the rate limiters (target.py): a timer later than this costs the path some of its rate.
MOST_LATE_P99_US = 4_000
# Half of TCP's least retransmission timeout: a longer silence may be taken for a loss.
MOST_LATE_US = 100_000
# Above this, work waits for a processor; packets are then late by an unconfigured delay.
MOST_BUSY_SHARE = 0.9
# The processors' time given to other machines (steal).
MOST_STEAL_SHARE = 0.01


def over_budget(machine: Mapping[str, Any]) -> Iterator[str]:
    """The exceeded bounds, one sentence each; `machine` is the agent's report in facts.json."""
    time_us = machine["busy_us"] + machine["idle_us"] + machine["steal_us"]
    busy, steal = (machine[name] / time_us if time_us else 0.0 for name in ("busy_us", "steal_us"))
    if machine["late_p99_us"] > MOST_LATE_P99_US:
        yield f"one timer in a hundred was {machine['late_p99_us'] / 1000:.1f} ms late or later, {MOST_LATE_P99_US / 1000:g} ms are allowed"
    if machine["late_max_us"] > MOST_LATE_US:
        yield f"a timer was {machine['late_max_us'] / 1000:.0f} ms late, {MOST_LATE_US / 1000:g} ms are allowed"
    if busy > MOST_BUSY_SHARE:
        yield f"the processors were busy for {busy:.0%} of the time, {MOST_BUSY_SHARE:.0%} are allowed"
    if steal > MOST_STEAL_SHARE:
        yield f"{steal:.1%} of the processors' time went to other machines, {MOST_STEAL_SHARE:.0%} is allowed"
    if machine["softnet_dropped"]:
        yield f"{machine['softnet_dropped']} packets were dropped before any queue had room to take them"


def lateness(machine: Mapping[str, Any]) -> str:
    """How late timers were, in one line."""
    return (
        f"timers late by {machine['late_p50_us']} us in the middle, {machine['late_p99_us']} us at p99, "
        f"{machine['late_max_us']} us at most"
    )
