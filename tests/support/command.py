"""`longhaul` as a separate process with a separate home: started anew, or forked from one that has imported what verbs need.

    this process -- arguments, folder, environment, four files --> the warm one -- fork --> a waiting one -- fork --> the command
                 <------------------- output, messages, exit code ----------------------------'------------------------'

A forked command equals `python -m longhaul.cli.main`, without the start of Python and the imports, which take longer than most
verbs. Tests of the start itself, and tests that compare two processes of Python, start theirs anew.

A shell gets the same by `warm_shell()`: a program `longhaul` that sends its arguments and its standard files to the warm process.
"""

from __future__ import annotations

import functools
import gc
import importlib
import io
import json
import os
import runpy
import shlex
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.folders import REPOSITORY
from tests.support.programs import run_program

_COMMAND = "longhaul.cli.main"
# Modules that verbs import when they are called, and modules that those import when they are used.
_NEEDED = (
    *("alembic.command", "alembic.runtime.migration", "sqlalchemy.dialects.sqlite"),
    *("longhaul.orchestrator.backends.sandbox", "longhaul.cli.machine.capabilities", "longhaul.cli.runs.list", "longhaul.laboratory.kept_runs"),
    *("longhaul.cli.experiments.compare", "longhaul.orchestrator.execution.pipeline", "longhaul.cli.experiments.remote", "longhaul.laboratory.reproductions", "longhaul.orchestrator.database.catalog"),
    *("longhaul.orchestrator.analysis.expect", "longhaul.orchestrator.analysis.fidelity.checks", "longhaul.orchestrator.analysis.aggregate"),
    *("longhaul.orchestrator.execution.evaluation", "longhaul.orchestrator.analysis.report.chart", "longhaul.cli.terminal.bars"),
    *("longhaul.orchestrator.results.traces", "longhaul.laboratory.searches", "longhaul.orchestrator.spec.trial", "longhaul.laboratory.experiments"),
)  # fmt: skip
_AT_THE_END = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv[0] = "longhaul"
from longhaul.__main__ import main
main()
"""
_MOST_BYTES = 128 * 1024
# It imports nothing that it does not need: its start is all that a shell waits for.
_PROGRAM = """
import json, os, socket, sys

reading, code = os.pipe()
warm = socket.socket(fileno=int(os.environ.pop("WARM_SOCKET")))
request = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)])
socket.send_fds(warm, [request.encode()], [0, 1, 2, code])
os.close(code)
sys.exit(int(os.read(reading, 9)))
"""


def longhaul(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished command, forked; the caller checks its exit code."""
    request = json.dumps([words, os.getcwd(), _environment(home, environment)])
    readings, writings = zip(*(os.pipe() for _ in range(3)), strict=True)
    _, warm = _warm()
    with open(os.devnull) as nothing:
        socket.send_fds(warm, [request.encode()], [nothing.fileno(), *writings])
    for end in writings:
        os.close(end)
    with ThreadPoolExecutor(len(readings)) as readers:
        output, messages, code = readers.map(_read, readings)
    return subprocess.CompletedProcess(words, int(code), output, messages)


def longhaul_anew(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished command, run by a new Python process."""
    return run_program([sys.executable, "-m", _COMMAND, *words], env=_environment(home, environment))


def loaded_by(*words: str, home: Path | None = None) -> set[str]:
    """The modules that a new process has loaded when this command ends, which must succeed."""
    environment = _environment(home, {}) if home else None
    done = run_program([sys.executable, "-c", _AT_THE_END, *words], env=environment, check=True)
    return set(done.stderr.splitlines()[-1].split())


def warm_shell(folder: Path) -> tuple[dict[str, str], int]:
    """For a shell whose `longhaul` is forked: variables that name a folder with that program and the socket, which the shell inherits."""
    program = folder / "longhaul"
    if not program.exists():
        folder.mkdir(exist_ok=True)
        program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -ISc {shlex.quote(_PROGRAM)} "$@"\n')
        program.chmod(0o755)
    _, warm = _warm()
    return {
        "PATH": f"{folder}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "WARM_SOCKET": str(warm.fileno()),
    }, warm.fileno()


def _environment(home: Path, more: dict[str, str]) -> dict[str, str]:
    return {**os.environ, "LONGHAUL_HOME": str(home), **more}


def _read(end: int) -> str:
    with open(end) as file:
        return file.read()


@functools.cache
def _warm() -> tuple[subprocess.Popen[bytes], socket.socket]:
    """The process that is forked, which ends when this one does, and the socket to it."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        words = [sys.executable, "-m", "tests.support.command"]
        return subprocess.Popen(words, cwd=REPOSITORY, stdin=theirs.fileno(), stdout=subprocess.DEVNULL), ours


def _serve(asking: socket.socket) -> None:
    """Fork for each requested command. Only the command itself returns from here."""
    for name in _NEEDED:
        importlib.import_module(name)
    gc.freeze()
    # The kernel reaps the processes that wait for a command.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    ends: list[int] = []
    while not ends or os.fork():
        for end in ends:
            os.close(end)
        request, ends, _, _ = socket.recv_fds(asking, _MOST_BYTES, 4)
        if not request:
            sys.exit()
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    words, folder, environment = json.loads(request)
    code = ends.pop()
    if command := os.fork():
        for end in ends:
            os.close(end)
        _, status = os.waitpid(command, 0)
        os.write(code, str(os.waitstatus_to_exitcode(status)).encode())
        os._exit(0)
    for place, end in enumerate(ends):
        os.dup2(end, place)
    for end in (*ends, code):
        os.close(end)
    # Python made its standard output at the start, for another file.
    sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), line_buffering=False)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv[1:] = words


if __name__ == "__main__":
    _serve(socket.socket(fileno=0))
    runpy.run_module(_COMMAND, run_name="__main__", alter_sys=True)
