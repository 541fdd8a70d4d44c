"""The places of runs on Prometheus' time axis. A run in virtual time has a place of its own, never in the future.

    now - window                              now
    |....|==run==|..|==run==|==new==|..|==run==|         the latest gap that it fits into, a second from its neighbours
         a run in real time has the time when it ran: its place is recorded, not chosen

A run that was placed once keeps its place: a second export sends the same samples again, which changes nothing.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Self

from sqlalchemy import Connection, delete, select, update

from longhaul.orchestrator.database.connection import InDatabase, insert_new
from longhaul.orchestrator.database.tables import RUNS, SPANS
from longhaul.orchestrator.plan.run_document import PrometheusSpan
from longhaul.orchestrator.system.errors import ExportError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Between two runs, and between a run and now: the mark of a run's end is after it.
GAP_MS = 1000
# Samples as old as the window may be too old when they arrive.
_MARGIN = 24


@dataclass(frozen=True, slots=True)
class Span:
    """A run's place, in milliseconds since 1970, and the length of a cell of its samples."""

    begin_ms: int
    end_ms: int
    resolution_ms: int

    def as_document(self) -> PrometheusSpan:
        """The form in a run's document: until the run's end, which is a cell before its place's."""
        return {
            "begin_ms": self.begin_ms,
            "end_ms": self.end_ms - self.resolution_ms,
            "resolution_ms": self.resolution_ms,
        }

    @classmethod
    def of_document(cls, written: Mapping[str, Any]) -> Self | None:
        """The span in a document, if it has one."""
        if "begin_ms" not in written:
            return None
        cell_ms = written["resolution_ms"]
        return cls(written["begin_ms"], written["end_ms"] + cell_ms, cell_ms)


def latest_gap(taken: Iterable[tuple[int, int]], length_ms: int, earliest_ms: int, now_ms: int) -> int | None:
    """The beginning of the latest gap that ends before now, or None; `taken` is sorted by its ends, the last one first."""
    end_ms = now_ms - GAP_MS
    for one_begins_ms, one_ends_ms in taken:
        if one_ends_ms + GAP_MS <= end_ms - length_ms:
            break
        end_ms = min(end_ms, one_begins_ms - GAP_MS)
    begin_ms = end_ms - length_ms
    return begin_ms if begin_ms >= earliest_ms else None


def earliest_ms(now_ms: int, window_s: int) -> int:
    """The earliest time whose samples a server with this window certainly accepts."""
    return now_ms - window_s * 1000 * (_MARGIN - 1) // _MARGIN


class Spans(InDatabase):
    """The places of a database's runs."""

    def of(self, run_id: str) -> Span | None:
        """A run's place, if it has one."""
        with self._database.read() as connection:
            return _known(connection, run_id)

    def place(self, run_id: str, length_ms: int, resolution_ms: int, window_s: int) -> Span:
        """A place for a run, its present one if that is within the window; ExportError if there is no room."""
        now_ms = int(time.time() * 1000)
        first_ms = earliest_ms(now_ms, window_s)
        with self._database.write() as connection:
            had = _known(connection, run_id)
            wanted = (length_ms, resolution_ms)
            if had and had.begin_ms >= first_ms and (had.end_ms - had.begin_ms, had.resolution_ms) == wanted:
                return had
            # The place of a deleted run is freed once it is older than the samples that can be sent.
            gone = SPANS.c.run_id.not_in(select(RUNS.c.id))
            connection.execute(delete(SPANS).where(SPANS.c.end_ms < first_ms, gone))
            taken = connection.execute(
                select(SPANS.c.begin_ms, SPANS.c.end_ms)
                .where(SPANS.c.end_ms > first_ms)
                .order_by(SPANS.c.end_ms.desc())
            )
            begin_ms = latest_gap(((one.begin_ms, one.end_ms) for one in taken), length_ms, first_ms, now_ms)
            if begin_ms is None:
                what = f"the {window_s / 3600:g} h for which Prometheus accepts samples have no gap of {length_ms / 1000:g} s left"
                hint = f"once it is kept, wait a while and run `longhaul export {run_id} --to prometheus`"
                raise ExportError("finding a place in Prometheus' time for", f"run {run_id}", what, hint)
            span = Span(begin_ms, begin_ms + length_ms, resolution_ms)
            _write(connection, run_id, span)
        return span

    def put(self, run_id: str, span: Span) -> None:
        """Record a run's place."""
        with self._database.write() as connection:
            _write(connection, run_id, span)


def _known(connection: Connection, run_id: str) -> Span | None:
    query = select(SPANS.c.begin_ms, SPANS.c.end_ms, SPANS.c.resolution_ms).where(SPANS.c.run_id == run_id)
    row = connection.execute(query).one_or_none()
    return Span(*row) if row is not None else None


def _write(connection: Connection, run_id: str, span: Span) -> None:
    row = asdict(span)
    if not insert_new(connection, SPANS, [{"run_id": run_id} | row]):
        connection.execute(update(SPANS).where(SPANS.c.run_id == run_id).values(row))
