"""Starts processes that are no guests: the project's build scripts, programs that print an answer, a Mininet, a worker. guard.py starts guests."""

from __future__ import annotations

import contextlib
import ctypes
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# A program that prints its version is done by then, on the busiest machine.
_ANSWER_S = 30
# As of nice(1).
WORK_THAT_CAN_WAIT = 10
# Of a program's last line in an error.
_LONGEST_LINE = 300
_PR_SET_CHILD_SUBREAPER = 36
# Of mallopt(3): blocks up to the largest size that glibc allows lie in a heap, and freed memory at the end of one is not given back.
_M_MMAP_THRESHOLD, _LARGEST_BLOCK = -3, 32 * 2**20
_M_TRIM_THRESHOLD, _KEPT_BYTES = -1, 64 * 2**20
# Starts a program that ends with this process.
_DIES_WITH_US = ("setpriv", "--pdeathsig", "TERM")

# A program that ended: its code, output and messages.
Ended = subprocess.CompletedProcess[bytes]


def lower_priority(nice: int = WORK_THAT_CAN_WAIT) -> None:
    """Let guests and other threads come before this thread. Raising its priority again needs a privilege."""
    thread = threading.get_native_id()
    os.setpriority(os.PRIO_PROCESS, thread, max(nice, os.getpriority(os.PRIO_PROCESS, thread)))


def keep_freed_memory() -> None:
    """Keep some memory that this process frees: a reader of long series needs megabytes again at once, and Linux clears each page of new memory."""
    # Other C libraries than glibc have no such setting.
    with contextlib.suppress(AttributeError):
        set_option = ctypes.CDLL(None).mallopt
        set_option(_M_MMAP_THRESHOLD, _LARGEST_BLOCK)
        set_option(_M_TRIM_THRESHOLD, _KEPT_BYTES)


def run_program(
    argv: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    without: str = "",
    question: bytes = b"",
    folder: Path | None = None,
    longest_s: float | None = None,
) -> Ended:
    """Run a program to its end, with `question` as its standard input; OSError if there is none, TimeoutError after `longest_s`.

    It has this process's variables, but none that begins with `without`, and those of `environment`.
    """
    inherited = {name: value for name, value in os.environ.items() if not (without and name.startswith(without))}
    try:
        return subprocess.run(
            list(argv),
            input=question,
            capture_output=True,
            check=False,
            cwd=folder,
            env={**inherited, **(environment or {})},
            timeout=longest_s,
        )
    except subprocess.TimeoutExpired as error:
        raise TimeoutError(str(error)) from None


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


def run_watched(
    argv: Sequence[str], *, longest_s: float, most_bytes: int, look: Callable[[str], None], every_s: float = 0.5
) -> Answer:
    """Run an untrusted program that takes long; its output and messages are one text, of which the last `most_bytes` are kept.

    `look` gets that text at intervals, and ends the program by raising. However it ends, no process of it is left then, so that
    the caller may read what it wrote. For a process that starts no other program meanwhile.
    """
    with _adopting():
        return _watched(argv, longest_s, most_bytes, look, every_s)


def _watched(
    argv: Sequence[str], longest_s: float, most_bytes: int, look: Callable[[str], None], every_s: float
) -> Answer:
    try:
        child = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    except OSError as error:
        return Answer(None, f"{argv[0]}: {error.strerror}")
    assert child.stdout is not None
    until_s, last, is_open = time.monotonic() + longest_s, b"", True
    try:
        while (is_open or child.poll() is None) and time.monotonic() < until_s:
            if not is_open:
                # A program may close its output long before it ends.
                time.sleep(every_s)
            elif select.select([child.stdout], [], [], every_s)[0]:
                piece = os.read(child.stdout.fileno(), 2**16)
                is_open, last = bool(piece), (last + piece)[-most_bytes:]
            look(printable(last))
        code = child.poll()
    finally:
        _end_session(child)
    text = printable(last)
    if code is None:
        return Answer(None, f"it was not done after {longest_s:g} s", text)
    return Answer(last, "", text) if code == 0 else Answer(None, _last_line(text, code), text)


@contextlib.contextmanager
def streaming(argv: Sequence[str], question: IO[bytes]) -> Iterator[tuple[IO[bytes], Callable[[], str]]]:
    """The output of an untrusted program, with this file as its standard input, as it comes, and a function that waits for its end and returns in one line why it failed, or "".

    The program ends with the context.
    """
    with tempfile.TemporaryFile() as messages:
        child = subprocess.Popen(
            list(argv), stdin=question, stdout=subprocess.PIPE, stderr=messages, start_new_session=True
        )
        assert child.stdout is not None

        def ending() -> str:
            code = child.wait()
            return _last_line(printable(_beginning(messages, 2**16)), code) if code else ""

        try:
            yield child.stdout, ending
        finally:
            _end_session(child)


@contextlib.contextmanager
def _adopting() -> Iterator[None]:
    """Wait at the end for all new processes below this one.

    The first process of a confined program is killed when the one that started it ends, and both take a while to die, with
    all others of the program. They become children of this process, and its first process ends as the last.
    """
    set_option = ctypes.CDLL(None).prctl
    before = _children()
    set_option(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        while new := _children() - before:
            for pid in new:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        set_option(_PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)


def _children() -> set[int]:
    found = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            # After the name, which may have any character.
            _, parent = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()[:2]
            if int(parent) == os.getpid():
                found.add(int(folder.name))
    return found


def _end_session(child: subprocess.Popen[bytes]) -> None:
    """End a program with all that it started, and wait for it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()


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
