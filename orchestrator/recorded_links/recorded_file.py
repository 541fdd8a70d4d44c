"""A recording's file with its format, opened once: its summary, and the rows of runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import cached_property
from pathlib import Path

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import Chunks, Ints, Summary
from longhaul.orchestrator.recorded_links.formats import LOSSES, TABLE
from longhaul.orchestrator.recorded_links.losses import lost_in_pieces, read_losses
from longhaul.orchestrator.recorded_links.mahimahi import read_mahimahi
from longhaul.orchestrator.recorded_links.replay import Replay, Window, replay
from longhaul.orchestrator.recorded_links.summary import summarise
from longhaul.orchestrator.recorded_links.tables import read_table
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True)
class RecordedFile:
    """A file and how it is read."""

    path: Path
    format: str
    columns: Mapping[str, str] = field(default_factory=dict)
    step_ns: int | None = None

    def chunks(self) -> Chunks:
        """Its rows, from the first on; Malformed."""
        if self.format == TABLE:
            return read_table(self.path, self.columns, self.step_ns)
        return read_mahimahi(self.path)

    @cached_property
    def lost(self) -> tuple[Ints, int]:
        """The lost packets of a pattern, and its length; Malformed."""
        return read_losses(self.path)

    @cached_property
    def summary(self) -> Summary:
        """The whole of it in numbers; Malformed."""
        if self.format == LOSSES:
            lost = packets = 0
            for part, count in lost_in_pieces(self.path):
                lost, packets = lost + len(part), packets + count
            return Summary(rows=packets, length_ns=0, mean_loss=lost / packets, lost_packets=lost)
        return summarise(self.chunks(), self.step_ns)

    def replay(self, window: Window, *, scale: float = 1, interpolate: bool = False) -> Replay:
        """The rows of a run."""
        if self.format == LOSSES:
            lost, _ = self.lost
            return Replay({"lost_packets": (lost, np.ones(len(lost), dtype=np.int64))} if len(lost) else {})
        return replay(self.chunks, self.summary.length_ns, window, scale=scale, interpolate=interpolate)
