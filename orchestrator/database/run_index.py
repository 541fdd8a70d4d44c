"""The index of kept runs: in this home's own file without the libraries of databases where that is possible, else by Catalog."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.database.kept_runs import KeptRuns
from longhaul.orchestrator.database.run_records import record_of
from longhaul.orchestrator.plan.run_document import RunDocument

if TYPE_CHECKING:
    from longhaul.orchestrator.database.catalog import Catalog


class RunIndex:
    """Finds and records kept runs; `file` is that of an SQLite database, and `catalog` is called when it does not suffice."""

    def __init__(self, file: Path | None, catalog: Callable[[], Catalog]) -> None:
        self._kept = None if file is None else KeptRuns(file)
        self._catalog = catalog

    def make_ready(self) -> None:
        """Load the libraries that recording a run needs."""
        if self._kept is None or not self._kept.is_usable():
            import longhaul.orchestrator.database.catalog  # noqa: F401

    def document(self, run_id: str) -> RunDocument | None:
        """The document of exactly this run, if it is kept."""
        return (self._kept.document(run_id) if self._kept else None) or self._catalog().document(run_id)

    def add(self, run_id: str, document: RunDocument, run: Mapping[str, Any]) -> None:
        """Record a kept run, its document and its run.json; one that was recorded as kept before stays as it was."""
        if self._kept is None or not self._kept.add(record_of(run_id, document, run)):
            self._catalog().add(run_id, document, run)

    def close(self) -> None:
        """Close the file; it is opened again at the next use."""
        if self._kept:
            self._kept.close()
