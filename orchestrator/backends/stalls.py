"""Whether a guest that makes no progress is stuck, or only gets no processor: the machine may have better things to do.

it computes      its own processor time counts, however long that takes in real time
it does not      real time counts while none of its processes wants a processor: it sleeps, waits or is stopped
it would like    nothing counts
"""

from __future__ import annotations

from longhaul.orchestrator.system.process import Effort

# No look is so late, unless this process was held up as well: then nobody knows what the guest did.
_LONGEST_LOOK_S = 1.0


class Stall:
    """The time that counts since the last progress; `limit_s` is how much may, with `set_up_s` more before the first."""

    def __init__(self, limit_s: float, set_up_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._more_s = set_up_s
        self._idle_s = 0.0
        self._cpu_s: float | None = None
        self._looked_s = now_s

    def progress(self, now_s: float) -> None:
        """It got further."""
        self._more_s, self._idle_s, self._cpu_s, self._looked_s = 0.0, 0.0, None, now_s

    def look(self, effort: Effort | None, now_s: float) -> str | None:
        """It did not; in what it is stuck, or None. Where what it computes is not known, all real time counts."""
        passed_s, self._looked_s = min(now_s - self._looked_s, _LONGEST_LOOK_S), now_s
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
