"""Waiting for an event instead of a guessed time."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

import httpx

_Found = TypeVar("_Found")


def wait_for(find: Callable[[], _Found | None], seconds: float = 300, about: Callable[[], object] = str) -> _Found:
    """The first result that is true, which may take a while on a busy machine; `about` is shown if there is none."""
    until_s = time.monotonic() + seconds
    while not (found := find()):
        assert time.monotonic() < until_s, f"it did not happen within {seconds:.0f} s: {about()}"
        time.sleep(0.02)
    return found


def is_ready(url: str) -> bool:
    """Whether a service responds to this address, with success."""
    try:
        return httpx.get(url, timeout=5).is_success
    except httpx.TransportError:
        return False
