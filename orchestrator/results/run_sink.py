"""What running a Run asks of the place where finished runs go, and no more than that.

    Store    store.py     keeps runs in a home and a database, and answers from them
    Outbox   outbox.py    holds one run in memory, for another machine to keep

Whether a run is kept already is asked of a Store alone (execution/kept_answers.py): a worker of a cluster has none.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from longhaul.orchestrator.database.leases import Leases
    from longhaul.orchestrator.plan.run import Run
    from longhaul.orchestrator.plan.run_document import RunDocument
    from longhaul.orchestrator.system.settings import Settings
    from longhaul.orchestrator.trace.records import Trace


class RunSink(Protocol):
    """Takes what running a Run results in: the finished run, or the log of its guest and a death to count."""

    @property
    def settings(self) -> Settings:
        """Those that runs are run with."""
        ...

    @property
    def home(self) -> Path:
        """Where the staging folder and the partial traces of cancelled runs are."""
        ...

    @property
    def leases(self) -> Leases:
        """Which run holds which host; asked for only by runs on real hosts."""
        ...

    def make_ready(self) -> None:
        """Load the libraries that keeping needs."""
        ...

    def keep(
        self,
        directory: Path,
        run: Run,
        run_id: str,
        identity: Mapping[str, str],
        spec: Mapping[str, Any],
        document: RunDocument,
        trace: Trace,
    ) -> None:
        """Take a finished run directory."""
        ...

    def keep_log(self, directory: Path, run_id: str) -> str:
        """Take the log of a guest that died; a sentence that says how to read it, or nothing."""
        ...

    def count_death(self) -> None:
        """A guest died."""
        ...
