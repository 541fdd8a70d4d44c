"""The only module that starts processes: the guest's guard, the project's own build scripts, programs that answer a question.

A guest never runs as a direct child. It runs under a guard (`longhaul-agent guard`), a small program that holds one end of
a pipe: when the other end closes, because a run was cancelled or because this process was killed, the guard kills the
guest. No guest outlives the person who asked for it, whatever way that person left.
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

# Where the guard writes its one line when the guest has ended.
_REPORT_FD = 3
# Where the guard finds a guest's terminal.
_TERMINAL_FD = 6
# A program that is only asked for its version has answered by then, on the busiest machine.
_ANSWER_S = 30
# Of a program's last words in an error.
_LONGEST_LINE = 300
# Of what /proc tells of a process, from its state on: its own time in user space and the kernel's, and those of children it waited for.
_CPU_TICKS = slice(11, 15)
# What goes before a program that is not to outlive this process.
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
    """What a guest has computed since it began, and whether any of its processes wants a processor now."""

    cpu_s: float
    runnable: bool


class Guard:
    """A running guest behind its guard. Closing it is what ends the guest."""

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
        """What the guest computes; None where this machine's kernel does not tell whose children are whose."""
        return effort_below(self.pid)

    def cancel(self) -> None:
        """Ask the guard to end the guest; it answers through `wait`."""
        if self._control >= 0:
            os.close(self._control)
            self._control = -1

    def close(self) -> None:
        """End the guest if it still runs, and let go of everything."""
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
            # The guard itself was killed; the guest dies with it (PR_SET_PDEATHSIG), but not a child it was just making.
            _kill_inside(self.directory)
            return GuardReport(None, _signal_of(status), "guard_killed", 0.0, 0.0, 0)
        said = json.loads(line)
        return GuardReport(
            exit_code=said["exit"],
            signal=said["signal"],
            reason=said["reason"],
            cpu_s=said["user_s"] + said["sys_s"],
            wall_s=said["wall_s"],
            max_rss_kb=said["max_rss_kb"],
        )


def effort_below(pid: int) -> Effort | None:
    """What all processes below this one have computed, themselves and those that they outlived, and whether one wants to."""
    ticks, runnable = 0, False
    try:
        waiting = _children(pid)
    except OSError:
        return None
    while waiting:
        process = waiting.pop()
        # One that ends just now is counted by its parent the next time.
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
    """What the system tells of a process, from its state on: its name before may hold anything."""
    return file.read_text().rpartition(")")[2].split()


def _kill_inside(directory: Path) -> None:
    """Kill every process that works in this run directory, until none is found: one may be making another."""
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
    """Start a guard whose output goes to `log`, with this descriptor as its guest's terminal; the caller must close what it gets."""
    control_read, control_write = os.pipe()
    report_read, report_write = os.pipe()
    actions = [
        (os.POSIX_SPAWN_DUP2, control_read, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.fspath(log), os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o644),
        (os.POSIX_SPAWN_DUP2, 1, 2),
        (os.POSIX_SPAWN_DUP2, report_write, _REPORT_FD),
    ]
    if terminal is not None:
        # From a number that none of the above has, so that nothing is overwritten.
        high = fcntl.fcntl(terminal, fcntl.F_DUPFD_CLOEXEC, 64)
        actions.append((os.POSIX_SPAWN_DUP2, high, _TERMINAL_FD))
    try:
        # A process group of its own: a Ctrl-C at the terminal reaches this process alone, which then cancels in order.
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
    """What a program says on its standard output; it must end well and soon."""
    try:
        answer = subprocess.run(
            list(argv), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_ANSWER_S
        )
    except OSError as error:
        raise BackendError(attempting, argv[0], error.strerror or str(error)) from error
    except subprocess.TimeoutExpired:
        raise BackendError(attempting, argv[0], f"no answer within {_ANSWER_S} s") from None
    if answer.returncode != 0:
        raise BackendError(attempting, argv[0], _last_words(printable(answer.stderr), answer.returncode))
    return answer.stdout.decode(errors="replace")


def run_script(argv: Sequence[str], attempting: str, environment: Mapping[str, str] | None = None) -> str:
    """Run one of the project's own scripts with its progress on standard error; its last line of output."""
    env = {**os.environ, **(environment or {})}
    try:
        child = subprocess.Popen(list(argv), stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, env=env, text=True)
    except OSError as error:
        raise BackendError(attempting, argv[0], error.strerror or str(error), "install what provides it") from error
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
    """What a program said on its standard output, or else in one line why there is no answer; and all it said on its error output."""

    output: bytes | None
    problem: str = ""
    messages: str = ""


def ask_stranger(
    argv: Sequence[str],
    question: str,
    *,
    longest_s: float,
    most_bytes: int,
) -> Answer:
    """Ask a program that may not be trusted with time, nor with how much it says; its standard input is the question.

    Memory and processor time are for the words before it (confinement.py). What it prints goes to files, so that no
    more of it than `most_bytes` is ever held here.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        try:
            # A session of its own, so that what it starts ends with it.
            with subprocess.Popen(
                list(argv),
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=messages,
                start_new_session=True,
            ) as child:
                late = not _ask(child, question, longest_s)
        except OSError as error:
            return Answer(None, f"{argv[0]}: {error.strerror}")
        said = printable(_beginning(messages, most_bytes))
        if late:
            return Answer(None, f"it was not done after {longest_s:g} s", said)
        if any(file.seek(0, os.SEEK_END) >= most_bytes for file in (output, messages)):
            return Answer(None, f"it printed {most_bytes} bytes or more", said)
        if child.returncode != 0:
            return Answer(None, _last_words(said, child.returncode), said)
        return Answer(_beginning(output, most_bytes), "", said)


def _ask(child: subprocess.Popen[bytes], question: str, longest_s: float) -> bool:
    """Whether the program ended in time; nothing of it goes on."""
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


def printable(said: bytes) -> str:
    """What a stranger said as text that cannot steer a terminal or a header."""
    text = said.decode(errors="replace")
    return "".join(letter if letter.isprintable() or letter in "\n\t" else "?" for letter in text)


def _last_words(said: str, code: int) -> str:
    """Why a program failed: the last line that it said, or else how it ended."""
    last = said.strip().splitlines()[-1:] or [_ending(code)]
    return last[0].strip()[:_LONGEST_LINE]


def _ending(code: int) -> str:
    # A shell and bubblewrap tell a signal by a code above 128.
    number = -code if code < 0 else code - 128
    try:
        return f"it was ended by {signal.Signals(number).name}"
    except ValueError:
        return f"it ended with {code}"


class Talk:
    """A program that is spoken to and answers, for as long as it is held: when this is closed, or this process dies, it hears the end."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        assert child.stdin is not None and child.stdout is not None
        self._to, self._from = child.stdin, child.stdout
        os.set_blocking(self._from.fileno(), False)
        os.set_blocking(self._to.fileno(), False)
        self._unsaid = b""

    def fileno(self) -> int:
        """What to wait on for its answers."""
        return self._from.fileno()

    def say(self, words: bytes) -> None:
        """Tell it something; what it does not take at once waits for the next time. BrokenPipeError where it is gone."""
        self._unsaid += words
        while self._unsaid:
            try:
                done = os.write(self._to.fileno(), self._unsaid)
            except BlockingIOError:
                return
            self._unsaid = self._unsaid[done:]

    def hear(self) -> bytes | None:
        """What has come since the last time; None at its end."""
        try:
            return os.read(self._from.fileno(), 2**18) or None
        except BlockingIOError:
            return b""

    def close(self, patience_s: float = 5.0) -> int:
        """Let it hear the end, and wait so long for it to go; its exit code."""
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
    """Start a program to talk to; its error output is added to a file. It ends when this process does, whatever way that is."""
    words = [*_DIES_WITH_US, *argv]
    with messages.open("ab") as file:
        try:
            # Its own session: a Ctrl-C at the terminal reaches this process alone, which then ends it in order.
            child = subprocess.Popen(
                words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, start_new_session=True, bufsize=0
            )
        except OSError as error:
            raise BackendError("starting", argv[0], error.strerror or str(error)) from error
    return Talk(child)


def start_companion(argv: Sequence[str]) -> subprocess.Popen[bytes]:
    """A process that works beside this one on the same standard error, and ends when this one does, whatever way that is."""
    return subprocess.Popen([*_DIES_WITH_US, *argv], stdin=subprocess.DEVNULL, start_new_session=True)


def end_companion(child: subprocess.Popen[bytes], longest_s: float) -> bool:
    """Ask it to end, and kill it where that takes too long; whether it ended by itself."""
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(longest_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
        return False
    return True


def run_in_terminal(argv: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run a program on this process's terminal, whose Ctrl-C is the program's own; its exit code."""
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
