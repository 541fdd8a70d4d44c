"""Requests on disk for Prometheus, oldest first: they outlive a restart of the server and of this process.

    <home>/spool/<pid>-<random>/lock                                        held as long as the process lives
    <home>/spool/<pid>-<random>/<number>-<newest ms>-<samples>-<run>.rw     a request, whole: it appears by rename

The next process that checks takes over the requests of a dead one. All of a home's requests together are bounded; one that does not
fit is refused, and its sender waits or reports it.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import threading
import time
from collections import deque
from pathlib import Path

from longhaul.orchestrator.live.remote_write import Request
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.locks import locked, take

_SUFFIX = ".rw"
_NAME = re.compile(r"[0-9]+-([0-9]+)-([0-9]+)-([0-9a-f]+)\.rw")
# How often other processes' requests are counted and looked for.
_LOOK_EVERY_S = 5.0


@dataclass(frozen=True, slots=True)
class Spooled:
    """A request on disk."""

    file: Path
    newest_ms: int
    samples: int
    run: str
    size: int
    since_s: float
    # Left by a dead process: it belongs to no stream of this process.
    inherited: bool

    def request(self) -> Request:
        """The request itself."""
        return Request(self.file.read_bytes(), self.newest_ms, self.samples)


class Spool:
    """This process's requests; safe to use from its threads."""

    def __init__(self, home: Path, most_bytes: int) -> None:
        self._root = home / "spool"
        self._most = most_bytes
        self.folder = self._root / f"{os.getpid()}-{os.urandom(4).hex()}"
        self._root.mkdir(parents=True, exist_ok=True)
        with locked(self._root / ".lock"):
            self.folder.mkdir()
            self._lock = take(self.folder / "lock")
        self._waiting: deque[Spooled] = deque()
        self._changed = threading.Condition()
        self._bytes = self._others = self._number = 0
        self._looked_s = -_LOOK_EVERY_S
        self.look()

    def close(self) -> None:
        """Leave the requests to the next process."""
        with self._changed:
            if not self._waiting:
                shutil.rmtree(self.folder, ignore_errors=True)
        os.close(self._lock)

    @property
    def size(self) -> int:
        """Bytes that wait here."""
        return self._bytes

    def oldest_s(self) -> float | None:
        """When the oldest waiting request was stored."""
        with self._changed:
            return self._waiting[0].since_s if self._waiting else None

    def put(self, request: Request, run: str) -> bool:
        """Store a request; False if it does not fit."""
        with self._changed:
            if self._bytes + self._others + len(request.body) > self._most:
                return False
            self._number += 1
            name = f"{self._number:012}-{request.newest_ms}-{request.samples}-{run}{_SUFFIX}"
            partial = self.folder / "partial"
            partial.write_bytes(request.body)
            partial.rename(self.folder / name)
            self._add(self.folder / name, len(request.body), time.time(), inherited=False)
            return True

    def first(self, wait_s: float) -> Spooled | None:
        """The oldest request; it stays until it is removed."""
        with self._changed:
            if not self._waiting:
                self._changed.wait(wait_s)
            return self._waiting[0] if self._waiting else None

    def remove(self, done: Spooled) -> None:
        """Forget the first request, which is done."""
        with self._changed:
            assert self._waiting[0] is done
            self._waiting.popleft()
            self._bytes -= done.size
            done.file.unlink(missing_ok=True)

    def wake(self) -> None:
        """Wake the threads that wait for a request."""
        with self._changed:
            self._changed.notify_all()

    def look(self) -> None:
        """Periodically take over the requests of dead processes, and count those of living ones."""
        if time.monotonic() - self._looked_s < _LOOK_EVERY_S:
            return
        self._looked_s = time.monotonic()
        others = 0
        with locked(self._root / ".lock"):
            for folder in sorted(self._root.iterdir()):
                if folder == self.folder or not folder.is_dir():
                    continue
                try:
                    with locked(folder / "lock", wait=False):
                        self._take_over(folder)
                except BlockingIOError:
                    others += sum(_size(file) for file in folder.glob(f"*{_SUFFIX}"))
                except FileNotFoundError:
                    # Its process ended just now, without requests.
                    continue
        self._others = others

    def _take_over(self, folder: Path) -> None:
        with self._changed:
            for file in sorted(folder.glob(f"*{_SUFFIX}")):
                if not _NAME.fullmatch(file.name):
                    continue
                found = file.stat()
                self._number += 1
                mine = self.folder / f"{self._number:012}-{file.name.split('-', 1)[1]}"
                file.rename(mine)
                self._add(mine, found.st_size, found.st_mtime, inherited=True)
        shutil.rmtree(folder, ignore_errors=True)

    def _add(self, file: Path, size: int, since_s: float, *, inherited: bool) -> None:
        named = _NAME.fullmatch(file.name)
        assert named is not None
        self._waiting.append(Spooled(file, int(named[1]), int(named[2]), named[3], size, since_s, inherited))
        self._bytes += size
        self._changed.notify_all()


def _size(file: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return file.stat().st_size
    return 0
