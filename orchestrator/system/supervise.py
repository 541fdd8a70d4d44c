"""Keep a child process running: start it again whenever it ends, after growing pauses unless it lasted, until this process stops.

The service supervises its dispatcher in this way, and `longhaul worker` its worker. However one of the two is killed, the other ends too:
a process that is asked to stop ends itself after a limit of time, and its supervisor kills it a little later.
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
# A child that lasted this long had no fault of its own.
_LASTED_S = 5.0
# Guests end within a tenth of a second, hosts are cleaned up in some seconds; a supervisor gives a service a minute (playbooks/).
ORDERLY_S = 40.0
# The child prints where it hangs and ends by itself before this.
_KILLED_AFTER_S = ORDERLY_S + 3.0


class Stop:
    """Whether to stop. A signal may arrive while the last one is handled: `threading.Event` has a lock, which would then deadlock."""

    def __init__(self) -> None:
        self._stopping = False

    def set(self) -> None:
        """Stop from now on."""
        self._stopping = True

    def is_set(self) -> bool:
        """Whether to stop."""
        return self._stopping

    def wait(self, longest_s: float) -> None:
        """Until `set`, or for this long."""
        until_s = time.monotonic() + longest_s
        while not self._stopping and time.monotonic() < until_s:
            time.sleep(_LOOK_S)


def keep_going(argv: Sequence[str], stop: Stop, log: logging.Logger, what: str) -> None:
    """Keep the child process `what` running until `stop`, then ask it to end and wait for it."""
    patience_s = _PATIENCE_S[0]
    while not stop.is_set():
        begun_s = time.monotonic()
        child = start_companion(argv)
        while child.poll() is None and not stop.is_set():
            stop.wait(_LOOK_S)
        if stop.is_set():
            if not end_companion(child, _KILLED_AFTER_S):
                log.error(
                    "the %s did not end within %.0f s and was killed; its runs are queued again", what, _KILLED_AFTER_S
                )
            return
        if time.monotonic() - begun_s > _LASTED_S:
            patience_s = _PATIENCE_S[0]
        log.warning("the %s ended with %s; starting it again in %.1f s", what, child.returncode, patience_s)
        stop.wait(patience_s)
        patience_s = min(_PATIENCE_S[1], patience_s * 2)


def when_asked_to_stop(heed: Callable[[], None]) -> None:
    """Call `heed` at SIGTERM and SIGINT, from the main thread. The process ends at most `ORDERLY_S` later and prints where it hung."""

    limited = False

    def on_signal(number: int, frame: FrameType | None) -> None:
        nonlocal limited
        if not limited:
            # A C thread: it needs neither the interpreter nor a running event loop.
            faulthandler.dump_traceback_later(ORDERLY_S, exit=True)
            limited = True
        heed()

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, on_signal)
