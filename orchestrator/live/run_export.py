"""The export of a pipeline's runs: one object for each run, which may fail without affecting the run.

    Live                     of a process: the destination of samples, and the source of runs' times
      `-- export_of(run)     of a run: a stream while it runs, then the entry in its document

A run that is kept already is not streamed: Prometheus has the kept run's samples under its name. `longhaul export` replays it.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from types import TracebackType
from typing import Self

from longhaul.orchestrator.database.counters import Counts
from longhaul.orchestrator.database.prometheus_spans import Span, Spans
from longhaul.orchestrator.live.exporter import Exporter, Progress
from longhaul.orchestrator.live.grafana_annotations import Mark, Teller, end_of, start_of
from longhaul.orchestrator.live.stream import Stream
from longhaul.orchestrator.plan.run import Progress as RunProgress
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import PrometheusExport
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, RunCancelled
from longhaul.orchestrator.system.settings import Prometheus, Settings

_LOG = logging.getLogger("longhaul.live")

# A document waits this long for the last samples; later ones are recorded in it later.
_STREAM_S, _ANSWER_S, _LOOK_S = 1.0, 0.5, 0.02
# The most that a run in real time takes beyond its duration, until its real start is known.
_MORE_MS = 60_000


class RunExport:
    """One run's export, from before its start until its document is written."""

    def __init__(self, live: Live, run: Run, run_id: str, places: list[Path]) -> None:
        self._live = live
        self._run = run
        self._run_id = run_id
        self._why = ""
        self._whole = False
        self._stream: Stream | None = None
        try:
            self._stream = live.exporter.stream(run, run_id, places, live.place(run, run_id))
            self._stream.when_begun(lambda begin_ms: live.annotate(start_of(run, run_id, begin_ms, live.url)))
        except LonghaulError as error:
            self._why = str(error)
            _LOG.warning("%s", error)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._whole = kind is None
        if self._stream is not None:
            self._stream.end(whole=self._whole)
            if kind is not None:
                if self._run.clock == "real":
                    # Its start is known when its first records are read.
                    self._stream.wait(_STREAM_S)
                self._stream.when_final(lambda outcome: None)
                self._annotate("cancelled" if issubclass(kind, RunCancelled) else "failed")

    def watched(self, progress: RunProgress) -> RunProgress:
        """The same progress, which also reports to this export."""

        def tell(reached_ns: int) -> None:
            if self._stream is not None:
                self._stream.came(reached_ns)
            progress(reached_ns)

        return tell

    def outcome(self) -> PrometheusExport:
        """The entry of the run's document on its export, as far as known within a moment."""
        stream = self._stream
        if stream is None:
            return {"samples": 0, "waiting": 0, "refused": 0, "why": self._why}
        stream.wait(_STREAM_S)
        until_s = time.monotonic() + _ANSWER_S
        while stream.tally.waiting and not self._live.exporter.away and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        return stream.outcome()

    def close(self, outcome: PrometheusExport | None, status: str = "failed") -> None:
        """The run is kept with this entry in its document, or failed; later results are recorded later."""
        if self._stream is None:
            return
        self._annotate(status)
        if self._run.clock == "real":
            self._live.placed(self._run_id, self._stream.outcome())
        self._stream.when_final(lambda final: self._note(final) if outcome not in (None, final) else None)

    def _note(self, final: PrometheusExport) -> None:
        self._live.note(self._run_id, final)

    def _annotate(self, status: str) -> None:
        """Annotate the run's end in Grafana, at the time that it reached."""
        stream = self._stream
        if stream is None or stream.begin_ms is None:
            return
        end_ms = stream.begin_ms + self._run.duration_us // 1000 if self._whole else stream.reached_ms
        # A run that ended before its first record ended at its start.
        marks = end_of(self._run, self._run_id, stream.begin_ms, end_ms or stream.begin_ms, status, self._live.url)
        self._live.annotate(*marks)


class Live:
    """The export of this process's runs, to the end of the process."""

    def __init__(self, settings: Settings, store: Store, tell: Callable[[Progress], None]) -> None:
        assert settings.prometheus is not None
        self.exporter = Exporter(settings, tell)
        self._server: Prometheus = settings.prometheus
        self._store = store
        self.url = settings.url
        self._teller = Teller(settings.grafana) if settings.grafana and settings.grafana.token else None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.exporter.close()
        if self._teller is not None:
            self._teller.close()

    def annotate(self, *marks: Mark) -> None:
        """Annotate in Grafana, if configured, without waiting for it."""
        if self._teller is not None:
            self._teller.tell(marks)

    def export_of(self, run: Run, run_id: str, places: list[Path]) -> RunExport | None:
        """The export of a starting run; None if it is kept already."""
        return None if self._store.find(run_id) is not None else RunExport(self, run, run_id, places)

    def place(self, run: Run, run_id: str) -> int | None:
        """The start of a run in Prometheus' time; None in real time, where it is its real start."""
        return place(Spans(self._store.database), run, run_id, self._server)

    def placed(self, run_id: str, outcome: PrometheusExport) -> None:
        """Record the time span of a run in real time."""
        try:
            write_down(self._store, run_id, outcome)
        except LonghaulError as error:
            _LOG.warning("%s", error)

    def note(self, run_id: str, outcome: PrometheusExport) -> None:
        """Record the export's outcome in a kept run's document."""
        note(self._store, run_id, outcome)


class LiveElsewhere(Live):
    """The same on a machine without a database: the time of each run came with its order."""

    def __init__(self, settings: Settings, tell: Callable[[Progress], None]) -> None:
        super().__init__(settings, Store(settings), tell)
        self._begins: dict[str, int | None] = {}

    @contextmanager
    def expecting(self, run_id: str, begin_ms: int | None) -> Iterator[Self]:
        """While this run is active."""
        self._begins[run_id] = begin_ms
        try:
            yield self
        finally:
            self._begins.pop(run_id, None)

    def export_of(self, run: Run, run_id: str, places: list[Path]) -> RunExport | None:
        return RunExport(self, run, run_id, places) if run_id in self._begins else None

    def place(self, run: Run, run_id: str) -> int | None:
        return self._begins[run_id]

    def placed(self, run_id: str, outcome: PrometheusExport) -> None:
        """The document carries it to the machine with the database."""

    def note(self, run_id: str, outcome: PrometheusExport) -> None:
        _LOG.info("run %s in Prometheus: %s", run_id, outcome)


def open_live(settings: Settings, store: Store) -> Live | None:
    """The export of this process, if configured; a spool that cannot be made is reported, and runs continue without it."""
    if settings.prometheus is None:
        return None
    counts = Counts(store.database)

    def tell(progress: Progress) -> None:
        counts.heard(settings.origin, **asdict(progress))

    try:
        return Live(settings, store, tell)
    except LonghaulError as error:
        _LOG.warning("%s", error)
        return None


def place(spans: Spans, run: Run, run_id: str, server: Prometheus) -> int | None:
    """Choose a time for a run, or reserve the present for one in real time."""
    length_ms = run.duration_us // 1000 + server.resolution_ms
    if run.clock == "real":
        now_ms = int(time.time() * 1000)
        spans.put(run_id, Span(now_ms, now_ms + length_ms + _MORE_MS, server.resolution_ms))
        return None
    return spans.place(run_id, length_ms, server.resolution_ms, server.window_s).begin_ms


def note(store: Store, run_id: str, outcome: PrometheusExport) -> None:
    """Record the export's outcome in the run's document, and its time span in the database."""
    write_down(store, run_id, outcome)
    document = store.find(run_id)
    if document is not None and document.get("prometheus") != outcome:
        store.revise(document | {"prometheus": outcome})


def write_down(store: Store, run_id: str, outcome: PrometheusExport) -> None:
    """Record a run's real time span in the database."""
    if (span := Span.of_document(outcome)) is not None:
        Spans(store.database).put(run_id, span)
