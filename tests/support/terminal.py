"""`longhaul` in a terminal: a pseudo-terminal of 100 columns and 40 lines, where standard error goes, and all that is drawn there."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
import threading
from pathlib import Path

from longhaul.orchestrator.system.settings import load_settings

# Long enough to be seen while it runs: charts are drawn five times a second.
_WATCHED = """\
experiment: seen
path: {bandwidth: 400 Mbit/s, rtt: 20 ms}
flows: [{name: app, cc: cubic}]
duration: 60 s
"""
_CLOCK = re.compile(r"([0-9.]+) s virtual, [0-9.]+ s wall")


def write_watched(folder: Path) -> Path:
    """A file with an experiment to watch."""
    written = folder / "seen.yaml"
    written.write_text(_WATCHED)
    return written


def run_in_terminal(*words: str, home: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output, and all that was drawn on the terminal."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (40, 100))
    drawn: list[bytes] = []

    def read() -> None:
        try:
            while some := os.read(ours, 65536):
                drawn.append(some)
        except OSError:
            # Linux reports the end of a terminal as an error.
            return

    reader = threading.Thread(target=read)
    reader.start()
    with subprocess.Popen(
        [sys.executable, "-m", "longhaul.cli.main", *words],
        env={
            **os.environ, "LONGHAUL_HOME": str(home), "LONGHAUL_CACHE": str(load_settings().cache), "TERM": "xterm", **environment
        },
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs, text=True,
    ) as command:  # fmt: skip
        os.close(theirs)
        output, _ = command.communicate()
    reader.join()
    os.close(ours)
    return command.returncode, output, b"".join(drawn).decode()


def watched_times(drawn: str) -> list[float]:
    """The virtual times of the frames with the charts of `write_watched`."""
    frames = drawn.split("Congestion window, packets")[1:]
    assert all("Goodput, Mbit/s" in frame and "a app" in frame for frame in frames)
    return [float(clock[1]) for frame in frames if (clock := _CLOCK.search(frame))]
