"""Builds the kernels that admins sent to the service, one after the other, in a process of its own that ends with the service.

The service starts the process when a kernel waits: a build needs the processor that requests would wait for. When the process is asked to
end, its build ends with it, and begins again when the service is there again.
"""

from __future__ import annotations

import logging
import signal
import sys
from types import FrameType

from longhaul.orchestrator.kernels import sent_kernels
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.process import end_companion, start_companion
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.orchestrator.system.supervise import ORDERLY_S, Stop

_LOOK_S = 1.0
_SOON_S = 0.1
# After a build that another process runs, or that ended this one.
_PAUSE_S = 5.0


def keep_building(settings: Settings, stop: Stop, log: logging.Logger) -> None:
    """Build what waits, until `stop`; nothing where the operator does not allow code of admins any more."""
    while settings.user_code and not stop.is_set():
        try:
            waits = bool(sent_kernels.waiting(settings))
        except LonghaulError as error:
            log.error("%s", error)
            stop.wait(_PAUSE_S)
            continue
        if not waits:
            stop.wait(_LOOK_S)
            continue
        child = start_companion([sys.executable, "-m", "longhaul.orchestrator.execution.kernel_builder"])
        while child.poll() is None and not stop.is_set():
            stop.wait(_SOON_S)
        if stop.is_set():
            end_companion(child, ORDERLY_S)
        elif child.returncode:
            log.warning("the builder of kernels ended with %s", child.returncode)
            stop.wait(_PAUSE_S)


def main() -> int:
    """Build all kernels that wait."""

    def end(number: int, frame: FrameType | None) -> None:
        raise SystemExit(0)

    signal.signal(signal.SIGTERM, end)
    settings = load_settings()
    built = False
    while sent_kernels.build_next(settings):
        built = True
    # Those that wait are built by the service of another home.
    return 0 if built or not sent_kernels.waiting(settings) else 1


if __name__ == "__main__":
    sys.exit(main())
