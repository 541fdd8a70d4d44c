"""`longhaul run --watch` in a terminal: charts while a run is running, and the usual result after it."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import longhaul
from tests.support.terminal import run_in_terminal, watched_times, write_watched


def test_charts_grow_while_the_run_is_running(tmp_path: Path) -> None:
    file = write_watched(tmp_path)
    code, output, drawn = run_in_terminal("run", str(file), "--watch", home=tmp_path / "home")
    assert code == 0, drawn
    times = watched_times(drawn)
    assert len(times) >= 2
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] <= 60
    assert "fidelity: " in output and "Congestion window, packets" in output


def test_without_a_terminal_it_is_refused_before_anything_runs(tmp_path: Path) -> None:
    file = write_watched(tmp_path)
    done = longhaul("run", str(file), "--watch", home=tmp_path / "home")
    assert done.returncode == 2
    assert f"watching {file}: standard error is not a terminal; leave out --watch" in done.stderr
    assert not list((tmp_path / "home").glob("runs/*"))
