"""Whether a guest that makes no progress is stuck, or only waits for a processor of a busy machine.

it computes              its own processor time counts, however long that takes in real time
it sleeps                real time counts while none of its processes waits for a processor or a disk
it waits for them        no time counts: other programs of the machine have them

For a script, the guest's module lh_clock writes each second of virtual time to the trace, and on a signal the program that runs. A program that
only computes looks like one that waits in a loop without end, so both have a limit of processor time; programs that take turns, as a
script's shells while a large net is built, have a longer one.
"""

from __future__ import annotations

import signal
import time
from pathlib import Path

from longhaul.orchestrator.system.errors import RunTimedOut
from longhaul.orchestrator.system.guard import Effort, Guard
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# No check is later than this, unless this process was delayed too: then the guest's state in between is unknown.
_LONGEST_INTERVAL_S = 1.0
_CHECK_EVERY_S = 0.5
# A program that does not sleep between so many questions keeps all others from running.
_QUESTIONS, _ANSWER_S = 5, 0.2
# So many limits in a row end a script whose programs take turns.
_LIMITS_OF_MANY = 10


class Stall:
    """The counted time since the last progress; at most `limit_s`, with `set_up_s` more before the first."""

    def __init__(self, limit_s: float, set_up_s: float, now_s: float) -> None:
        self._limit_s = limit_s
        self._more_s = set_up_s
        self._idle_s = 0.0
        self._cpu_s: float | None = None
        self._checked_s = now_s

    def progress(self, now_s: float) -> None:
        """The guest made progress."""
        self._more_s, self._idle_s, self._cpu_s, self._checked_s = 0.0, 0.0, None, now_s

    def check(self, effort: Effort | None, now_s: float) -> str | None:
        """It made no progress: the time in which it is stuck, or None. Without a known processor time, all real time counts."""
        passed_s, self._checked_s = min(now_s - self._checked_s, _LONGEST_INTERVAL_S), now_s
        if effort is None or not effort.runnable:
            self._idle_s += passed_s
        most_s = self._limit_s + self._more_s
        if effort is not None:
            self._cpu_s = effort.cpu_s if self._cpu_s is None else self._cpu_s
            if effort.cpu_s - self._cpu_s > most_s:
                return f"{most_s:g} s of its own processor time"
        if self._idle_s > most_s:
            return f"{most_s:g} s of wall time" + (" in which it had nothing to compute" if effort is not None else "")
        return None


@dataclass(frozen=True, slots=True)
class Program:
    """A program that runs in the guest; `host` is "-" for one outside of Mininet's hosts."""

    pid: int
    host: str
    sleeps: int
    name: str

    def __str__(self) -> str:
        return self.name if self.host == "-" else f"{self.name} on {self.host}"


class ScriptProgress:
    """Watches the lines that lh_clock writes to `trace`."""

    def __init__(self, script: str, trace: Path, guard: Guard, limit_s: float) -> None:
        self._script = script
        self._trace = trace
        self._guard = guard
        self._limit_s = limit_s
        self._read = 0
        self._program: Program | None = None
        self._virtual_s = 0
        self._limits = 0
        self._checked_s = time.monotonic()
        self._stall = Stall(limit_s, 0.0, self._checked_s)

    def check(self, *, printed: bool) -> None:
        """RunTimedOut if no virtual time has passed for too long; output counts as progress."""
        now_s = time.monotonic()
        if printed:
            self._note_progress(now_s)
        if now_s - self._checked_s < _CHECK_EVERY_S:
            return
        self._checked_s = now_s
        before = self._virtual_s
        self._read_lines()
        if self._virtual_s > before:
            self._note_progress(now_s)
        elif stuck := self._stall.check(self._guard.effort(), now_s):
            self._end_if_alone(stuck)

    def _note_progress(self, now_s: float) -> None:
        self._stall.progress(now_s)
        self._limits = 0

    def _end_if_alone(self, stuck: str) -> None:
        self._limits += 1
        answers = {self._ask() for _ in range(_QUESTIONS)}
        if len(answers) > 1 and self._limits < _LIMITS_OF_MANY:
            self._stall.progress(time.monotonic())
            return
        program = self._program or "a program"
        raise RunTimedOut(
            "running",
            self._script,
            f"{program} made no virtual time pass in {stuck}, at {self._virtual_s} s",
            "let it sleep where it waits in a loop, or raise LONGHAUL_STALL_LIMIT_S if it computes for that long",
        )

    def _ask(self) -> Program | None:
        self._program = None
        self._guard.send(signal.SIGALRM)
        time.sleep(_ANSWER_S)
        self._read_lines()
        return self._program

    def _read_lines(self) -> None:
        if not self._trace.exists():
            return
        with self._trace.open("rb") as file:
            file.seek(self._read)
            text = file.read()
        whole = text.rpartition(b"\n")[0]
        self._read += len(whole) + 1 if whole else 0
        for line in whole.decode(errors="replace").splitlines():
            kind, _, rest = line.partition(" ")
            if kind == "time":
                self._virtual_s = int(rest)
            elif kind == "runs":
                pid, host, sleeps, name = rest.split(" ", 3)
                self._program = Program(int(pid), host, int(sleeps), name)
