"""A process that works beside this one: started again whenever it ends, ever more seldom unless it lasted, until this one is to stop.

The service keeps its dispatcher going so, and `longhaul worker` its worker. Killed in whatever way, neither of the two leaves the other behind.
"""

from __future__ import annotations

import logging
import signal
import time
from collections.abc import Sequence

from orchestrator.process import start_companion

_LOOK_S = 0.1
_PATIENCE_S = (0.2, 10.0)
# One that lasted so long had no fault of its own.
_LASTED_S = 5.0


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
            child.send_signal(signal.SIGTERM)
            child.wait()
            return
        if time.monotonic() - begun_s > _LASTED_S:
            patience_s = _PATIENCE_S[0]
        log.warning("the %s ended with %s; starting it again in %.1f s", what, child.returncode, patience_s)
        stop.wait(patience_s)
        patience_s = min(_PATIENCE_S[1], patience_s * 2)
