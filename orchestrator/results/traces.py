"""Kept traces: one Parquet file per kind of record, with every bit of trace.bin.

The order of records is kept within a kind only; their times give the rest.

    read_traces(folder)                              the whole Trace, for measures and reports
    read_columns(folder, "ack", ["cwnd"], flow)      some fields of one flow's or link's records, for a chart

Reading columns decodes only those columns, and only groups of rows that can contain the flow and the time span.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.results.parquet import write_columns
from longhaul.orchestrator.results.parquet_reader import FAULTS as PARQUET_FAULTS
from longhaul.orchestrator.results.parquet_reader import Group, ParquetFile
from longhaul.orchestrator.results.seals import check_file, damaged, is_whole
from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import (
    EVER,
    KIND_NUMBERS,
    RECORD_BYTES,
    SELDOM_KINDS,
    TRACE_KINDS,
    Columns,
    Records,
    SpanNs,
    Trace,
)

FILE_NAMES = {kind: f"{kind}s.parquet" for kind in TRACE_KINDS}
# The files of every run: an empty kind is a file without rows. A kind that only some traces have is a file of those runs alone.
ALWAYS_KEPT = tuple(name for kind, name in FILE_NAMES.items() if kind not in SELDOM_KINDS)

# A view of a part of a run reads groups of this many rows, and skips the others by their statistics.
_GROUP_ROWS = 2**17
_WITH_STATISTICS = ("t_ns", "id")

# Rows of a group: all of them, or some by their numbers.
Rows = slice | NDArray[np.intp]

# The errors of reading a file: of what it holds, of the system, and of code that uses its values.
FAULTS = (OSError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError, *PARQUET_FAULTS)


def write_traces(folder: Path, trace: Trace) -> None:
    """Write one file per kind into `folder`."""
    for kind, records in trace.kinds().items():
        if kind in SELDOM_KINDS and not len(records):
            continue
        names = [name for name in records.dtype.names or () if name != "kind"]
        columns = {name: records[name] for name in names}
        write_columns(folder / FILE_NAMES[kind], columns, group_rows=_GROUP_ROWS, with_statistics=_WITH_STATISTICS)


def read_traces(folder: Path) -> Trace:
    """The trace that `write_traces` wrote."""
    arrays = {kind: read_kind(folder, kind) for kind in TRACE_KINDS}
    return Trace(*(arrays[kind] for kind in TRACE_KINDS))


def read_columns(folder: Path, kind: str, names: Sequence[str], about: int, span_ns: SpanNs = EVER) -> Columns:
    """`t_ns` and these fields of the records of one flow or link, from a time to a time, both included."""
    file = folder / FILE_NAMES[kind]
    check_file(folder, file.name)
    wanted = list(dict.fromkeys(["t_ns", *names]))
    if _has_none(file, kind):
        return {name: np.empty(0, TRACE_KINDS[kind][name]) for name in wanted}
    try:
        with opened(file) as source:
            chosen = [
                (group, rows)
                for group, part in enumerate(source.groups)
                if (rows := _chosen(source, group, _statistics(part), about, span_ns)) is not None
            ]
            if len(chosen) == 1:
                ((group, rows),) = chosen
                return {name: _values(source, group, name, kind, rows) for name in wanted}
            lengths = [rows.stop if isinstance(rows, slice) else len(rows) for _, rows in chosen]
            found = {name: np.empty(sum(lengths), TRACE_KINDS[kind][name]) for name in wanted}
            # A group at a time: a long trace is never in memory as a whole for one of its flows.
            first = 0
            for (group, rows), length in zip(chosen, lengths, strict=True):
                for name in wanted:
                    found[name][first : first + length] = _values(source, group, name, kind, rows)
                first += length
    except FAULTS as error:
        raise unreadable(file, error) from error
    return found


def _has_none(file: Path, kind: str) -> bool:
    """Whether the run has no such records; a file that was kept and is gone has been refused by then."""
    return kind in SELDOM_KINDS and not file.is_file()


def opened(file: Path) -> ParquetFile:
    """A Parquet file of the store; each page is compared with its checksum if it has one."""
    return ParquetFile(file)


def unreadable(file: Path, error: BaseException) -> TraceError:
    """The error of a file of a kept run, with the remedy."""
    if isinstance(error, MemoryError):
        hint = "free some memory, or request less of it at once; `longhaul verify` reports whether the file is whole"
        return TraceError("reading trace", str(file), "there is too little memory for it", hint)
    what = " ".join(str(error).split()) or type(error).__name__
    if is_whole(file.parent, file.name):
        hint = "its content is unchanged: is there too little memory?"
        return TraceError("reading trace", str(file), what, hint)
    return damaged(file.parent, file.name, what)


def unsealed_fault(folder: Path, name: str) -> str:
    """Why a file without a hash cannot be read; "" if it can."""
    kind = next(kind for kind, file in FILE_NAMES.items() if file == name)
    try:
        read_kind(folder, kind)
    except TraceError as error:
        return str(error)
    return ""


def groups_within(source: ParquetFile, span_ns: SpanNs) -> list[int]:
    """The groups of a file's rows that can contain records of that time span."""
    times = [_statistics(group).t_ns for group in source.groups]
    return [group for group, (first, last) in enumerate(times) if first <= span_ns[1] and span_ns[0] <= last]


def _chosen(source: ParquetFile, group: int, statistics: _Statistics, about: int, span_ns: SpanNs) -> Rows | None:
    """The rows of this flow or link in this time span, if there are any; a column is not read if the statistics of the group suffice."""
    if not statistics.may_hold(about, span_ns):
        return None
    every = statistics.id == (about, about)
    within = statistics.lies_within(span_ns)
    if every and within:
        return slice(0, source.groups[group].rows)
    chosen = np.ones(source.groups[group].rows, np.bool_) if every else source.read(group, "id") == about
    if not within:
        t_ns = source.read(group, "t_ns")
        chosen &= (t_ns >= span_ns[0]) & (t_ns <= span_ns[1])
    rows = np.flatnonzero(chosen)
    return rows if len(rows) else None


def _values(source: ParquetFile, group: int, name: str, kind: str, rows: Rows) -> NDArray[Any]:
    values = source.read(group, name).astype(TRACE_KINDS[kind][name], copy=False)
    return values if isinstance(rows, slice) else values.take(rows)


@dataclass(frozen=True, slots=True)
class _Statistics:
    """A group's statistics: the least and the greatest id and time, or any values without statistics."""

    id: SpanNs
    t_ns: SpanNs

    def may_hold(self, about: int, span_ns: SpanNs) -> bool:
        """Whether there can be records of this flow or link in this time span."""
        return self.id[0] <= about <= self.id[1] and self.t_ns[0] <= span_ns[1] and span_ns[0] <= self.t_ns[1]

    def lies_within(self, span_ns: SpanNs) -> bool:
        """Whether all records are in this time span."""
        return span_ns[0] <= self.t_ns[0] and self.t_ns[1] <= span_ns[1]


def _statistics(group: Group) -> _Statistics:
    return _Statistics(**{name: group.bounds(name) or EVER for name in _WITH_STATISTICS})


def read_kind(folder: Path, kind: str) -> Records:
    """The records of one kind."""
    file = folder / FILE_NAMES[kind]
    check_file(folder, file.name)
    if _has_none(file, kind):
        return _empty(0, kind)
    try:
        with opened(file) as source:
            records = _empty(source.rows, kind)
            first = 0
            for group, about in enumerate(source.groups):
                _fill(records[first : first + about.rows], source, group)
                first += about.rows
    except FAULTS as error:
        raise unreadable(file, error) from error
    return records


def read_in_groups(folder: Path, kind: str) -> Iterator[Records]:
    """The same, a group of rows of the file at a time."""
    file = folder / FILE_NAMES[kind]
    check_file(folder, file.name)
    if _has_none(file, kind):
        return
    try:
        with opened(file) as source:
            for group, about in enumerate(source.groups):
                records = _empty(about.rows, kind)
                _fill(records, source, group)
                yield records
    except FAULTS as error:
        raise unreadable(file, error) from error


def _empty(rows: int, kind: str) -> Records:
    records = np.zeros(rows * RECORD_BYTES, dtype=np.uint8).view(TRACE_KINDS[kind])
    records["kind"] = KIND_NUMBERS[kind]
    return records


def _fill(records: Records, source: ParquetFile, group: int) -> None:
    for name in source.names:
        records[name] = source.read(group, name)
