"""The columns of a kept trace for a chart of many series: each is decoded once for all flows and links, and cut by number.

    SharedColumns(folder) ("ack", ["cwnd"], flow, span)      the same result as `traces.read_columns`

The next flow finds the rows that the last flow's reader skipped. It is open for one chart, and stores the columns for it; in a trace too
long for that, each series is read by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.results.parquet_reader import ParquetFile
from longhaul.orchestrator.results.seals import check_file
from longhaul.orchestrator.results.traces import FAULTS, FILE_NAMES, groups_within, opened, read_columns, unreadable
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVER, SELDOM_KINDS, Columns, SpanNs

# About 250 MB while a chart is made.
_MOST_ROWS = 8_000_000

Array = NDArray[Any]


@dataclass(frozen=True, slots=True)
class _Part:
    """The records of one kind in a time span: the groups, their rows sorted by number, and where each number begins."""

    groups: list[int]
    order: Array | None
    ids: Array
    t_ns: Array

    def of(self, about: int) -> slice:
        first, last = np.searchsorted(self.ids, [about, about + 1])
        return slice(int(first), int(last))


class SharedColumns:
    """The columns of one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._open = ExitStack()
        self._files: dict[str, ParquetFile] = {}
        self._parts: dict[tuple[str, SpanNs], _Part] = {}
        self._columns: dict[tuple[str, SpanNs, str], Array] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    def __call__(self, kind: str, names: Sequence[str], about: int, span_ns: SpanNs = EVER) -> Columns:
        try:
            if kind in SELDOM_KINDS or self._file(kind).rows > _MOST_ROWS:
                return read_columns(self._folder, kind, names, about, span_ns)
            part = self._part(kind, span_ns)
            mine = part.of(about)
            return {"t_ns": part.t_ns[mine]} | {name: self._column(kind, span_ns, name)[mine] for name in names}
        except FAULTS as error:
            raise unreadable(self._folder / FILE_NAMES[kind], error) from error

    def _file(self, kind: str) -> ParquetFile:
        if kind not in self._files:
            check_file(self._folder, FILE_NAMES[kind])
            self._files[kind] = self._open.enter_context(opened(self._folder / FILE_NAMES[kind]))
        return self._files[kind]

    def _part(self, kind: str, span_ns: SpanNs) -> _Part:
        key = kind, span_ns
        if key not in self._parts:
            groups = groups_within(self._file(kind), span_ns)
            ids, t_ns = self._read(kind, groups, "id"), self._read(kind, groups, "t_ns")
            chosen = None
            if span_ns != EVER:
                inside = (t_ns >= span_ns[0]) & (t_ns <= span_ns[1])
                chosen = None if inside.all() else np.flatnonzero(inside)
            if chosen is not None:
                ids, t_ns = ids[chosen], t_ns[chosen]
            if (ids[1:] < ids[:-1]).any():
                order = np.argsort(ids, kind="stable")
                ids, t_ns = ids[order], t_ns[order]
                chosen = order if chosen is None else chosen[order]
            self._parts[key] = _Part(groups, chosen, ids, t_ns)
        return self._parts[key]

    def _column(self, kind: str, span_ns: SpanNs, name: str) -> Array:
        key = kind, span_ns, name
        if key not in self._columns:
            part = self._part(kind, span_ns)
            values = self._read(kind, part.groups, name)
            self._columns[key] = values if part.order is None else values[part.order]
        return self._columns[key]

    def _read(self, kind: str, groups: list[int], name: str) -> Array:
        return self._file(kind).read_all(name, groups)
