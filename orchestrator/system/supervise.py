"""A process that works beside this one: started again whenever it ends, ever more seldom unless it lasted, until this one is to stop.

The service keeps its dispatcher going so, and `longhaul worker` its worker. Killed in whatever way, neither of the two leaves the other behind:
what is asked to stop has a limit of time for it, which it keeps to by itself, and at which the other kills it.
"""

from __future__ import annotations

import faulthandler
import logging
import signal
import time
from collections.abc import Callable, Sequence
from types import FrameType

from longhaul.orchestrator.system.process import end_companion, start_companion

_LOOK_S = 0.1
_PATIENCE_S = (0.2, 10.0)
# One that lasted so long had no fault of its own.
_LASTED_S = 5.0
# Guests end within a tenth of a second, and hosts are tidied up in some; a supervisor gives a service a minute (playbooks/).
ORDERLY_S = 40.0
# It prints where it hangs and ends by itself before it is killed.
_KILLED_AFTER_S = ORDERLY_S + 3.0


class Stop:
    """Whether to stop. A signal may come while the one before is heeded: `threading.Event` has a lock, which would wait for itself."""

    def __init__(self) -> None:
        self._asked = False

    def set(self) -> None:
        """From now on."""
        self._asked = True

    def is_set(self) -> bool:
        """Whether it was."""
        return self._asked

    def wait(self, longest_s: float) -> None:
        """Until it is, or for so long."""
        until_s = time.monotonic() + longest_s
        while not self._asked and time.monotonic() < until_s:
            time.sleep(_LOOK_S)


def keep_going(argv: Sequence[str], stop: Stop, log: logging.Logger, what: str) -> None:
    """Until `stop`, which ends it in order: what works beside this process is asked to end, and waited for."""
    patience_s = _PATIENCE_S[0]
    while not stop.is_set():
        begun_s = time.monotonic()
        child = start_companion(argv)
        while child.poll() is None and not stop.is_set():
            stop.wait(_LOOK_S)
        if stop.is_set():
            if not end_companion(child, _KILLED_AFTER_S):
                log.error("the %s did not end within %.0f s and was killed; its runs go back", what, _KILLED_AFTER_S)
            return
        if time.monotonic() - begun_s > _LASTED_S:
            patience_s = _PATIENCE_S[0]
        log.warning("the %s ended with %s; starting it again in %.1f s", what, child.returncode, patience_s)
        stop.wait(patience_s)
        patience_s = min(_PATIENCE_S[1], patience_s * 2)


def when_asked_to_stop(heed: Callable[[], None]) -> None:
    """Call this at SIGTERM and SIGINT, from the main thread, whose process ends at the latest `ORDERLY_S` later, saying where it hung."""

    limited = False

    def asked(number: int, frame: FrameType | None) -> None:
        nonlocal limited
        if not limited:
            # A thread of C's: it needs neither the interpreter nor an event loop that still turns.
            faulthandler.dump_traceback_later(ORDERLY_S, exit=True)
            limited = True
        heed()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, asked)
