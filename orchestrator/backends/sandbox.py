"""The sandbox: one run in one guest with virtual time; the guest's first process makes the net and the traffic (guest.py)."""

from __future__ import annotations

from pathlib import Path

from orchestrator.backends.base import Cost, Progress
from orchestrator.backends.guest import Guests
from orchestrator.errors import BackendUnavailable
from orchestrator.run import Run
from orchestrator.settings import Settings


class Sandbox:
    """One guest in virtual time: deterministic, without rights (default)."""

    name = "sandbox"

    def __init__(self, settings: Settings) -> None:
        self._guests = Guests(settings, self.name)

    def check(self, run: Run) -> list[tuple[str, str]]:
        return self._guests.missing(run.kernel)

    def identity(self, run: Run) -> dict[str, str]:
        missing = self.check(run)
        if missing:
            raise BackendUnavailable(self.name, missing)
        return self._guests.identity(run)

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        return self._guests.run(run, directory, progress)
