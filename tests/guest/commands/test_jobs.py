"""Several runs at a time: the number of guests, and independent steps."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.execution.pipeline import Pipeline
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings
from tests.support.guests import experiment

# More than a guest takes for one second of virtual time, even on a busy machine.
PATIENCE_S = 120


class Counting(Sandbox):
    """A sandbox that counts how many of its guests run at once."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self._counting = threading.Lock()
        self._now = self._begun = self.most = 0
        self.third_began = threading.Event()

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        with self._counting:
            self._now, self._begun = self._now + 1, self._begun + 1
            self.most = max(self.most, self._now)
            if self._begun == 3:
                self.third_began.set()
        try:
            return super().run(run, directory, progress)
        finally:
            with self._counting:
                self._now -= 1


def test_a_guest_begins_while_runs_before_it_are_kept(settings: Settings) -> None:
    backend = Counting(settings)

    class Slow(Store):
        """A store that keeps no run before a third guest has begun."""

        def keep(self, *arguments: Any) -> None:
            assert backend.third_began.wait(PATIENCE_S)
            super().keep(*arguments)

    plan = compile_plan(experiment(duration="1 s"), repeats=5)
    documents = Pipeline(backend, Slow(settings), use_cache=False).execute(plan, jobs=2)
    assert [document["status"] for document in documents] == ["done"] * 5
    assert backend.most == 2
