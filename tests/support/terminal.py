"""A command on a terminal of its own, as a person uses it."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
import termios
import time
from pathlib import Path

import pytest

from longhaul.orchestrator.system.settings import load_settings

_PATIENCE_S = 60
_LINES_AND_COLUMNS = (40, 100)

# Long enough to be seen while it runs: charts are drawn five times a second.
_WATCHED = """\
experiment: seen
path: {bandwidth: 400 Mbit/s, rtt: 20 ms}
flows: [{name: app, cc: cubic}]
duration: 60 s
"""
_CLOCK = re.compile(r"([0-9.]+) s virtual, [0-9.]+ s wall")


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, *words: str, cwd: Path, **environment: str) -> None:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        known = {
            **os.environ,
            "PATH": path,
            "TERM": "dumb",
            "HOME": str(cwd),
            "LONGHAUL_HOME": str(cwd / "home"),
            "LONGHAUL_CACHE": str(load_settings().cache),
        }
        self._process, self._fd = pty.fork()
        if self._process == 0:
            termios.tcsetwinsize(0, _LINES_AND_COLUMNS)
            os.chdir(cwd)
            os.execvpe(words[0], words, {**known, **environment})
        self.shown = ""

    def wait_for(self, text: str) -> str:
        """Everything shown since the last call, until the text appears."""
        begin = len(self.shown)
        deadline = time.monotonic() + _PATIENCE_S
        while text not in self.shown[begin:]:
            assert time.monotonic() < deadline, self.shown[begin:]
            if select.select([self._fd], [], [], 1)[0]:
                try:
                    self.shown += os.read(self._fd, 4096).decode(errors="replace").replace("\r\n", "\n")
                except OSError:
                    pytest.fail(f"it ended without {text!r}: {self.shown[-2000:]}")
        return self.shown[begin:]

    def type(self, text: str) -> None:
        os.write(self._fd, text.encode())

    def end(self) -> int:
        """The exit code, after the rest of the output."""
        deadline = time.monotonic() + _PATIENCE_S
        while time.monotonic() < deadline:
            if select.select([self._fd], [], [], 1)[0]:
                try:
                    self.shown += os.read(self._fd, 4096).decode(errors="replace").replace("\r\n", "\n")
                except OSError:
                    # The other end is closed.
                    break
        return self.stop(0)

    def stop(self, how: int = signal.SIGKILL) -> int:
        """The exit code, after this signal."""
        os.kill(self._process, how)
        code = os.waitstatus_to_exitcode(os.waitpid(self._process, 0)[1])
        os.close(self._fd)
        return code


def run_watched(folder: Path, *more: str, **environment: str) -> list[float]:
    """The virtual times of the charts that `longhaul run --watch` draws, until it has printed its result."""
    (folder / "seen.yaml").write_text(_WATCHED)
    terminal = Terminal("longhaul", "run", "seen.yaml", "--watch", *more, cwd=folder, **{"TERM": "xterm"} | environment)
    assert terminal.end() == 0, terminal.shown
    charts, _, result = terminal.shown.rpartition("Congestion window, packets")
    assert "fidelity: " in result
    frames = charts.split("Congestion window, packets")[1:]
    assert all("a app" in frame for frame in frames)
    assert "Goodput, Mbit/s" in frames[-1] and "Queue, packets" in frames[-1]
    return [float(clock[1]) for frame in frames if (clock := _CLOCK.search(frame))]
