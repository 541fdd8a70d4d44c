"""The only module that starts processes: the guest's guard, the project's build scripts, programs that print an answer.

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
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from longhaul.orchestrator.system.errors import BackendError

# The guard writes one line here when the guest has ended.
_REPORT_FD = 3
# The guest's terminal, for the guard.
_TERMINAL_FD = 6
# A program that prints its version is done by then, on the busiest machine.
_ANSWER_S = 30
# Of a program's last line in an error.
_LONGEST_LINE = 300
# Fields of /proc/PID/stat from the state on: time in user space and in the kernel, of the process and of children it waited for.
_CPU_TICKS = slice(11, 15)
# Starts a program that ends with this process.
_DIES_WITH_US = ("setpriv", "--pdeathsig", "TERM")


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
    """The processor time of a guest since its start, and whether any of its processes wants a processor now."""

    cpu_s: float
    runnable: bool


class Guard:
    """A running guest behind its guard. Closing it ends the guest."""

    def __init__(self, pid: int, control: int, report: int, directory: Path) -> None:
        self.pid = pid
        self.directory = directory
        self._control = control
        self._report = report
        self._ended: GuardReport | None = None

    def wait(self, timeout_s: float) -> GuardReport | None:
        """The report if the guest has ended within the timeout, else None."""
        if self._ended is None and select.select([self._report], [], [], timeout_s)[0]:
            self._ended = self._read_report()
        return self._ended

    def effort(self) -> Effort | None:
        """What the guest computes; None if this machine's kernel does not list the children of processes."""
        return effort_below(self.pid)

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
        _, status = os.waitpid(self.pid, 0)
        if not line:
            # The guard itself was killed; the guest dies with it (PR_SET_PDEATHSIG), but not a child that it was just starting.
            _kill_inside(self.directory)
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
    """The processor time of all processes below this one, including ended children, and whether one wants a processor."""
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
            runnable = runnable or any(_stat(task / "stat")[0] == "R" for task in tasks)
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


def start_guard(argv: Sequence[str], log: Path, environment: Mapping[str, str], terminal: int | None = None) -> Guard:
    """Start a guard whose output goes to `log`, with this descriptor as its guest's terminal; the caller must close the guard."""
    control_read, control_write = os.pipe()
    report_read, report_write = os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, control_read, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.fspath(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, report_write, _REPORT_FD),
    ]
    if terminal is not None:
        # A number that none of the above has, so that nothing is overwritten.
        high = fcntl.fcntl(terminal, fcntl.F_DUPFD_CLOEXEC, 64)
        actions.append((os.POSIX_SPAWN_DUP2, high, _TERMINAL_FD))
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
        if terminal is not None:
            os.close(high)
    return Guard(pid, control_write, report_read, log.parent.resolve())


def ask_program(argv: Sequence[str], attempting: str) -> str:
    """The standard output of a program; BackendError if it fails or takes too long."""
    try:
        answer = subprocess.run(
            list(argv), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_ANSWER_S
        )
    except OSError as error:
        raise BackendError(attempting, argv[0], error.strerror or str(error)) from error
    except subprocess.TimeoutExpired:
        raise BackendError(attempting, argv[0], f"no answer within {_ANSWER_S} s") from None
    if answer.returncode != 0:
        raise BackendError(attempting, argv[0], _last_line(printable(answer.stderr), answer.returncode))
    return answer.stdout.decode(errors="replace")


def run_script(argv: Sequence[str], attempting: str, environment: Mapping[str, str] | None = None) -> str:
    """Run one of the project's scripts with its progress on standard error; its last line of output."""
    env = {**os.environ, **(environment or {})}
    try:
        child = subprocess.Popen(list(argv), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env, text=True)
    except OSError as error:
        raise BackendError(attempting, argv[0], error.strerror or str(error), "install the program") from error
    with child:
        try:
            output, _ = child.communicate()
        except BaseException:
            with contextlib.suppress(ProcessLookupError):
                os.kill(child.pid, signal.SIGTERM)
            raise
    lines = output.strip().splitlines()
    if child.returncode != 0:
        last = lines[-1] if lines else f"it ended with {child.returncode}"
        raise BackendError(attempting, Path(argv[0]).name, last, "its messages are above")
    for line in lines[:-1]:
        print(line, file=sys.stderr)
    return lines[-1] if lines else ""


@dataclass(frozen=True, slots=True)
class Answer:
    """The standard output of a program, or in one line why there is none; and its error output."""

    output: bytes | None
    problem: str = ""
    messages: str = ""


def run_untrusted(
    argv: Sequence[str],
    question: str,
    *,
    longest_s: float,
    most_bytes: int,
) -> Answer:
    """Run a program that may take too long or print too much, with `question` as its standard input.

    `confinement.py` limits memory and processor time. The output goes to files, so that at most `most_bytes` of it
    are in memory here.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        try:
            # Its own session, so that the processes that it starts end with it.
            with subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=messages,
                start_new_session=True,
            ) as child:
                late = not _communicate(child, question, longest_s)
        except OSError as error:
            return Answer(None, f"{argv[0]}: {error.strerror}")
        text = printable(_beginning(messages, most_bytes))
        if late:
            return Answer(None, f"it was not done after {longest_s:g} s", text)
        if any(file.seek(0, os.SEEK_END) >= most_bytes for file in (output, messages)):
            return Answer(None, f"it printed {most_bytes} bytes or more", text)
        if child.returncode != 0:
            return Answer(None, _last_line(text, child.returncode), text)
        return Answer(_beginning(output, most_bytes), "", text)


def _communicate(child: subprocess.Popen[bytes], question: str, longest_s: float) -> bool:
    """Whether the program ended in time; no process of it remains."""
    try:
        child.communicate(question.encode(), timeout=longest_s)
    except subprocess.TimeoutExpired:
        return False
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
    return True


def _beginning(file: IO[bytes], most_bytes: int) -> bytes:
    file.seek(0)
    return file.read(most_bytes)


def printable(output: bytes) -> str:
    """The output of an untrusted program as text that cannot control a terminal or a header."""
    text = output.decode(errors="replace")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


def _last_line(messages: str, code: int) -> str:
    """Why a program failed: its last message, or else how it ended."""
    last = messages.strip().splitlines()[-1:] or [_ending(code)]
    return last[0].strip()[:_LONGEST_LINE]


def _ending(code: int) -> str:
    # A shell and bubblewrap report a signal by a code above 128.
    number = -code if code < 0 else code - 128
    try:
        return f"it was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"it ended with {code}"


class Talk:
    """A running program with pipes to its standard input and output; they close when this is closed or this process ends."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        assert child.stdin is not None and child.stdout is not None
        self._to, self._from = child.stdin, child.stdout
        os.set_blocking(self._from.fileno(), False)
        os.set_blocking(self._to.fileno(), False)
        self._unsent = b""

    def fileno(self) -> int:
        """The descriptor to wait on for output."""
        return self._from.fileno()

    def say(self, words: bytes) -> None:
        """Send it bytes; what it does not take at once is sent the next time. BrokenPipeError if it is gone."""
        self._unsent += words
        while self._unsent:
            try:
                done = os.write(self._to.fileno(), self._unsent)
            except BlockingIOError:
                return
            self._unsent = self._unsent[done:]

    def hear(self) -> bytes | None:
        """Its output since the last time; None at its end."""
        try:
            return os.read(self._from.fileno(), 2**18) or None
        except BlockingIOError:
            return b""

    def close(self, patience_s: float = 5.0) -> int:
        """Close its standard input and wait this long for its end, then kill it; its exit code."""
        with contextlib.suppress(OSError):
            self._to.close()
        try:
            return self._child.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._child.kill()
            return self._child.wait()
        finally:
            self._from.close()


def start_talk(argv: Sequence[str], messages: Path) -> Talk:
    """Start a program to exchange messages with; its error output is appended to a file. It ends when this process ends."""
    words = [*_DIES_WITH_US, *argv]
    with messages.open("ab") as file:
        try:
            # Its own session: Ctrl-C at the terminal reaches this process alone, which then ends it in order.
            child = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, start_new_session=True, bufsize=0
            )
        except OSError as error:
            raise BackendError("starting", argv[0], error.strerror or str(error)) from error
    return Talk(child)


def start_companion(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """Start a process with the same standard error that ends when this one ends."""
    return subprocess.Popen([*_DIES_WITH_US, *argv], stdin=subprocess.DEVNULL, start_new_session=True)


def end_companion(child: subprocess.Popen[bytes], longest_s: float) -> bool:
    """Ask it to end, and kill it if that takes too long; whether it ended by itself."""
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(longest_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
    return True


def run_in_terminal(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program on this process's terminal, where Ctrl-C goes to the program; its exit code."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        return subprocess.run(
            list(argv),
            env=dict(environment),
            check=False,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ).returncode
    finally:
        signal.signal(signal.SIGINT, before)
