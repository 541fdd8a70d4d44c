"""`longhaul run --watch`: charts while a run is running, and the usual result after it."""

from __future__ import annotations

from pathlib import Path

from tests.support.command import longhaul
from tests.support.terminal import run_watched


def test_charts_grow_while_the_run_is_running(tmp_path: Path) -> None:
    times = run_watched(tmp_path)
    assert len(times) >= 2
    assert times == sorted(times)
    assert 0 < times[0] < times[-1] <= 60


def test_without_a_terminal_it_is_refused_before_anything_runs(tmp_path: Path) -> None:
    done = longhaul("run", "demo", "--watch", home=tmp_path / "home")
    assert done.returncode == 2
    assert "watching demo: standard error is not a terminal; leave out --watch" in done.stderr
    assert not list((tmp_path / "home").glob("runs/*"))
