"""Starts guests, each under its guard.

A guest never runs as a direct child. It runs under a guard (`longhaul-agent guard`), a small program that holds one end of
a pipe. When the other end closes, because a run was cancelled or this process was killed, the guard kills the
guest. So no guest outlives the process that started it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import select
import signal
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# The guard writes one line here when the guest has ended.
_REPORT_FD = 3
LOG_FLAGS, LOG_MODE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644
# The guest's terminal, for the guard.
_TERMINAL_FD = 6
# What it shares with other guests: memory and doorbell of each.
_FIRST_SHARED_FD = 8
# Fields of /proc/PID/stat from the state on: time in user space and in the kernel, of the process and of children it waited for.
# The state of a process that runs or waits for a processor, and of one that waits for a disk.
_WAITS = ("R", "D")
_CPU_TICKS = slice(11, 15)


@dataclass(frozen=True, slots=True)
class GuardReport:
    """How a guest ended, and what it cost."""

    exit_code: int | None
    signal: int | None
    reason: str
    cpu_s: float
    wall_s: float
    max_rss_kb: int


@dataclass(frozen=True, slots=True)
class Effort:
    """The processor time of a guest since its start, and whether any of its processes waits for a processor or a disk now."""

    cpu_s: float
    runnable: bool


class Guard:
    """A running guest behind its guard. Closing it ends the guest."""

    def __init__(self, pid: int, control: int, report: int, directory: Path, *, is_child: bool = True) -> None:
        self.pid = pid
        self._is_child = is_child
        self.directory = directory
        self._control = control
        self._report = report
        self._ended: GuardReport | None = None

    @property
    def logs(self) -> list[Path]:
        """The log of the guest."""
        return [self.directory / "log.txt"]

    @property
    def report_fd(self) -> int:
        """A descriptor that is readable once the guest has ended."""
        return self._report

    def wait(self, timeout_s: float) -> GuardReport | None:
        """The report if the guest has ended within the timeout, else None."""
        if self._ended is None and select.select([self._report], [], [], timeout_s)[0]:
            self._ended = self._read_report()
        return self._ended

    def effort(self) -> Effort | None:
        """What the guest computes; None if this machine's kernel does not list the children of processes."""
        return effort_below(self.pid)

    def send(self, number: int) -> None:
        """Send a signal to the guest's kernel, if this machine's kernel lists the children of processes and it still runs."""
        with contextlib.suppress(OSError):
            for child in _children(self.pid):
                # Its own group's first: the guard also inherits the guest's orphans.
                if os.getpgid(child) == child:
                    os.kill(child, number)

    def cancel(self) -> None:
        """Ask the guard to end the guest; `wait` returns its report."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def close(self) -> None:
        """End the guest if it still runs, and close all descriptors."""
        self.cancel()
        if self._report >= 0:
            if self._ended is None:
                self._ended = self._read_report()
            os.close(self._report)
            self._report = -1

    def _read_report(self) -> GuardReport:
        line = b""
        while chunk := os.read(self._report, 4096):
            line += chunk
        status = os.waitpid(self.pid, 0)[1] if self._is_child else 0
        if not line:
            # The guard itself was killed; the guest dies with it (PR_SET_PDEATHSIG), but not a child that it was just starting.
            _kill_inside(self.directory.resolve())
            return GuardReport(None, _signal_of(status), "guard_killed", 0.0, 0.0, 0)
        report = json.loads(line)
        return GuardReport(
            exit_code=report["exit"],
            signal=report["signal"],
            reason=report["reason"],
            cpu_s=report["user_s"] + report["sys_s"],
            wall_s=report["wall_s"],
            max_rss_kb=report["max_rss_kb"],
        )


def effort_below(pid: int) -> Effort | None:
    """The processor time of all processes below this one, including ended children, and whether one waits for a processor or a disk."""
    ticks, runnable = 0, False
    try:
        waiting = _children(pid)
    except OSError:
        return None
    while waiting:
        process = waiting.pop()
        # A process that ends just now is counted by its parent the next time.
        with contextlib.suppress(OSError):
            ticks += sum(map(int, _stat(Path(f"/proc/{process}/stat"))[_CPU_TICKS]))
            tasks = Path(f"/proc/{process}/task").iterdir()
            runnable = runnable or any(_stat(task / "stat")[0] in _WAITS for task in tasks)
            waiting += _children(process)
    return Effort(ticks / os.sysconf("SC_CLK_TCK"), runnable)


def _children(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [int(child) for task in tasks for child in (task / "children").read_text().split()]


def _stat(file: Path) -> list[str]:
    """The fields of a process from its state on; its name, before them, may contain anything."""
    return file.read_text().rpartition(")")[2].split()


def _kill_inside(directory: Path) -> None:
    """Kill every process whose folder is in this run directory, until none is found: one may be starting another."""
    while found := [process for process in Path("/proc").glob("[0-9]*") if _works_in(process, directory)]:
        for process in found:
            with contextlib.suppress(ProcessLookupError):
                os.kill(int(process.name), signal.SIGKILL)
        time.sleep(0.01)


def _works_in(process: Path, directory: Path) -> bool:
    try:
        return Path(os.readlink(process / "cwd")).is_relative_to(directory)
    except OSError:
        return False


def _signal_of(wait_status: int) -> int | None:
    return os.WTERMSIG(wait_status) if os.WIFSIGNALED(wait_status) else None


def start_guard(
    argv: Sequence[str],
    log: Path,
    environment: Mapping[str, str],
    terminal: int | None = None,
    shared: Sequence[int] = (),
) -> Guard:
    """Start a guard whose output goes to `log`, with this descriptor as its guest's terminal, and these for its guest; the caller must close the guard."""
    control_read, control_write = os.pipe()
    report_read, report_write = os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, control_read, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.fspath(log), LOG_FLAGS, LOG_MODE),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, report_write, _REPORT_FD),
    ]
    places = [] if terminal is None else [(terminal, _TERMINAL_FD)]
    places += [(number, _FIRST_SHARED_FD + place) for place, number in enumerate(shared)]
    # Numbers that none of the others has, so that nothing is overwritten.
    high = [fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, 64) for number, _ in places]
    actions += [(os.POSIX_SPAWN_DUP2, one, place) for one, (_, place) in zip(high, places, strict=True)]
    try:
        # Its own process group: Ctrl-C at the terminal reaches this process alone, which then cancels in order.
        pid = os.posix_spawn(argv[0], list(argv), dict(environment), file_actions=actions, setpgroup=0)
    except OSError as error:
        os.close(control_write)
        os.close(report_read)
        raise BackendError("starting the guest's guard", argv[0], error.strerror or str(error)) from error
    finally:
        os.close(control_read)
        os.close(report_write)
        for number in high:
            os.close(number)
    return Guard(pid, control_write, report_read, log.parent)
