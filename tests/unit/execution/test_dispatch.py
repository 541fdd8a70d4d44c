"""The dispatcher as a process: it ends on a signal, however many signals arrive and however fast."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from longhaul.orchestrator.database.workers import Workers
from longhaul.orchestrator.execution.local_executor import LocalSlots
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from tests.support.waiting import wait_for

_PATIENCE_S = 60


def test_a_dispatcher_stops_after_many_signals(tmp_path: Path) -> None:
    # When a service is killed, the end of each of its threads sends one.
    environment = {**os.environ, "LONGHAUL_HOME": str(tmp_path)}
    with (tmp_path / "log").open("w") as log:
        dispatcher = subprocess.Popen(
            [sys.executable, "-m", "longhaul.orchestrator.execution.dispatch"], env=environment, stderr=log
        )
    try:
        # It reports its workers once it runs.
        workers = Workers(Store(replace(load_settings(), home=tmp_path)).database)
        wait_for(workers.all, _PATIENCE_S, (tmp_path / "log").read_text)
        for _ in range(2000):
            with contextlib.suppress(ProcessLookupError):
                dispatcher.send_signal(signal.SIGTERM)
        # A signal during the interpreter's shutdown has no handler any more.
        assert dispatcher.wait(_PATIENCE_S) in (0, -signal.SIGTERM)
    finally:
        dispatcher.kill()
        dispatcher.wait()


@pytest.mark.parametrize(("user", "lacking"), [(0, set()), (1000, {"root"})])
def test_without_root_a_lab_lacks_only_the_needs_of_root(
    user: int, lacking: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = replace(load_settings(), home=tmp_path)
    monkeypatch.setattr(os, "geteuid", lambda: user)
    (worker,) = LocalSlots(settings, Store(settings), 1).workers()
    assert set(LocalSlots.needs) - set(worker.needs) == lacking
