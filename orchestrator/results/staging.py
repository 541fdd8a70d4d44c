"""Where runs are made before they are results: one folder a process, owned by a lock.

    <home>/staging/<pid>-<random>/<run id>/     a run directory in the making
    <home>/staging/<pid>-<random>/lock          held for as long as the process lives

A process that dies leaves its lock free; the next process to stage anything removes what such processes left behind.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from orchestrator.errors import ResultsError


class Staging:
    """This process's staging folder, made on entry and gone on exit."""

    def __init__(self, home: Path) -> None:
        self._root = home / "staging"
        self._folder = self._root / f"{os.getpid()}-{os.urandom(4).hex()}"
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            # Under one lock, so that a folder whose own lock is not yet taken is never swept.
            with _locked(self._root / ".lock"):
                self._sweep()
                self._folder.mkdir()
                self._lock = os.open(self._folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
                fcntl.flock(self._lock, fcntl.LOCK_EX)
        except OSError as error:
            raise ResultsError(
                "making a staging folder in",
                str(self._root),
                error.strerror or str(error),
                "set LONGHAUL_HOME to a folder you may write",
            ) from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)
        os.close(self._lock)

    @contextlib.contextmanager
    def directory(self, key: str) -> Iterator[Path]:
        """An empty run directory, removed on exit unless it was moved away."""
        directory = self._folder / f"{key}-{os.urandom(4).hex()}"
        directory.mkdir()
        try:
            yield directory
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _sweep(self) -> None:
        for folder in self._root.iterdir():
            if not folder.is_dir():
                continue
            with contextlib.suppress(BlockingIOError), _locked(folder / "lock", fcntl.LOCK_NB):
                shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _locked(file: Path, how: int = 0) -> Iterator[None]:
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | how)
        yield
    finally:
        os.close(handle)
