"""Whether a guest that makes no progress is stuck, or only waits for a processor of a busy machine.

it computes              its own processor time counts, however long that takes in real time
it sleeps or waits       real time counts while none of its processes wants a processor
it wants a processor     no time counts
"""

from __future__ import annotations

from longhaul.orchestrator.system.guard import Effort

# No check is later than this, unless this process was delayed too: then the guest's state in between is unknown.
_LONGEST_INTERVAL_S = 1.0


class Stall:
    """The counted time since the last progress; at most `limit_s`, with `set_up_s` more before the first."""

    def __init__(self, limit_s: float, set_up_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._more_s = set_up_s
        self._idle_s = 0.0
        self._cpu_s: float | None = None
        self._checked_s = now_s

    def progress(self, now_s: float) -> None:
        """The guest made progress."""
        self._more_s, self._idle_s, self._cpu_s, self._checked_s = 0.0, 0.0, None, now_s

    def check(self, effort: Effort | None, now_s: float) -> str | None:
        """It made no progress: the time in which it is stuck, or None. Without a known processor time, all real time counts."""
        passed_s, self._checked_s = min(now_s - self._checked_s, _LONGEST_INTERVAL_S), now_s
        if effort is None or not effort.runnable:
            self._idle_s += passed_s
        most_s = self._limit_s + self._more_s
        if effort is not None:
            self._cpu_s = effort.cpu_s if self._cpu_s is None else self._cpu_s
            if effort.cpu_s - self._cpu_s > most_s:
                return f"{most_s:g} s of its own processor time"
        if self._idle_s > most_s:
            return f"{most_s:g} s of wall time" + (" in which it had nothing to compute" if effort is not None else "")
        return None
