"""A Mininet prompt on a live net in a guest.

It has its own pseudo-terminal; the user's terminal is put into raw mode and always restored.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import sys
import termios
import tty
from collections.abc import Iterator, Sequence
from pathlib import Path

from longhaul.orchestrator.backends.cpus import claim_cpu
from longhaul.orchestrator.backends.guest import Guests
from longhaul.orchestrator.backends.guest_root import make_root, place
from longhaul.orchestrator.backends.guest_watch import check_status, read_status
from longhaul.orchestrator.backends.mininet import NET
from longhaul.orchestrator.backends.programs import PYTHON, SHARED, terminal, write_program
from longhaul.orchestrator.backends.scripts.run_script import exit_code
from longhaul.orchestrator.plan.kernel_names import in_kernel_names
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.guard import Guard, GuardReport
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import Settings

# What opens the prompt in a guest.
PROMPT = NET.with_name("mininet_prompt.py")
_LOOK_EVERY_S = 0.05
_PROMPT = b"mininet> "
_END_OF_INPUT = b"\x04"
# A prompt may stay open for as long as the user likes.
_YEAR_S = 31_536_000
_COLUMNS_AND_ROWS = (80, 24)


def open_prompt(settings: Settings, run: Run, directory: Path) -> int:
    """The mininet> prompt on this run's net in a guest; the exit code of Mininet."""
    (directory / "run.json").write_text(json.dumps(in_kernel_names(run).as_json()))
    guests = Guests(settings, "mininet")
    guest = make_root(directory)
    guests.furnish_modules(run, guest)
    for source, name in (
        (directory / "run.json", "run.json"),
        (AGENT, "agent"),
        (NET, NET.name),
        (PROMPT, PROMPT.name),
    ):
        place(source, guest / name)
    columns, rows = shutil.get_terminal_size(_COLUMNS_AND_ROWS)
    console = terminal(rows, columns)
    write_program(guest, [PYTHON, f"{SHARED}/{PROMPT.name}", "live", SHARED, "guest"], console)
    ours, theirs = os.openpty()
    tty.setraw(theirs)
    try:
        with claim_cpu() as cpu:
            guard = guests.start(
                directory,
                cpu,
                run,
                consoles=console.arguments,
                guarding=console.guarding,
                wall_s=_YEAR_S,
                terminal=theirs,
            )
            try:
                with raw_terminal():
                    report = _relay_prompt(guard, ours)
            finally:
                guard.close()
    finally:
        os.close(ours)
        os.close(theirs)
    if (status := read_status(directory / "guest")) is not None:
        check_status(status)
    return exit_code(run.experiment, directory, report)


def _relay_prompt(guard: Guard, terminal_fd: int) -> GuardReport:
    # Input that no terminal provides is sent a line at each prompt: Mininet gives typed-ahead input to the running command.
    lines = [] if sys.stdin.isatty() else [*sys.stdin.buffer.readlines(), _END_OF_INPUT]
    return relay_terminal(guard, terminal_fd, lines, _PROMPT)


def relay_terminal(guard: Guard, terminal_fd: int, lines: Sequence[bytes] = (), prompt: bytes = b"") -> GuardReport:
    """Copy between this process's standard input and output and the guest's terminal, until the guest has ended; `lines` go to it one a prompt."""
    keyboard = [sys.stdin.fileno()] if sys.stdin.isatty() else []
    waiting, shown = list(lines), b""
    report = None
    while report is None:
        ready, _, _ = select.select([terminal_fd, *keyboard], [], [], _LOOK_EVERY_S)
        if terminal_fd in ready:
            text = _show(terminal_fd)
            shown = (shown + text)[-len(prompt) :] if waiting else b""
        if keyboard and keyboard[0] in ready:
            os.write(terminal_fd, os.read(keyboard[0], 4096))
        if waiting and shown == prompt:
            os.write(terminal_fd, waiting.pop(0))
            shown = b""
        report = guard.wait(0)
    while select.select([terminal_fd], [], [], 0)[0]:
        _show(terminal_fd)
    return report


def _show(terminal_fd: int) -> bytes:
    text = os.read(terminal_fd, 65536)
    sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()
    return text


@contextlib.contextmanager
def raw_terminal() -> Iterator[None]:
    """The user's terminal passes every key on; afterwards it is as it was."""
    if not sys.stdin.isatty():
        yield
        return
    before = termios.tcgetattr(sys.stdin)
    try:
        tty.setraw(sys.stdin)
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
