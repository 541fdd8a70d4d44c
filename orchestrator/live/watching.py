"""Reads a running run for its viewers: from its staging folder, as its trace grows.

    staging/*/<run>-*/      found -- GrowingTrace -- Downsampler --> SettledSamples (live_series.py)
                            gone     moved to the kept runs, or its process died and it is made again elsewhere

It only reads, and only while a viewer is connected: a run without viewers costs nothing more. Runs of other machines have no
folder here.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.live.downsampling import Downsampler
from longhaul.orchestrator.live.live_series import SAME_AGAIN, LiveEvent, SettledSamples, cell_of, step_fields
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.trace.tail import GrowingTrace

# In virtual time records come in their order, except for those of a tick; real clocks are read one after the other.
_SLACK_NS = {"virtual": 20_000_000, "real": 500_000_000}

_LOOK_S = 0.1


def folder_of(home: Path, run_id: str) -> Path | None:
    """The staging folder of a running run, if it is on this machine; the newest, if a dead process has left another."""
    found: list[tuple[int, Path]] = []
    for folder in (home / "staging").glob(f"*/{run_id}-*"):
        try:
            found.append((folder.stat().st_mtime_ns, folder))
        except OSError:
            continue
    return max(found)[1] if found else None


class GrowingRun:
    """One attempt at a run, in its folder. `look` is called repeatedly, by one thread."""

    def __init__(self, run: Run, key: str, folder: Path, places: Sequence[Path], settled: SettledSamples) -> None:
        self._run, self._key, self._settled = run, key, settled
        self._folder = folder
        self.cell_ms = cell_of(run)
        self._trace = GrowingTrace(places)
        self._tries = 0
        self._begin()

    def close(self) -> None:
        """Close its trace."""
        self._trace.close()

    def look(self) -> bool:
        """Read new records; False if the folder is gone, so that no more will come."""
        # Checked before: records written until the folder goes are in the open file.
        there = self._folder.is_dir()
        self._trace.find()
        for piece in self._trace.read():
            self._settled.add(self._downsampler.feed(piece), self._front_ms())
        if there and self._trace.replaced():
            self._tries += 1
            self._begin()
        return there

    @property
    def reached_ms(self) -> int:
        """The progress of this attempt, independent of an earlier one."""
        return self._front_ms()

    def finish(self, *, whole: bool) -> None:
        """Add the rest: the run has ended, at its end or before."""
        self._settled.add(self._downsampler.finish(at_the_end=whole), self._run.duration_us // 1000 + 1)

    def _begin(self) -> None:
        self._downsampler = Downsampler(self._run, self._key, self.cell_ms, _SLACK_NS[self._run.clock])
        attempt = f"{self._folder.name.rpartition('-')[2]}-{self._tries}"
        self._settled.begin_again(SAME_AGAIN if self._run.clock == "virtual" else attempt)

    def _front_ms(self) -> int:
        """Cells before it are complete, and the rates at their ends known: ticks are slightly late."""
        tick_us = max(self._run.trace.tick_us, self._run.trace.ack_us)
        settled_ns = self._downsampler.newest_ns - _SLACK_NS[self._run.clock] - tick_us * 1000
        return max(0, settled_ns) // (self.cell_ms * 1_000_000) * self.cell_ms


def growing_run(settings: Settings, run: Run, key: str, made_as: str, settled: SettledSamples) -> GrowingRun | None:
    """The run with this id in progress on this machine; None if there is none."""
    folder = folder_of(settings.home, made_as)
    if folder is None or not (folder / "run.json").exists():
        return None
    places = open_backend(run.backend, settings).growing_traces(run, folder)
    return GrowingRun(run, key, folder, places, settled)


def watched_events(settings: Settings, run: Run, over: threading.Event) -> Iterator[LiveEvent]:
    """A run that this process runs, as it grows, until `over` is set: the events that a service sends of it."""
    key = run_id(run, open_backend(run.backend, settings).identity(run))
    settled = SettledSamples()
    growing: GrowingRun | None = None
    attempt, position_ms = "", 0
    try:
        while not over.wait(_LOOK_S):
            growing = growing or growing_run(settings, run, key, key, settled)
            if growing is None:
                continue
            if not growing.look():
                # It is kept, or it is made again in another folder.
                growing.close()
                growing = None
            if settled.front_ms and attempt != settled.attempt:
                attempt, position_ms = settled.attempt, 0
                yield LiveEvent("begin", {"from_ms": 0, "same_again": attempt == SAME_AGAIN})
            if (step := settled.since(position_ms, run.duration_us // 1000 + 1)) is not None:
                position_ms = step.end_ms
                yield LiveEvent("samples", step_fields(run, step))
    finally:
        if growing is not None:
            growing.close()
