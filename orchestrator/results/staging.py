"""Staging folders: where runs are made before they are results; one folder per process, owned by a lock.

    <home>/staging/<pid>-<random>/<run id>/     a run directory in the making
    <home>/staging/<pid>-<random>/<run id>-root a guest's root between two runs (backends/guest_root.py)
    <home>/staging/<pid>-<random>/lock          locked as long as the process lives

A process that dies leaves its lock free; the next process that stages a run deletes such folders.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.locks import locked, take

# A killed guest is gone long before.
_DYING_S = 5.0

# By the staging folders of this process.
_SPARE_FOLDERS: dict[Path, list[Path]] = {}
_LAST_ACTS: dict[Path, list[Callable[[], None]]] = {}


class Staging:
    """This process's staging folder, made on entry and deleted on exit."""

    def __init__(self, home: Path) -> None:
        self._root = home / "staging"
        self._folder = self._root / f"{os.getpid()}-{os.urandom(4).hex()}"
        self._lock = -1

    def __enter__(self) -> Self:
        try:
            self._root.mkdir(parents=True, exist_ok=True)
            # Under one lock, so that a folder whose own lock is not yet taken is never swept.
            with locked(self._root / ".lock"):
                self._sweep()
                self._folder.mkdir()
                self._lock = take(self._folder / "lock")
        except OSError as error:
            raise ResultsError(
                "making a staging folder in",
                str(self._root),
                error.strerror or str(error),
                "set LONGHAUL_HOME to a folder you may write",
            ) from error
        _SPARE_FOLDERS[self._folder] = []
        _LAST_ACTS[self._folder] = []
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for act in _LAST_ACTS.pop(self._folder):
            act()
        del _SPARE_FOLDERS[self._folder]
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
            # A folder whose process ends right now is deleted by that process.
            with contextlib.suppress(BlockingIOError, FileNotFoundError), locked(folder / "lock", wait=False):
                _remove(folder)


def spare_folders(directory: Path) -> list[Path] | None:
    """Folders beside a run directory that the next runs of this process can use: a list to take from and to add to. None outside of staging."""
    return _SPARE_FOLDERS.get(directory.parent)


def act_at_end(directory: Path, act: Callable[[], None]) -> None:
    """Do something before the staging folder of a run directory is deleted, to end what serves the runs of this process."""
    _LAST_ACTS[directory.parent].append(act)


def _remove(folder: Path) -> None:
    """Delete a dead process's folder; its guests die with it, but one may still write a last file."""
    until_s = time.monotonic() + _DYING_S
    while folder.exists() and time.monotonic() < until_s:
        shutil.rmtree(folder, ignore_errors=True)
        if folder.exists():
            time.sleep(0.02)
