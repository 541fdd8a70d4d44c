"""A user without rights on this machine can use Mininet in a guest; all missing programs are reported at once."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.backends import guest, mininet, mininet_host
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings, load_settings
from tests.guest.conftest import kernel_caches
from tests.guest.physics.test_determinism import UNPRIVILEGED, as_another_user, unprivileged_place
from tests.mininet.conftest import Carry
from tests.support.guests import experiment

__all__ = ["kernel_caches", "unprivileged_place"]


def test_another_user_gets_the_same_trace(carry: Carry, unprivileged_place: Path) -> None:
    (mine,) = carry({"backend": "mininet", "where": "guest"}, duration="2 s")
    shutil.copy(mininet.NET, unprivileged_place / mininet.NET.name)
    os.chown(unprivileged_place / mininet.NET.name, UNPRIVILEGED, UNPRIVILEGED)
    plan = compile_plan(experiment(duration="2 s"), backend="mininet", where="guest")
    as_another_user(_run_unprivileged, plan, unprivileged_place)
    report = json.loads((unprivileged_place / "report.json").read_text())
    assert report["traces"] == [mine["trace_sha256"]]
    assert "root" in report["missing"], "the backend needs root on a host"


def _run_unprivileged(plan: Plan, place: Path) -> None:
    for module in (guest, mininet, mininet_host):
        vars(module)["AGENT"] = place / "agent"
    mininet.NET = place / mininet.NET.name
    settings = replace(load_settings(), home=place / "home", cache=place / "cache")
    backend = mininet.MininetBackend(settings)
    documents = Pipeline(backend, Store(settings)).execute(plan)
    on_host = compile_plan(experiment(), backend="mininet", where="host").runs[0]
    report = {
        "traces": [one.get("trace_sha256") for one in documents],
        "missing": [piece for piece, _ in backend.check(on_host)],
    }
    (place / "report.json").write_text(json.dumps(report))


def test_all_missing_programs_of_a_guest_are_reported_at_once(
    settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = compile_plan(
        experiment(flows=[{"name": "a", "cc": "cubic", "tool": "iperf3"}]), backend="mininet", where="guest"
    ).runs[0]
    assert mininet.MininetBackend(settings).check(run) == []
    for name in ("mnexec", "python3"):
        monkeypatch.setattr(mininet, "_TOOLS", (*mininet._TOOLS, (str(tmp_path / name), name)))
    monkeypatch.setattr(mininet, "_IPERF3", tmp_path / "iperf3")
    missing = mininet.MininetBackend(replace(settings, cache=tmp_path)).check(run)
    assert [remedy for _, remedy in missing] == [
        "run `apt-get install mnexec`",
        "run `apt-get install python3`",
        "run `apt-get install iperf3`",
        "run `longhaul kernel build 6.12`",
    ]
