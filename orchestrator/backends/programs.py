"""Programs of the host in a guest: the document from which the agent starts them (agent/guest/program.c).

The program sees the host's files read-only and empty folders at /tmp and /run; its environment is fixed, so that its behaviour
depends only on its arguments and its files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Where a program finds the run directory.
SHARED = "/run/longhaul"

PYTHON = "/usr/bin/python3"

ENVIRONMENT = (
    "HOME=/tmp",
    "LANG=C.UTF-8",
    "PATH=/usr/sbin:/usr/bin:/sbin:/bin",
    "PYTHONDONTWRITEBYTECODE=1",
    "PYTHONHASHSEED=0",
    "PYTHONUNBUFFERED=1",
    "PYTHONWARNINGS=ignore",
    "SHELL=/bin/bash",
    "TERM=xterm",
    "USER=root",
)


@dataclass(frozen=True, slots=True)
class Console:
    """The devices that a program reads and writes, and the kernel's arguments that make them."""

    input: str
    output: str
    errors: str
    arguments: tuple[str, ...]
    guarding: tuple[str, ...] = ()
    rows: int = 0
    columns: int = 0


# No input; all output goes to the log, with the messages of the agent and the kernel.
LOG = Console("/dev/null", "/dev/console", "/dev/console", ("con0=null,fd:1", "con=null"))
# Output and errors go to their own files, the kernel's messages to the log; there is no input, so no timing depends on it.
FILES = Console(
    "/dev/null",
    "/dev/tty0",
    "/dev/tty2",
    ("con0=null,fd:6", "con1=null,fd:1", "con2=null,fd:7", "con=null", "console=tty1"),
    ("--output",),
)


def terminal(rows: int, columns: int) -> Console:
    """The user's terminal, of this size."""
    return Console(
        "/dev/tty0",
        "/dev/tty0",
        "/dev/tty0",
        ("con0=fd:6,fd:6", "con1=null,fd:1", "con=null", "console=tty1"),
        ("--terminal",),
        rows,
        columns,
    )


def write_program(
    guest: Path,
    arguments: Sequence[str],
    console: Console,
    folder: str = SHARED,
    show: Sequence[str] = (),
    modules: Sequence[str] = (),
) -> None:
    """Make the guest whose root is `guest` run this program.

    `show` names folders that it must see even if they lie under /tmp or /run; `modules` are loaded before it starts.
    """
    (guest / "host").mkdir(exist_ok=True)
    document = program_document(arguments, console, folder, show, modules)
    (guest / "program.json").write_text(json.dumps(document))


def program_document(
    arguments: Sequence[str],
    console: Console,
    folder: str = SHARED,
    show: Sequence[str] = (),
    modules: Sequence[str] = (),
    environment: Sequence[str] = (),
) -> dict[str, Any]:
    """The document of a program, as the agent reads it."""
    return {
        "arguments": list(arguments),
        "environment": [*ENVIRONMENT, *environment],
        "folder": folder,
        "show": list(show),
        "modules": list(modules),
        "input": console.input,
        "output": console.output,
        "errors": console.errors,
        "rows": console.rows,
        "columns": console.columns,
    }


def read_exit_code(guest: Path) -> int | None:
    """The exit code of a program in the guest with this root; None if it has not ended."""
    try:
        code: int = json.loads((guest / "exit.json").read_text())["code"]
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    return code
