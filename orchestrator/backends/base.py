"""The contract between the pipeline and the backends that run experiments.

A backend reports what is missing (`check`) and with which programs it would run (`identity`), and runs one Run inside a run
directory (`run`). It leaves the files of docs/run-directory.md there, or raises a BackendError. It never judges numbers.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings


@dataclass(frozen=True, slots=True)
class Cost:
    """The resources of this machine that a run used, in so many guests; a copied one (guest_template.py) did not start by itself."""

    wall_s: float
    cpu_s: float
    max_rss_kb: int
    retries: int = 0
    parts: int = 1
    copied: bool = False


class Backend(Protocol):
    """One kind of place where runs happen."""

    name: str

    def __init__(self, settings: Settings) -> None: ...

    def check(self, run: Run) -> list[tuple[str, str]]:
        """All that is missing for this run, each with the command that provides it."""
        ...

    def identity(self, run: Run) -> dict[str, str]:
        """Everything besides the Run that determines its result: hashes of kernel, agent and modules."""
        ...

    def programs(self, run: Run) -> dict[str, str]:
        """The part of `identity` that is specific to this machine: programs, and for a run on a host its kernel; raises BackendUnavailable."""
        ...

    def artefacts(self, run: Run) -> dict[str, Path]:
        """The files behind the rest of `identity`, which can be copied to another machine, by their names in a cache."""
        ...

    def growing_traces(self, run: Run, directory: Path) -> list[Path]:
        """Candidate paths of a running run's trace in this directory; the first file that appears is the one."""
        ...

    def run(self, run: Run, directory: Path, progress: Progress) -> Cost:
        """Run it; `directory` contains run.json and receives the other files."""
        ...
