"""Files that are locked for as long as somebody lives: the kernel lets go of a lock when its holder ends, whatever way it ends.

<where>/.new-*      what is being made by whoever holds the lock beside it, <.where.lock>; what else is called so was left by the dead, and goes
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

# Of what the owner of a lock writes about itself.
_LONGEST_NOTE = 500


def take(file: Path) -> int:
    """A lock held until the descriptor is closed; waits for whoever holds it."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


@contextlib.contextmanager
def locked(file: Path, *, wait: bool = True, shared: bool = False) -> Iterator[None]:
    """The lock of a file for a while, alone or beside others who share it; BlockingIOError where it is held and nobody wants to wait."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def owned(file: Path) -> Iterator[Callable[[str], None]]:
    """The lock of a file for as long as the context lasts; what is called with a text writes it there for others to read.

    BlockingIOError, whose `strerror` is what its owner wrote, where another process has it.
    """
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def write(text: str) -> None:
        os.ftruncate(handle, 0)
        os.pwrite(handle, text.encode(), 0)

    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            owner = os.pread(handle, _LONGEST_NOTE, 0).decode(errors="replace")
            raise BlockingIOError(error.errno, owner, str(file)) from None
        # What an owner that is gone wrote is not true any more.
        write("")
        yield write
    finally:
        os.close(handle)


@contextlib.contextmanager
def making(where: Path) -> Iterator[Path]:
    """A folder to make something in that is moved from there whole; one process at a time, so that what lies there has no maker any more."""
    where.mkdir(parents=True, exist_ok=True)
    with locked(where.with_name(f".{where.name}.lock")):
        for left in where.glob(".new-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=where, prefix=".new-") as folder:
            yield Path(folder)
