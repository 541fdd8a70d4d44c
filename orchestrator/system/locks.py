"""File locks that last as long as a process: the kernel releases a lock when its owner ends, in whatever way.

<where>/.new-*      made by the process that holds the lock <.where.lock>; any other `.new-*` was left by a dead process and is deleted
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

# Of the note that the owner of a lock writes.
_LONGEST_NOTE = 500


def take(file: Path) -> int:
    """A lock held until the descriptor is closed; waits for its present owner."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    return handle


@contextlib.contextmanager
def locked(file: Path, *, wait: bool = True, shared: bool = False) -> Iterator[None]:
    """Hold the lock of a file, alone or shared; BlockingIOError if another process has it and `wait` is off."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | (0 if wait else fcntl.LOCK_NB))
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def locked_folder(folder: Path) -> Iterator[None]:
    """Hold the lock of a folder itself, which ends with the folder; BlockingIOError if another holder has it."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(handle)


@contextlib.contextmanager
def owned(file: Path) -> Iterator[Callable[[str], None]]:
    """Hold the lock of a file; calling the result writes a note for other processes.

    BlockingIOError if another process has it; its `strerror` is that owner's note.
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
        # The note of an owner that is gone no longer applies.
        write("")
        yield write
    finally:
        os.close(handle)


@contextlib.contextmanager
def making(where: Path) -> Iterator[Path]:
    """A folder in which to make something that is then moved away whole; one process at a time, so folders already there have no owner."""
    where.mkdir(parents=True, exist_ok=True)
    with locked(where.with_name(f".{where.name}.lock")):
        for left in where.glob(".new-*"):
            shutil.rmtree(left, ignore_errors=True)
        with tempfile.TemporaryDirectory(dir=where, prefix=".new-") as folder:
            yield Path(folder)
