"""`longhaul run --watch` in a terminal: charts while a run is running, here and on a service, and the usual result after it."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
import threading
from pathlib import Path

import pytest

from longhaul.orchestrator.system.settings import load_settings
from tests.support.command import longhaul
from tests.support.service import served

# Long enough to be seen while it runs: charts are drawn five times a second.
EXPERIMENT = """\
experiment: seen
path: {bandwidth: 400 Mbit/s, rtt: 20 ms}
flows: [{name: app, cc: cubic}]
duration: 60 s
"""
_CLOCK = re.compile(r"([0-9.]+) s virtual, [0-9.]+ s wall")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    written = tmp_path / "seen.yaml"
    written.write_text(EXPERIMENT)
    return written


def in_terminal(words: list[str], home: Path, **environment: str) -> tuple[int, str, str]:
    """Exit code, standard output, and all that was drawn on the terminal, where standard error goes."""
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


def of_growing_charts(drawn: str) -> list[float]:
    """The virtual times of the frames with charts."""
    frames = drawn.split("Congestion window, packets")[1:]
    assert all("Goodput, Mbit/s" in frame and "a app" in frame for frame in frames)
    return [float(clock[1]) for frame in frames if (clock := _CLOCK.search(frame))]


def test_charts_grow_while_the_run_is_running(file: Path, tmp_path: Path) -> None:
    code, output, drawn = in_terminal(["run", str(file), "--watch"], tmp_path / "home")
    assert code == 0, drawn
    times = of_growing_charts(drawn)
    assert len(times) >= 2
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] <= 60
    assert "fidelity: " in output and "Congestion window, packets" in output


def test_charts_of_a_run_on_a_service(file: Path, tmp_path: Path) -> None:
    with served(tmp_path / "service") as service:
        token = service.tokens["run"]
        words = ["run", str(file), "--watch", "--server", service.url]
        code, output, drawn = in_terminal(words, tmp_path / "home", LONGHAUL_TOKEN=token)
    assert code == 0, drawn
    times = of_growing_charts(drawn)
    assert len(times) >= 2
    assert 0 < times[0] < times[-1] <= 60
    assert "fidelity: " in output


def test_without_a_terminal_it_is_refused_before_anything_runs(file: Path, tmp_path: Path) -> None:
    done = longhaul("run", str(file), "--watch", home=tmp_path / "home")
    assert done.returncode == 2
    assert f"watching {file}: standard error is not a terminal; leave out --watch" in done.stderr
    assert not list((tmp_path / "home").glob("runs/*"))
