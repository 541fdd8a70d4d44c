"""The charts of `longhaul run --watch`: congestion windows, goodputs and queues of a running run, as its samples come.

    run --> events (here: watching.py; of a service: Client.watch) --> LiveCharts --> above the progress bars

Of several running runs, the charts are those of the one that began first.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

import numpy as np
from rich.console import Console
from rich.text import Text

from longhaul.orchestrator.analysis.panels import MOST_BINS, MOST_QUEUES, Panel, Series
from longhaul.orchestrator.analysis.report.chart import ROWS, panel_charts
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.live.live_series import Ints, LiveEvent
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# The events of one run, until it ends or the argument is set.
Events = Callable[[threading.Event], Iterator[LiveEvent]]

# Measure, title, unit, and how many of its units the panel's unit is.
_PANELS = (
    ("cwnd", "Congestion window", "packets", 1.0),
    ("goodput", "Goodput", "Mbit/s", 1e6),
    ("queue", "Queue", "packets", 1.0),
)
_WIDEST = 110
# Lines of a strip besides its rows: title, time axis, legend and an empty line.
_LINES_OF_STRIP = 4
_FEWEST_ROWS = 3


@dataclass(frozen=True, slots=True)
class _Watched:
    title: str
    length_s: float
    events: Events


class LiveCharts:
    """The charts of one run at a time. Runs are numbered by their positions. Thread-safe."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._running: dict[int, _Watched] = {}
        self._shown: int | None = None
        self._title, self._length_s = "", 0.0
        self._series: dict[tuple[str, str], list[tuple[Ints, Floats]]] = {}
        # Counts the events; a frame without a new one is the frame before.
        self._taken = 0
        self._drawn: tuple[tuple[int, int, int], Text | None] = (0, 0, 0), None
        self._over = threading.Event()
        self._lock = threading.Lock()

    def started(self, position: int, title: str, length_s: float, events: Events) -> None:
        """A run begins, again or for the first time."""
        with self._lock:
            self._running.setdefault(position, _Watched(title, length_s, events))
            self._show_next()

    def finished(self, position: int) -> None:
        """A run has ended; its charts stay until another one is running."""
        with self._lock:
            self._running.pop(position, None)
            if self._shown == position:
                self._over.set()
                self._shown = None
                self._show_next()

    def close(self) -> None:
        """Watch no more."""
        with self._lock:
            self._running.clear()
            self._over.set()

    def charts(self, lines: int) -> Text | None:
        """The charts, in so many lines at most; None before the first sample."""
        width = min(self._console.width, _WIDEST)
        with self._lock:
            if (frame := (self._taken, lines, width)) != self._drawn[0]:
                self._drawn = frame, self._draw(lines, width)
            return self._drawn[1]

    def _draw(self, lines: int, width: int) -> Text | None:
        if not (panels := list(self._panels())):
            return None
        room = lines - 1
        most = max(1, room // (_FEWEST_ROWS + _LINES_OF_STRIP))
        panels = panels[:most]
        rows = max(_FEWEST_ROWS, min(ROWS, room // len(panels) - _LINES_OF_STRIP))
        colour = self._console.color_system is not None
        charts = panel_charts(panels, self._length_s, width, colour=colour, rows=rows)
        return Text(f"{self._title}\n").append_text(charts)

    def _show_next(self) -> None:
        if self._shown is not None or not self._running:
            return
        self._shown, watched = next(iter(self._running.items()))
        self._title, self._length_s, self._series = watched.title, watched.length_s, {}
        self._taken += 1
        self._over = threading.Event()
        threading.Thread(target=self._follow, args=(watched, self._over), name="watch", daemon=True).start()

    def _follow(self, watched: _Watched, over: threading.Event) -> None:
        # The run continues without its charts, and its end says what is wrong.
        with contextlib.suppress(LonghaulError, OSError):
            for event in watched.events(over):
                with self._lock:
                    if over.is_set():
                        return
                    self._take(watched, event)

    def _take(self, watched: _Watched, event: LiveEvent) -> None:
        self._taken += 1
        if event.kind == "begin":
            self._series = {}
        elif event.kind == "samples":
            # The length of one run of many is not known on a service.
            self._length_s = watched.length_s or event.data["to_ms"] / 1000
            for series in event.data["series"]:
                part = np.array(series["t_ms"], dtype=np.int64), np.array(series["value"], dtype=float)
                self._series.setdefault((series["measure"], series["of"]), []).append(part)

    def _panels(self) -> Iterator[Panel]:
        for measure, title, unit, a_unit in _PANELS:
            series = [
                Series(of, *self._line(measure, of, a_unit)) for kind, of in list(self._series) if kind == measure
            ]
            if measure == "queue":
                series = [one for place, one in enumerate(series) if place == 0 or one.y.any()][:MOST_QUEUES]
            if series:
                yield Panel(title, unit, series)

    def _line(self, measure: str, of: str, a_unit: float) -> tuple[Floats, Floats]:
        ms, values = (np.concatenate(parts) for parts in zip(*self._series[measure, of], strict=True))
        self._series[measure, of] = [(ms, values)]
        length_ms = round(self._length_s * 1000)
        if measure != "goodput" or not length_ms:
            return ms / 1000, values / a_unit
        # Bytes behind a lost segment arrive all at once: the charts of a kept run have as many goodputs. A sample is the mean of a cell,
        # at its end; a bin has whole cells.
        cell_ms = int(np.diff(ms).min(initial=length_ms))
        bin_ms = -(-length_ms // (MOST_BINS * cell_ms)) * cell_ms
        place = np.maximum(ms - 1, 0) // bin_ms
        counts = np.bincount(place)
        (held,) = counts.nonzero()
        means = np.bincount(place, values)[held] / counts[held]
        return (held + 1) * bin_ms / 1000, means / a_unit
