"""Sends samples of this process's runs to Prometheus: streams put requests into the spool, one thread takes them out.

    stream (a thread a run) --> spool, on disk --> sender (one thread) --> Prometheus
                                                      |-- taken: removed
                                                      |-- refused for good: removed, counted, logged, named in the run's document
                                                      '-- later: kept, and tried again, ever more seldom

No sample is lost while Prometheus is away: the next process of this home sends those that wait when this one ends.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from longhaul.orchestrator.live.remote_write import Answer, RemoteWriter, Request, Verdict
from longhaul.orchestrator.live.spool import Spool, Spooled
from longhaul.orchestrator.live.stream import NICE, Stream
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.process import lower_priority
from longhaul.orchestrator.system.settings import Settings

_LOG = logging.getLogger("longhaul.live")

_PATIENCE_S = (0.1, 2.0)
# The longest pause that a server may request.
_LONGEST_WISH_S = 30.0
_IDLE_S = 0.5
_REPORT_EVERY_S = 2.0
# An ending process continues to send for this long if Prometheus accepts it.
_LAST_S = 10.0
# The mark of a run's end lies a cell after it.
_WAIT_FOR_NOW_S = 2.0


@dataclass(frozen=True, slots=True)
class Progress:
    """The state of the export: bytes that wait, since when, and samples taken and refused since the last report."""

    spool_bytes: int
    oldest_s: float | None
    taken: int
    refused: int


class Exporter:
    """Sends this process's samples to one Prometheus."""

    def __init__(self, settings: Settings, tell: Callable[[Progress], None] = lambda progress: None) -> None:
        assert settings.prometheus is not None
        self._server = settings.prometheus
        try:
            self._spool = Spool(settings.home, self._server.spool_bytes)
        except OSError as error:
            what, hint = error.strerror or str(error), "set LONGHAUL_HOME to a folder you may write"
            raise ResultsError("making a spool in", str(settings.home), what, hint) from error
        self._writer = RemoteWriter(self._server)
        self._tell = tell
        self._streams: dict[str, Stream] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._closed_s = 0.0
        self._taken = self._refused = 0
        self._reported_s = -_REPORT_EVERY_S
        self._reported = Progress(-1, None, 0, 0)
        self.away = False
        self._thread = threading.Thread(target=self._send_all, name="exporter", daemon=True)
        self._thread.start()

    def stream(self, run: Run, run_id: str, places: Sequence[Path], begin_ms: int | None) -> Stream:
        """Follow a run that begins; the first of these files that is not empty is its trace."""
        stream = Stream(run, run_id, places, begin_ms, self._server.resolution_ms, self._put)
        with self._lock:
            self._streams[run_id] = stream
        return stream

    def close(self) -> None:
        """Send the rest if Prometheus takes it at once; the rest waits on disk."""
        with self._lock:
            streams = list(self._streams.values())
        for stream in streams:
            stream.end(whole=False)
            stream.wait()
        self._closed_s = time.monotonic()
        self._closing.set()
        self._spool.wake()
        self._thread.join()
        self._report(last=True)
        if waits := self._spool.size:
            _LOG.warning(
                "sending samples to %s: %.1f MB wait in the spool; the next process of this home sends them",
                self._server.url,
                waits / 2**20,
            )
        self._writer.close()
        self._spool.close()

    def _put(self, stream: Stream, request: Request) -> bool:
        # Counted before it is stored: the sender may be faster than the next line.
        with self._lock:
            stream.tally.waiting += request.samples
        taken = self._spool.put(request, stream.run_id)
        if not taken:
            with self._lock:
                stream.tally.waiting -= request.samples
        return taken

    def _send_all(self) -> None:
        lower_priority(NICE)
        patience_s = 0.0
        answer = Answer(Verdict.LATER)
        while True:
            if self._closing.is_set() and time.monotonic() - self._closed_s > _LAST_S:
                return
            try:
                self._spool.look()
                self._report()
                first = self._spool.first(0.0 if self._closing.is_set() else _IDLE_S)
                if first is None:
                    self._forget()
                    if self._closing.is_set():
                        return
                    continue
                answer = self._answer(first)
                self._log_availability(answer)
                if answer.verdict is not Verdict.LATER:
                    patience_s = 0.0
                    self._settle(first, answer)
                    continue
            except OSError as error:
                _LOG.warning("reading the spool in %s: %s", self._spool.folder, error.strerror or error)
            if self._closing.is_set():
                return
            patience_s = min(_PATIENCE_S[1], patience_s * 2 or _PATIENCE_S[0])
            self._closing.wait(max(patience_s, min(answer.retry_after_s, _LONGEST_WISH_S)))

    def _answer(self, first: Spooled) -> Answer:
        early_s = first.newest_ms / 1000 - time.time()
        if early_s > _WAIT_FOR_NOW_S:
            return Answer(
                Verdict.REFUSED,
                f"samples lie {early_s:.0f} s in the future: check whether this machine's clock was set back",
            )
        if early_s > 0:
            time.sleep(early_s + 0.001)
        try:
            request = first.request()
        except FileNotFoundError:
            return Answer(Verdict.REFUSED, f"{first.file} was removed from the spool")
        return self._writer.push(request)

    def _log_availability(self, answer: Answer) -> None:
        """Log once that it is away, and once that it is back."""
        away = answer.verdict is Verdict.LATER
        if away and not self.away:
            _LOG.warning("sending samples to %s: %s; they wait in the spool", self._server.url, answer.why)
        elif self.away and not away:
            _LOG.warning("sending samples to %s: it accepts them again", self._server.url)
        self.away = away

    def _settle(self, first: Spooled, answer: Answer) -> None:
        self._spool.remove(first)
        refused = answer.verdict is Verdict.REFUSED
        with self._lock:
            self._taken += 0 if refused else first.samples
            self._refused += first.samples if refused else 0
            stream = None if first.inherited else self._streams.get(first.run)
            if stream is not None:
                stream.tally.waiting -= first.samples
                stream.tally.refused += first.samples if refused else 0
        if refused and (stream is None or not stream.tally.why):
            _LOG.warning(
                "sending samples of run %s to %s: it refused some: %s", first.run, self._server.url, answer.why
            )
        if refused and stream is not None:
            stream.tally.why = stream.tally.why or f"Prometheus refused some: {answer.why}"
        if stream is not None:
            stream.settle()

    def _forget(self) -> None:
        """Forget runs without further samples."""
        with self._lock:
            over = [stream for stream in self._streams.values() if stream.done]
        for stream in over:
            stream.settle()
        with self._lock:
            for stream in over:
                if stream.final and self._streams.get(stream.run_id) is stream:
                    del self._streams[stream.run_id]

    def _report(self, *, last: bool = False) -> None:
        if not last and time.monotonic() - self._reported_s < _REPORT_EVERY_S:
            return
        self._reported_s = time.monotonic()
        with self._lock:
            taken, refused = self._taken, self._refused
        progress = Progress(self._spool.size, self._spool.oldest_s(), taken, refused)
        if progress == self._reported and not taken and not refused:
            return
        try:
            self._tell(progress)
        except Exception as error:  # the receiver of reports may have ended; samples are sent anyway
            _LOG.warning("reporting the export's progress: %s", error)
            return
        self._reported = Progress(progress.spool_bytes, progress.oldest_s, 0, 0)
        with self._lock:
            self._taken -= taken
            self._refused -= refused
