"""The interface between running a Run and the place where finished runs go.

    Store    store.py     keeps runs in a home and a database, and finds them again
    Outbox   outbox.py    has one run in memory, for another machine to keep

Only a Store can find a run that is already kept (execution/kept_answers.py): a worker of a cluster has none.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from longhaul.orchestrator.database.leases import Leases
    from longhaul.orchestrator.results.packing import EndedRun
    from longhaul.orchestrator.system.settings import Settings


class RunSink(Protocol):
    """Takes the results of running a Run: the finished run, or the log of its guest and a death to count."""

    @property
    def settings(self) -> Settings:
        """The settings of runs."""
        ...

    @property
    def home(self) -> Path:
        """Where the staging folder and the partial traces of cancelled runs are."""
        ...

    @property
    def leases(self) -> Leases:
        """Which run has which host; only for runs on real hosts."""
        ...

    def make_ready(self) -> None:
        """Load the libraries that keeping needs."""
        ...

    def keep(self, ended: EndedRun) -> None:
        """Take a finished run directory."""
        ...

    def keep_log(self, directory: Path, run_id: str) -> str:
        """Take the log of a guest that died; a sentence on how to read it, or ""."""
        ...

    def count_death(self) -> None:
        """Count the death of a guest."""
        ...
