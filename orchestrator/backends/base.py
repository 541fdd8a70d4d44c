"""The contract between the pipeline and the places where a run can happen.

A backend is asked for what is missing (`check`), for what it would run with (`identity`), and to run one Run inside a run
directory (`run`). It leaves the files of docs/run-directory.md there, or raises a BackendError. It never judges numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.settings import Settings


@dataclass(frozen=True, slots=True)
class Cost:
    """What a run took of this machine."""

    wall_s: float
    cpu_s: float
    max_rss_kb: int
    retries: int = 0


class Backend(Protocol):
    """One place where a run can happen."""

    name: str

    def __init__(self, settings: Settings) -> None: ...

    def check(self, run: Run) -> list[tuple[str, str]]:
        """All that is missing for this run, each with the command that provides it."""
        ...

    def identity(self, run: Run) -> dict[str, str]:
        """Everything besides the Run that determines its result: hashes of kernel, agent and modules."""
        ...

    def programs(self, run: Run) -> dict[str, str]:
        """The part of `identity` that is this machine's own: programs, for a run on a host its kernel; BackendUnavailable."""
        ...

    def artefacts(self, run: Run) -> dict[str, Path]:
        """The files behind the rest of `identity`, which can be brought to another machine, by the names that a cache has for them."""
        ...

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        """Where the trace of a run in this directory is while it goes on; the first of these files that appears."""
        ...

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        """Carry the run out; `directory` holds run.json and receives the other files."""
        ...
