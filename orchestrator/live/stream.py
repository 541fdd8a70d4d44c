"""Streams one run to Prometheus while it runs: a thread that reads its trace as it grows.

The run is not affected: the thread reads a file, at a lower priority, and an error here only ends the export of this
run. Samples get the time `begin + t`: in virtual time `begin` is allocated, so that all of the run lies in the past;
in real time it is the start of the experiment, computed from the first records: the last of them was taken when the file was last written.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from longhaul.orchestrator.database.prometheus_spans import Span
from longhaul.orchestrator.live.downsampling import Downsampler, Key, Samples
from longhaul.orchestrator.live.remote_write import Request, label_block, requests
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import PrometheusExport
from longhaul.orchestrator.system.errors import ExportError, LonghaulError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import lower_priority
from longhaul.orchestrator.trace.records import Trace
from longhaul.orchestrator.trace.tail import GrowingTrace

_LOG = logging.getLogger("longhaul.live")

_LOOK_EVERY_S = 0.2
# Below other work of this machine, but not the lowest.
NICE = 5
# Records may be ahead of the wall clock by this much: clocks are read one after the other.
_AHEAD_S = 1.0
_FULL = "more samples wait for Prometheus than LONGHAUL_SPOOL_MB allows"


@dataclass(slots=True)
class Tally:
    """The counts of a run's samples."""

    samples: int = 0
    waiting: int = 0
    refused: int = 0
    why: str = ""

    @property
    def complete(self) -> bool:
        """Whether Prometheus has all samples."""
        return not self.why and not self.waiting and not self.refused


class Stream:
    """The samples of a running run. `put` takes a request, and returns whether there was room for it."""

    def __init__(
        self,
        run: Run,
        run_id: str,
        places: Sequence[Path],
        begin_ms: int | None,
        cell_ms: int,
        put: Callable[[Stream, Request], bool],
    ) -> None:
        self.run_id = run_id
        self.begin_ms = begin_ms
        self.tally = Tally()
        self._run = run
        self._cell_ms = cell_ms
        self._put = put
        self._trace = GrowingTrace(places)
        self._blocks: dict[Key, bytes] = {}
        self._downsampler = Downsampler(run, run_id, cell_ms)
        self._over = threading.Event()
        self._whole = False
        self._came_ns = -1
        self._finding = threading.Lock()
        self._settling = threading.Lock()
        self.final = False
        self._on_final: Callable[[PrometheusExport], None] | None = None
        self._on_begin: Callable[[int], None] = lambda begin_ms: None
        self._thread = threading.Thread(target=self._follow, name=f"stream-{run_id[:8]}", daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether no more samples come."""
        return not self._thread.is_alive()

    @property
    def reached_ms(self) -> int | None:
        """The time of the newest of its records, if known."""
        reached_ns = min(max(self._downsampler.newest_ns, self._came_ns), self._run.duration_us * 1000)
        return None if self.begin_ms is None or reached_ns < 0 else self.begin_ms + reached_ns // 1_000_000

    def when_begun(self, call: Callable[[int], None]) -> None:
        """Report its start: now, or in real time after its first records."""
        self._on_begin = call
        if self.begin_ms is not None:
            call(self.begin_ms)

    def came(self, reached_ns: int) -> None:
        """Note how far the run has come, also if it was not read yet: the trace of a cancelled run may go before the first read."""
        self._came_ns = reached_ns

    def end(self, *, whole: bool) -> None:
        """The run is over, to its end or not; its files may go. The first call counts."""
        if self._over.is_set():
            return
        with self._finding:
            try:
                self._trace.find()
            except LonghaulError as error:
                self.tally.why = str(error)
        self._whole = whole
        self._over.set()

    def wait(self, longest_s: float | None = None) -> None:
        """Wait until all samples have been handed over."""
        self._thread.join(longest_s)

    def outcome(self) -> PrometheusExport:
        """The entry of a run's document: its time span in Prometheus, and its counts."""
        tally = self.tally
        found: PrometheusExport = {"samples": tally.samples, "waiting": tally.waiting, "refused": tally.refused}
        if self.begin_ms is not None:
            length_ms = self._run.duration_us // 1000 + self._cell_ms
            found = {**Span(self.begin_ms, self.begin_ms + length_ms, self._cell_ms).as_document(), **found}
        if tally.why:
            found["why"] = tally.why
        return found

    def when_final(self, call: Callable[[PrometheusExport], None]) -> None:
        """Report when no sample waits any more, unless this process ends before."""
        self._on_final = call
        self.settle()

    def settle(self) -> None:
        """Check whether any sample still waits."""
        with self._settling:
            call = self._on_final
            if call is None or not self.done or self.tally.waiting:
                return
            self._on_final, self.final = None, True
        try:
            call(self.outcome())
        except LonghaulError as error:
            _LOG.warning("%s", error)

    def _follow(self) -> None:
        try:
            lower_priority(NICE)
            while not self._read():
                pass
        except LonghaulError as error:
            self._give_up(str(error))
        except OSError as error:
            what = f"{error.filename or 'its trace'}: {error.strerror or error}"
            self._give_up(str(ExportError("exporting", f"run {self.run_id}", what, replay_hint(self.run_id))))
        except Exception as error:  # an error here must not fail the run
            self._give_up(f"exporting run {self.run_id}: {type(error).__name__}: {error}; please report this")
        finally:
            self._trace.close()

    def _read(self) -> bool:
        """Read once; returns whether it was the last time."""
        over = self._over.wait(_LOOK_EVERY_S)
        with self._finding:
            self._trace.find()
        for piece in self._trace.read():
            self._take(piece)
        if over:
            self._send(self._downsampler.finish(at_the_end=self._whole))
        elif self._trace.replaced():
            self._begin_again()
        return over

    def _take(self, piece: Trace) -> None:
        settled = self._downsampler.feed(piece)
        if self._run.clock == "real":
            reached_ns = self._downsampler.newest_ns
            if self.begin_ms is None and reached_ns >= 0:
                self.begin_ms = (min(self._trace.written_ns, time.time_ns()) - reached_ns) // 1_000_000
                self._on_begin(self.begin_ms)
            ahead_s = ((self.begin_ms or 0) * 1_000_000 + reached_ns - time.time_ns()) / 1e9
            if ahead_s > _AHEAD_S:
                what = f"its trace is {ahead_s:.1f} s ahead of this machine's clock"
                raise ExportError("exporting", f"run {self.run_id}", what, "check whether that clock was set back")
        self._send(settled)

    def _begin_again(self) -> None:
        """Its guest died and was restarted: the same samples in virtual time, another start in real time."""
        if self._run.clock == "real":
            self._send(self._downsampler.finish(at_the_end=False))
            self.begin_ms = None
        self._downsampler = Downsampler(self._run, self.run_id, self._cell_ms)

    def _send(self, settled: Sequence[Samples]) -> None:
        if self.begin_ms is None or not settled:
            return
        for samples in settled:
            if samples.series not in self._blocks:
                self._blocks[samples.series] = label_block(self._downsampler.labels(samples.series))
        begin_ms = self.begin_ms
        for request in requests((self._blocks[one.series], *one.placed(begin_ms)) for one in settled):
            while not self._put(self, request):
                # A running run loses no samples: its trace can be read later.
                if self._over.wait(_LOOK_EVERY_S):
                    raise ExportError("exporting", f"run {self.run_id}", _FULL, replay_hint(self.run_id))
            self.tally.samples += request.samples

    def _give_up(self, why: str) -> None:
        _LOG.warning("%s", why)
        self.tally.why = why


def replay_hint(run_id: str) -> str:
    """The command that sends a kept run to Prometheus later."""
    return f"once it is kept, `longhaul export {run_id} --to prometheus` sends all its samples"
