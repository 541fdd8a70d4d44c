"""What a format of another tool is made of: a kept run with its measures, its trace, and the time at which it was kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.run_document import FlowNumbers, RunDocument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import ColumnSource


@dataclass(frozen=True, slots=True)
class ExportedRun:
    """`kept_at`, in UTC, is the only date that a run in virtual time has."""

    run: Run
    document: RunDocument
    source: ColumnSource
    kept_at: datetime

    def numbers_of(self, flow: Flow) -> FlowNumbers:
        """The measures of one of its flows."""
        return next(one for one in self.document["flows"] if one["name"] == flow.name)

    def length_s(self, flow: Flow) -> float:
        """How long a flow is active: until its transfer is complete, until it is stopped, or until the end of the run."""
        completion_s = self.numbers_of(flow)["completion_s"]
        stop_us = self.run.duration_us if flow.stop_us is None else flow.stop_us
        return (stop_us - flow.start_us) / 1e6 if completion_s is None else completion_s


# The files of a run in one format: their names, and their contents.
Format = Callable[[ExportedRun], Iterator[tuple[str, bytes]]]
