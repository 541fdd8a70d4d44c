"""The source of a result's traces: the store of this machine or a service."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.trace.records import Records, Trace


class TraceSource(Protocol):
    """Reads the plan and the trace of a run."""

    def planned(self, run_id: str) -> Run:
        """The plan of the run."""
        ...

    def trace(self, run_id: str) -> Trace:
        """Every record of its trace."""
        ...

    def text(self, run_id: str, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
        """A text that `make` gives, or that it gave before of the same; it also gives whether the text may be kept."""
        ...

    def records(self, run_id: str, kind: str) -> Records:
        """The records of one kind: ack, flow, link, drop, event or state."""
        ...
