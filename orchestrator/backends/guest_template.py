"""Templates: guests that have started and loaded their modules, and that their kernel copies for run after run.

    this process --socket--> template (a guest that waits)
         |                       `-- fork --> guard --> copy: a guest that continues with its own run.json
         `------pipe---------------------------^

Most of a short run is the start of its guest, which is the same for all points of a sweep. The second guest of a kind in a process starts a
template of it, and this and the further ones are copies. A copy has memory of its own and does the same as a guest that started by itself, so
its trace is the same to the byte. Guests are of one kind when they do the same until their modules are loaded.

A template belongs to the staging folder of its process. It ends with the process, and when no copy was wanted for a while.
"""

from __future__ import annotations

import array
import contextlib
import os
import shutil
import socket
import struct
import threading
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from pathlib import Path

from longhaul.orchestrator.backends.guest_root import RUN_FILE
from longhaul.orchestrator.results.staging import act_at_end, spare_folders
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.guard import LOG_FLAGS, LOG_MODE, Guard

# The argument of the kernel, and the number of the socket in the guest.
ARGUMENT = "lh_template"
_SOCKET_FD = 8
# Not the name of a run's file, so that a copy cannot take one for the other.
_PLAN = "template.json"
# A guest starts in a hundredth of a second.
_PATIENCE_S = 10.0
# One that is dismissed ends at once; one that hangs is killed.
_ENDING_S = 1.0
_IDLE_S = 30
# Each keeps the memory of a guest that has started, some 13 MB.
_MOST = 6
# A template that so many other guests did not want gives way.
_PATIENCE_REQUESTS = 100
_MOST_NOTED = 1000

# Starts a guest for a run directory with further arguments of its kernel and descriptors, and returns its guard.
Start = Callable[[Path, Sequence[str], Sequence[int]], Guard]


class Template:
    """A guest that waits for requests; OSError if it does not start."""

    def __init__(self, directory: Path, start: Start) -> None:
        """Start it with the root of a run directory."""
        # It stays as long as the template: a number of a file in it must not become that of a file of a copy.
        place = directory.with_name(f"{directory.name}-template")
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket = ours
        # The number of the last request for it.
        self.used = 0
        try:
            (place / "home").mkdir(parents=True)
            shutil.copytree(directory / "guest", place / "guest", copy_function=_link)
            (place / "guest" / RUN_FILE).rename(place / "guest" / _PLAN)
            theirs.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, struct.pack("ll", _IDLE_S, 0))
            ours.settimeout(_PATIENCE_S)
            # Guards keep pairs of descriptors. A second one of the socket would hide the end of the template.
            with theirs, open(os.devnull, "rb") as nothing:
                self._guard = start(place, [f"{ARGUMENT}={_SOCKET_FD}"], [theirs.fileno(), nothing.fileno()])
            try:
                if ours.recv(1) != b"\1":
                    raise OSError("the template has ended")
                self._log = (place / "log.txt").read_bytes()
            except BaseException:
                self._guard.close()
                raise
        except BaseException:
            ours.close()
            shutil.rmtree(place, ignore_errors=True)
            raise

    def copy(self, directory: Path, cpu: int, guard: Sequence[str]) -> Guard:
        """A guest for a run directory, under the guard with this command; OSError if the template has ended."""
        log = os.open(directory / "log.txt", LOG_FLAGS, LOG_MODE)
        control_read, control_write = os.pipe()
        report_read, report_write = os.pipe()
        words = [str(cpu), str(directory.absolute()), *guard, "--adopt"]
        try:
            # So that the log of a copy is complete.
            os.write(log, self._log)
            passed = array.array("i", [control_read, report_write, log])
            message = b"".join(word.encode() + b"\0" for word in words)
            self._socket.sendmsg([message], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, passed)])
            answer = self._socket.recv(4)
            if len(answer) != 4:
                raise OSError("the template has ended")
        except OSError:
            os.close(control_write)
            os.close(report_write)
            report_write = -1
            # One that only hung could still make the copy, in a folder that another guest uses by then.
            _end(self.dismiss())
            while os.read(report_read, 4096):
                pass
            os.close(report_read)
            raise
        finally:
            for number in (control_read, report_write, log):
                if number >= 0:
                    os.close(number)
        (pid,) = struct.unpack("i", answer)
        return Guard(pid, control_write, report_read, directory, is_child=False)

    def dismiss(self) -> Guard:
        """Let it end after its copies; its guard is for the caller to close."""
        self._socket.close()
        return self._guard


class Templates:
    """The templates of a staging folder, by the kinds of their guests."""

    def __init__(self) -> None:
        self._templates: dict[Hashable, Template] = {}
        # Kinds that were wanted once, and those that cannot be copied, the oldest first.
        self._seen: dict[Hashable, None] = {}
        self._refused: dict[Hashable, None] = {}
        self._requests = 0
        # Of templates that end.
        self._ending: list[Guard] = []
        self._lock = threading.Lock()

    def copy(self, kind: Hashable, directory: Path, cpu: int, guard: Sequence[str], start: Start) -> Guard | None:
        """A copy for a run directory; None for the first guest of a kind, and if no copy can be had."""
        with self._lock:
            self._requests += 1
            self._clear()
            if kind in self._refused or not self._is_worth_one(kind):
                return None
            for _ in range(2):
                try:
                    template = self._templates.get(kind) or Template(directory, start)
                except (OSError, BackendError):
                    # A guest that starts by itself reports it.
                    break
                self._templates[kind], template.used = template, self._requests
                try:
                    return template.copy(directory, cpu, guard)
                except OSError:
                    # It has waited for too long, or was killed.
                    del self._templates[kind]
            _note(self._refused, kind)
            return None

    def refuse(self, kind: Hashable) -> None:
        """Make no more copies of this kind."""
        with self._lock:
            _note(self._refused, kind)
            self._dismiss(kind)

    def close(self) -> None:
        """End all of them; there must be no copies any more."""
        with self._lock:
            for kind in [*self._templates]:
                self._dismiss(kind)
            self._clear(_ENDING_S)
            for guard in self._ending:
                _end(guard)

    def _is_worth_one(self, kind: Hashable) -> bool:
        """Whether a kind has a template or gets one: if it was wanted before, and there is room or one that is not wanted any more."""
        if kind in self._templates:
            return True
        if kind not in self._seen:
            _note(self._seen, kind)
            return False
        if len(self._templates) < _MOST:
            return True
        oldest = min(self._templates, key=lambda one: self._templates[one].used)
        if self._requests - self._templates[oldest].used < _PATIENCE_REQUESTS:
            return False
        self._dismiss(oldest)
        return True

    def _clear(self, wait_s: float = 0) -> None:
        """Forget dismissed templates that have ended."""
        for guard in [*self._ending]:
            if guard.wait(wait_s):
                _end(guard)
                self._ending.remove(guard)

    def _dismiss(self, kind: Hashable) -> None:
        if template := self._templates.pop(kind, None):
            self._ending.append(template.dismiss())


def _end(guard: Guard) -> None:
    """End the guard of a template, with the folder of the template."""
    guard.close()
    shutil.rmtree(guard.directory, ignore_errors=True)


def _note(kinds: dict[Hashable, None], kind: Hashable) -> None:
    """Remember one of the last kinds."""
    kinds[kind] = None
    if len(kinds) > _MOST_NOTED:
        del kinds[next(iter(kinds))]


# By the staging folders of this process.
_TEMPLATES: dict[Path, Templates] = {}
_MAKING = threading.Lock()


def templates_of(directory: Path) -> Templates | None:
    """The templates for a run directory; None outside of staging, where there are no further runs."""
    if spare_folders(directory) is None:
        return None
    folder = directory.parent
    with _MAKING:
        if folder not in _TEMPLATES:
            _TEMPLATES[folder] = Templates()
            act_at_end(directory, lambda: _TEMPLATES.pop(folder).close())
        return _TEMPLATES[folder]


@lru_cache(maxsize=64)
def can_copy(kernel: Path, of: str) -> bool:
    """Whether the kernel with this hash, in this folder, knows how to copy its guests."""
    return f"{ARGUMENT}=".encode() in (kernel / "linux").read_bytes()


def _link(source: str, target: str) -> None:
    with contextlib.suppress(OSError):
        os.link(source, target)
        return
    shutil.copy2(source, target)
