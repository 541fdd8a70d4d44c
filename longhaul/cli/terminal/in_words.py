"""What a command is doing, in words on standard error, once it takes over a second: then at intervals, with or without a terminal.

with in_words("writing the backup", lambda: f"{done} of {runs} runs"): ...
writing the backup, 1 s: 12 of 400 runs
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")

_FIRST_S, _EVERY_S = 1.0, 5.0


@contextmanager
def in_words(doing: str, how_far: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Print what is being done, and how far it is, while it lasts."""
    over = threading.Event()
    thread = threading.Thread(target=_print_at_intervals, args=(doing, how_far, over), daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def counted(doing: str, items: Sequence[Item], noun: str) -> Iterator[Item]:
    """The items, one after the other, while the command prints how many are done."""
    done = 0

    def how_far() -> str:
        return f"{done} of {len(items)} {noun}"

    with in_words(doing, how_far):
        for item in items:
            yield item
            done += 1


def _print_at_intervals(doing: str, how_far: Callable[[], str], over: threading.Event) -> None:
    began_s = time.monotonic()
    wait_s = _FIRST_S
    while not over.wait(wait_s):
        wait_s = _EVERY_S
        print(": ".join(filter(None, (f"{doing}, {time.monotonic() - began_s:.0f} s", how_far()))), file=sys.stderr)
