"""The traces of this machine's kept runs. Their readers are imported on first use."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.run import Run
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.trace.records import Records, Trace


class KeptTraces:
    """The traces of a store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def planned(self, run_id: str) -> Run:
        """The plan of the run."""
        return self._store.planned(run_id)

    def trace(self, run_id: str) -> Trace:
        """Every record."""
        return self._store.trace(run_id)

    def text(self, run_id: str, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
        """A text made of a run, kept with its other files; `make` gives it, and whether it may be kept."""
        from longhaul.orchestrator.results.derived_files import text_of

        return text_of(self._store.directory(run_id), self._store.derived(run_id), name, made_of, make)

    def records(self, run_id: str, kind: str) -> Records:
        """The records of one kind."""
        from longhaul.orchestrator.results.traces import read_kind

        return read_kind(self._store.directory(run_id), kind)
