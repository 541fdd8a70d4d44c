"""Waiting for an event instead of a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable


def wait_for(happened: Callable[[], object], seconds: float = 300) -> None:
    """Wait until the condition holds, which may take a while on a busy machine."""
    until_s = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < until_s, f"it did not happen within {seconds:.0f} s"
        time.sleep(0.02)
