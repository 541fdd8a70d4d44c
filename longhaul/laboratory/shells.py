"""A run that stands at a moment of its virtual time, to look at with any program: `longhaul shell` as a Python object."""

from __future__ import annotations

import os
import re
import select
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.laboratory.experiments import Changes, ExperimentLike, load
from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.backends.shell.guest_shell import OpenShell, ShellRequest, check_shell, opened_shell
from longhaul.orchestrator.execution.packets import check_programs
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.units import parse_duration

if TYPE_CHECKING:
    from longhaul.orchestrator.backends.base import Cost
    from longhaul.orchestrator.plan.run_document import RunDocument

_BEGIN, _END = b"\x1e", b"\x1f"
# A line of a terminal is shorter.
_LONGEST_LINE = 4000
_LOOK_EVERY_S = 0.2
_NS_PER_US = 1000
_RUN_ID = re.compile(r"[0-9a-f]{6,20}")


@dataclass(frozen=True, slots=True)
class Looked:
    """The answer to a command in a shell: its output and exit code, the time after it in seconds, and what it did to the run.

    `passed_s` is the virtual time that the command let pass, `sent_packets` counts the packets that it sent itself: with one, the run is
    another one from there on. `moment` names what `until` came to.
    """

    output: str
    code: int
    at_s: float
    passed_s: float
    sent_packets: int
    moment: str


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that was looked at, at its end: its document, which is not kept, and the hash of the kept run's trace, if it is kept."""

    document: RunDocument
    kept_trace_sha256: str | None

    @property
    def undisturbed(self) -> bool | None:
        """Whether its trace is that of the kept run, to the byte; None if that is not kept."""
        if self.kept_trace_sha256 is None:
            return None
        return self.document["trace_sha256"] == self.kept_trace_sha256


@dataclass(frozen=True, slots=True)
class ShellSession:
    """The run that a shell looks at, its id, and the guest."""

    run: Run
    key: str
    opened: OpenShell
    store: Store

    def finished(self, cost: Cost) -> Finished:
        """The measured run, after its guest came to its end."""
        from longhaul.orchestrator.execution.evaluation import judge

        document, _ = judge(self.run, self.key, self.opened.directory, cost)
        kept = self.store.find(self.key)
        return Finished(document, None if kept is None else kept["trace_sha256"])


class Shell:
    """A guest of a run whose clock stands between two calls."""

    def __init__(self, session: ShellSession) -> None:
        self._session = session
        self._passed_ns = self._sent = 0
        self._over = False
        self._last = self._await_answer()

    @property
    def at_s(self) -> float:
        """The virtual time, in seconds since the start of the run."""
        return self._last.at_s

    @property
    def hosts(self) -> list[str]:
        """The hosts and switches of the run."""
        return [node.name for node in self._session.run.nodes]

    def run(self, command: str, host: str | None = None) -> Looked:
        """Run a command of bash, on this host if it is not the shell's own; a program that waits lets the clock run."""
        return self._ask(command if host is None else f"on {shlex.quote(host)} bash -c {shlex.quote(command)}")

    def step(self, time: str) -> Looked:
        """Let a time go by, as in "100 ms"."""
        return self._move(f"step {shlex.quote(time)}")

    def until(self, condition: str) -> Looked:
        """Let the clock continue until an instant ("12 s"), "drop", "cwnd<10", "end" and so on (docs/shell.md)."""
        return self._move(f"until {shlex.quote(condition)}")

    def finish(self) -> Finished:
        """Leave the shell, let the run continue to its end, and measure it."""
        opened = self._session.opened
        self._send("finish")
        self._over = True
        while (report := opened.guard.wait(_LOOK_EVERY_S)) is None:
            pass
        cost = opened.end(report)
        assert cost is not None, "a finished run has a status"
        return self._session.finished(cost)

    def _move(self, line: str) -> Looked:
        looked = self._ask(line)
        if looked.code:
            what = looked.output.strip().removeprefix("longhaul: ")
            raise PlanError("moving the clock of", self._session.run.experiment, what)
        return looked

    def _ask(self, line: str) -> Looked:
        self._send(line)
        self._last = self._await_answer()
        return self._last

    def _send(self, line: str) -> None:
        if self._over:
            raise BackendError("looking at", self._session.run.experiment, "the shell is closed", "open it again")
        encoded = line.encode()
        longest = max(len(part) for part in encoded.split(b"\n"))
        if longest > _LONGEST_LINE or any(byte < 32 and byte not in b"\n\t" for byte in encoded):
            what = f"a line of {longest} bytes, or one with control characters, does not pass through a terminal"
            raise PlanError("running", line[:60], what, "put the command into a file")
        os.write(self._session.opened.terminal_fd, encoded + b"\n")

    def _await_answer(self) -> Looked:
        opened, text = self._session.opened, b""
        while _END not in text:
            ready, _, _ = select.select([opened.terminal_fd], [], [], _LOOK_EVERY_S)
            if ready:
                text += os.read(opened.terminal_fd, 65536)
            elif (report := opened.guard.wait(0)) is not None:
                self._over = True
                opened.end(report)
                what = "the run came to its end while a command let the clock run, or the command left the shell"
                raise BackendError("looking at", self._session.run.experiment, what, "open the shell again")
        output, _, answer = text[: text.index(_END)].rpartition(_BEGIN)
        return self._read_answer(output.decode(errors="replace"), answer.decode())

    def _read_answer(self, output: str, answer: str) -> Looked:
        code, now, _, passed, sent, *moment = answer.split(" ")
        passed_ns, packets = int(passed), int(sent)
        # A moment counts anew.
        before_ns, before = (self._passed_ns, self._sent) if passed_ns >= self._passed_ns else (0, 0)
        self._passed_ns, self._sent = passed_ns, packets
        passed_s = (passed_ns - before_ns) / 1e9
        return Looked(output, int(code), int(now) / 1e9, passed_s, packets - before, " ".join(moment).strip())


@contextmanager
def shell(
    subject: ExperimentLike,
    *,
    at: str = "0 s",
    until: str = "",
    host: str | None = None,
    set: Changes = (),
    seed: int | None = None,
) -> Iterator[Shell]:
    """Open a shell in a guest of an experiment's first run, or of a kept run by its id, at a moment of its virtual time.

    The run is not kept. `host` is the first sender by default; `until` waits for a condition after `at`.
    """
    with open_session(subject, at=at, host=host, set=set, seed=seed) as session:
        opened = Shell(session)
        if until:
            opened.until(until)
        yield opened


@contextmanager
def open_session(
    subject: ExperimentLike,
    *,
    at: str,
    host: str | None,
    set: Changes = (),
    seed: int | None = None,
    request: ShellRequest | None = None,
) -> Iterator[ShellSession]:
    """The guest of a shell; `request` has the rest of a terminal's."""
    settings = load_settings()
    store, backend = Store(settings), Sandbox(settings)
    run, key = _find_run(store, backend, subject, set, seed)
    try:
        at_ns = parse_duration(at) * _NS_PER_US
    except ValueError as error:
        raise PlanError("opening a shell at", at, str(error), "as in 12s") from None
    asked = replace(request or ShellRequest("", edited=False), host=host or run.flows[0].from_node, at_ns=at_ns)
    check_shell(settings, run, asked)
    with (
        Staging(settings.home) as staging,
        staging.directory("shell") as directory,
        opened_shell(backend.guests, run, directory, asked) as opened,
    ):
        yield ShellSession(run, key, opened, store)


def _find_run(
    store: Store, backend: Sandbox, subject: ExperimentLike, set: Changes, seed: int | None
) -> tuple[Run, str]:
    """The run and its id: a kept one, as it was planned, or the first of an experiment."""
    if isinstance(subject, str) and _RUN_ID.fullmatch(subject) and not Path(subject).exists():
        if set or seed is not None:
            raise PlanError("opening a shell in", subject, "a kept run cannot be changed", "give its experiment")
        key = store.get(subject)["run"]
        run = store.planned(key)
        if run.script is not None:
            what = "it is the run of a script, which has no plan to stop at"
            raise PlanError("opening a shell in", subject, what, "give an experiment")
        check_programs(run, key, backend)
        return run, key
    run = compile_plan(load(subject, set=set), seed=seed).runs[0]
    return run, run_id(run, backend.identity(run))
