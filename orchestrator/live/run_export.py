"""What a pipeline asks of the export: somebody beside each run, who may fail without the run noticing.

    Live                     of a process: where samples go, and where runs get their places from
      `-- beside(run)        of a run: a stream for as long as it goes on, then what its document says of it

A run that is kept already is not streamed: what is in Prometheus under its name is the kept one's. `longhaul export` replays it.
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

# A document waits so long for the last samples; what comes later is written into it later.
_STREAM_S, _ANSWER_S, _LOOK_S = 1.0, 0.5, 0.02
# What a run by the real clock takes at most beyond its duration, until its real place is known.
_MORE_MS = 60_000


class Beside:
    """One run's export, from before it begins until its document is written."""

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
                    # Where it began is known when its first records are read.
                    self._stream.wait(_STREAM_S)
                self._stream.when_final(lambda outcome: None)
                self._annotate("cancelled" if issubclass(kind, RunCancelled) else "failed")

    def watched(self, progress: RunProgress) -> RunProgress:
        """The same, and what it is told is known here too."""

        def tell(reached_ns: int) -> None:
            if self._stream is not None:
                self._stream.came(reached_ns)
            progress(reached_ns)

        return tell

    def outcome(self) -> PrometheusExport:
        """What the run's document says of its export, as far as it is known within a moment."""
        stream = self._stream
        if stream is None:
            return {"samples": 0, "waiting": 0, "refused": 0, "why": self._why}
        stream.wait(_STREAM_S)
        until_s = time.monotonic() + _ANSWER_S
        while stream.tally.waiting and not self._live.exporter.away and time.monotonic() < until_s:
            time.sleep(_LOOK_S)
        return stream.outcome()

    def close(self, outcome: PrometheusExport | None, status: str = "failed") -> None:
        """The run is kept with this in its document, or has come to nothing; what is known later is noted down."""
        if self._stream is None:
            return
        self._annotate(status)
        if self._run.clock == "real":
            self._live.placed(self._run_id, self._stream.outcome())
        self._stream.when_final(lambda final: self._note(final) if outcome not in (None, final) else None)

    def _note(self, final: PrometheusExport) -> None:
        self._live.note(self._run_id, final)

    def _annotate(self, status: str) -> None:
        """Tell Grafana of the run's end, where it came to."""
        stream = self._stream
        if stream is None or stream.begin_ms is None:
            return
        end_ms = stream.begin_ms + self._run.duration_us // 1000 if self._whole else stream.reached_ms
        # One that ended before its first record ended where it began.
        marks = end_of(self._run, self._run_id, stream.begin_ms, end_ms or stream.begin_ms, status, self._live.url)
        self._live.annotate(*marks)


class Live:
    """The export of the runs that this process carries out, to the end of the process."""

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
        """Tell Grafana, if it is to be told, without waiting for it."""
        if self._teller is not None:
            self._teller.tell(marks)

    def beside(self, run: Run, run_id: str, places: list[Path]) -> Beside | None:
        """Somebody beside a run that begins; None where it is kept already."""
        return None if self._store.find(run_id) is not None else Beside(self, run, run_id, places)

    def place(self, run: Run, run_id: str) -> int | None:
        """Where a run begins in Prometheus' time; None where it goes by the real clock, and begins when it does."""
        return place(Spans(self._store.database), run, run_id, self._server)

    def placed(self, run_id: str, outcome: PrometheusExport) -> None:
        """Write down where a run by the real clock was."""
        try:
            write_down(self._store, run_id, outcome)
        except LonghaulError as error:
            _LOG.warning("%s", error)

    def note(self, run_id: str, outcome: PrometheusExport) -> None:
        """Write into a kept run's document what came of its export."""
        note(self._store, run_id, outcome)


class LiveElsewhere(Live):
    """The same on a machine that has no record: the place of each run came with its order."""

    def __init__(self, settings: Settings, tell: Callable[[Progress], None]) -> None:
        super().__init__(settings, Store(settings), tell)
        self._begins: dict[str, int | None] = {}

    @contextmanager
    def expecting(self, run_id: str, begin_ms: int | None) -> Iterator[Self]:
        """For as long as this run is carried out."""
        self._begins[run_id] = begin_ms
        try:
            yield self
        finally:
            self._begins.pop(run_id, None)

    def beside(self, run: Run, run_id: str, places: list[Path]) -> Beside | None:
        return Beside(self, run, run_id, places) if run_id in self._begins else None

    def place(self, run: Run, run_id: str) -> int | None:
        return self._begins[run_id]

    def placed(self, run_id: str, outcome: PrometheusExport) -> None:
        """The document says it to whoever keeps the record."""

    def note(self, run_id: str, outcome: PrometheusExport) -> None:
        _LOG.info("run %s in Prometheus: %s", run_id, outcome)


def open_live(settings: Settings, store: Store) -> Live | None:
    """The export of this process, if there is to be one; a spool that cannot be made is said, and runs go on without."""
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
    """Choose a place for a run, or hold the present free for one that goes by the real clock."""
    length_ms = run.duration_us // 1000 + server.resolution_ms
    if run.clock == "real":
        now_ms = int(time.time() * 1000)
        spans.put(run_id, Span(now_ms, now_ms + length_ms + _MORE_MS, server.resolution_ms))
        return None
    return spans.place(run_id, length_ms, server.resolution_ms, server.window_s).begin_ms


def note(store: Store, run_id: str, outcome: PrometheusExport) -> None:
    """Write what came of a run's export into its document, and where it lies into the record."""
    write_down(store, run_id, outcome)
    document = store.find(run_id)
    if document is not None and document.get("prometheus") != outcome:
        store.revise(document | {"prometheus": outcome})


def write_down(store: Store, run_id: str, outcome: PrometheusExport) -> None:
    """Put a run's real place into the record."""
    if (span := Span.told(outcome)) is not None:
        Spans(store.database).put(run_id, span)
