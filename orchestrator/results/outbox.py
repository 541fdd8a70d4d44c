"""Where a machine that only carries runs out puts them: the kept form, in memory, for whoever keeps the record.

It has no database and keeps nothing: a run that was carried out is `files`, and the log of a guest that died is `log`.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import Settings

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.run import Run
    from longhaul.orchestrator.plan.run_document import RunDocument
    from longhaul.orchestrator.trace.records import Trace


class Outbox(Store):
    """The store of one run that belongs to somebody else."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        self.files: dict[str, bytes] = {}
        self.last_log: bytes | None = None

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
        """Pack it, and hold it ready."""
        self._pack(directory, run.as_json(), run_id, identity, spec, document, trace)
        found = (file for file in directory.rglob("*") if file.is_file())
        self.files = {file.relative_to(directory).as_posix(): file.read_bytes() for file in found}

    def keep_log(self, directory: Path, run_id: str) -> str:
        """Hold what the guest said ready; where it will lie is not known here."""
        try:
            self.last_log = (directory / "log.txt").read_bytes()
        except OSError:
            self.last_log = None
        return ""

    def count_death(self) -> None:
        """Whoever keeps the record counts what comes back."""
