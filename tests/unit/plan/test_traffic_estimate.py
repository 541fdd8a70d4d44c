"""Estimates of time and memory: what a run is expected to send, and the pace of this machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import guest_estimate_s, memory_estimate_mb, wall_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.traffic_estimate import expected_traffic, loss_share
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.pace import note_run, pace


def _run(flow: dict[str, Any], duration: str = "20 s", **path: Any) -> Run:
    written = {
        "experiment": "estimate",
        "path": {"bandwidth": "100 Mbit/s", "rtt": "40 ms", "buffer": "1 BDP"} | path,
        "flows": [{"name": "app"} | flow],
        "duration": duration,
    }
    (run,) = compile_plan(parse_experiment(written, "estimate")).runs
    return run


def test_a_flow_without_losses_fills_the_path() -> None:
    packets = expected_traffic(_run({"cc": "cubic"})).tcp
    assert packets == pytest.approx(20 * 100e6 / 8 / 1514, rel=0.15)


def test_a_window_and_a_size_bound_what_is_sent() -> None:
    assert expected_traffic(_run({"cc": "reno", "window": "10 packets"})).tcp == pytest.approx(10 * 20 / 0.04, rel=0.05)
    assert expected_traffic(_run({"cc": "reno", "size": "1 MB"})).tcp == pytest.approx(1e6 / 1448, rel=0.05)


def test_bursts_lose_what_both_states_lose() -> None:
    """With p 1 % and r 9 % a tenth of all packets meets the bad state."""
    run = _run({"cc": "cubic"}, burst={"p": "1 %", "r": "9 %", "bad": "80 %", "good": "1 %"})
    (link,) = next(end.qdiscs for end in run.ends if end.dev == run.links[0].dev)
    assert loss_share(link) == pytest.approx(0.1 * 0.8 + 0.9 * 0.01)


def test_losses_take_most_of_a_loss_based_flow_and_little_of_bbr() -> None:
    lossy = {cc: expected_traffic(_run({"cc": cc}, loss="2 %")).tcp for cc in ("reno", "bbr")}
    assert lossy["reno"] < 0.1 * lossy["bbr"]


def test_nothing_arrives_during_a_blackout() -> None:
    assert expected_traffic(_run({"cc": "cubic"}, loss="100 %")).tcp < 100


def test_memory_grows_with_what_is_on_the_path() -> None:
    small, large = _run({"cc": "bbr"}), _run({"cc": "bbr"}, bandwidth="1 Gbit/s", rtt="300 ms")
    assert memory_estimate_mb(small) + 30 < memory_estimate_mb(large) < large.memory_mb


def test_runs_that_take_twice_as_long_double_the_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    run = _run({"cc": "cubic"})
    before_s = wall_estimate_s(run)
    assert pace() == 1.0
    note_run(0.001, 0.01)
    assert pace() == 1.0, "a run that is too short tells nothing"
    for _ in range(60):
        note_run(guest_estimate_s(run), 2 * guest_estimate_s(run))
    assert pace() == pytest.approx(2, rel=0.06)
    assert wall_estimate_s(run) == pytest.approx(2 * before_s, rel=0.06)


def test_a_broken_file_is_the_usual_pace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LONGHAUL_CACHE", str(tmp_path))
    (tmp_path / "pace.json").write_text('{"pace": "fast"}')
    assert pace() == 1.0
