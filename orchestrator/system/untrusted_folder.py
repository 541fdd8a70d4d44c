"""A folder that untrusted code may write: handed over to it, measured meanwhile, and emptied when the code has ended.

Files in it lose hard links to files elsewhere, which could be written through it. Only plain files with expected names are taken
out, so that later readers are not led to another file of this machine and do not wait at a pipe. All else is deleted, at any
depth.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.system.confinement import UNTRUSTED_USER
from longhaul.orchestrator.system.errors import BackendError

# An empty file takes space in its folder.
_LEAST_BYTES = 4096


def hand_over(folder: Path) -> None:
    """Break hard links, and give everything to the unprivileged user where root runs code as that user."""
    for path in [*_everything(folder)]:
        # A link is not followed: it may lead to a file that the code must not read.
        about = path.lstat()
        if stat.S_ISREG(about.st_mode) and about.st_nlink > 1:
            copy = path.with_name(f".copy-{os.urandom(8).hex()}")
            shutil.copy2(path, copy)
            copy.rename(path)
        if os.geteuid() == 0:
            os.chown(path, UNTRUSTED_USER, UNTRUSTED_USER, follow_symlinks=False)


def take_out(folder: Path, name: str, target: Path, most_bytes: int) -> None:
    """Move the plain file of that name, or the plain files in the folder of that name, into `target`, owned by this user."""
    path = folder / name
    try:
        kind = path.lstat()
    except OSError:
        return
    if stat.S_ISDIR(kind.st_mode):
        path.chmod(0o700)
        (target / name).mkdir()
        for inner in sorted(path.iterdir()):
            if not inner.is_dir():
                take_out(path, inner.name, target / name, most_bytes)
    elif stat.S_ISREG(kind.st_mode):
        if kind.st_size > most_bytes:
            raise BackendError("taking out of the guest", name, f"it has {kind.st_size} bytes, more than {most_bytes}")
        if os.geteuid() == 0:
            os.chown(path, os.geteuid(), os.getegid())
        path.chmod(0o644)
        path.rename(target / name)


def discard(folder: Path) -> None:
    """Delete the folder if it exists; nested folders are first moved to its top, since a path may be longer than any call accepts."""
    waiting = [folder] if folder.is_dir() else []
    while waiting:
        here = waiting[-1]
        here.chmod(0o700)
        deeper = []
        for entry in os.scandir(here):
            if not entry.is_dir(follow_symlinks=False):
                Path(entry.path).unlink()
            elif here == folder:
                deeper.append(Path(entry.path))
            else:
                # A folder without write permission cannot be moved either.
                Path(entry.path).chmod(0o700)
                deeper.append(Path(entry.path).rename(folder / f".deep-{os.urandom(8).hex()}"))
        if not deeper:
            here.rmdir()
            waiting.pop()
        elif here == folder:
            waiting += deeper
        else:
            here.rmdir()
            waiting[-1:] = deeper


def check_size(folder: Path, most_bytes: int, subject: str) -> None:
    """BackendError if a folder takes more than that; the kernel's own limits apply to one file each."""
    has = 0
    for path in _everything(folder):
        with contextlib.suppress(OSError):
            has += max(path.lstat().st_blocks * 512, _LEAST_BYTES)
        if has > most_bytes:
            raise BackendError(
                "running", subject, f"it wrote more than {most_bytes // 2**20} MiB", "make its modules write less"
            )


def _everything(folder: Path) -> Iterator[Path]:
    """The folder and all below it; links are not followed, and unreadable folders are skipped."""
    waiting = [folder]
    while waiting:
        path = waiting.pop()
        yield path
        with contextlib.suppress(OSError):
            if stat.S_ISDIR(path.lstat().st_mode):
                waiting += [Path(entry.path) for entry in os.scandir(path)]
