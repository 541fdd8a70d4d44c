"""The sandbox: one run in one guest with virtual time; the guest's first process makes the net and the traffic (guest.py)."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.backends.fence import is_fenced
from longhaul.orchestrator.backends.guest import Guests, growing_traces, has_iperf3
from longhaul.orchestrator.backends.guest_iperf3 import MISSING as IPERF3_MISSING
from longhaul.orchestrator.backends.guest_iperf3 import Iperf3, find_iperf3
from longhaul.orchestrator.backends.guest_programs import has_programs, identity_of_programs, missing_programs
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.errors import BackendUnavailable
from longhaul.orchestrator.system.settings import Settings

_UNCONFINED = (
    "a guest that sees this machine's files",
    "flows with a command need one: name a kernel that no admin sent to the service",
)


class Sandbox:
    """One guest in virtual time: deterministic, without rights (default)."""

    name = "sandbox"

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.guests = Guests(settings, self.name, self._furnish)

    @cached_property
    def _iperf3(self) -> Iperf3 | None:
        return find_iperf3()

    def check(self, run: Run) -> list[tuple[str, str]]:
        missing = self.guests.missing(*run.kernels)
        if has_iperf3(run) and self._iperf3 is None:
            missing.append(IPERF3_MISSING)
        if has_programs(run) and is_fenced(run, self._settings):
            missing.append(_UNCONFINED)
        return [*missing, *missing_programs(run)]

    def identity(self, run: Run) -> dict[str, str]:
        missing = self.check(run)
        if missing:
            raise BackendUnavailable(self.name, missing)
        return self.guests.identity(run) | self.programs(run)

    def programs(self, run: Run) -> dict[str, str]:
        if not has_iperf3(run):
            return identity_of_programs(run)
        if self._iperf3 is None:
            raise BackendUnavailable(self.name, [IPERF3_MISSING])
        files = {place: self.guests.hash(file) for place, file in self._iperf3.files.items()}
        return {"iperf3": self._iperf3.version} | files | identity_of_programs(run)

    def artefacts(self, run: Run) -> dict[str, Path]:
        return self.guests.artefacts(run)

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        return growing_traces(run, directory)

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        return self.guests.run(run, directory, progress)

    def _furnish(self, run: Run, guest: Path) -> None:
        """The guest's root has no files of the host, so a program is copied with its libraries."""
        if has_iperf3(run) and self._iperf3 is not None:
            self._iperf3.copy_to(guest)
