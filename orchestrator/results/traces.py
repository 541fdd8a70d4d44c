"""Kept traces: one Parquet file per kind of record, with every bit of trace.bin.

The order of records is kept within a kind only; their times give the rest.

    read_traces(folder)                              the whole Trace, for measures and reports
    read_columns(folder, "ack", ["cwnd"], flow)      some fields of one flow's or link's records, for a chart

Reading columns decodes only those columns, and only groups of rows that can contain the flow and the time span.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from longhaul.orchestrator.results.seals import check_file, damaged, is_whole
from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import (
    EVER,
    KIND_NUMBERS,
    RECORD_BYTES,
    TRACE_KINDS,
    Columns,
    Records,
    SpanNs,
    Trace,
)

# A file is written for every kind, so that readers need no special cases: an empty kind is a file without rows.
FILE_NAMES = {kind: f"{kind}s.parquet" for kind in TRACE_KINDS}

# The difference to the previous value has few bits or repeats; Parquet encodes such differences of 32 and 64 bits.
_DELTA_BYTES = (4, 8)

# A view of a part of a run reads groups of this many rows, and skips the others by their statistics.
_GROUP_ROWS = 2**17
_WITH_STATISTICS = ("t_ns", "id")
# Rows decoded at a time: a long trace is never in memory as a whole for one of its flows.
_BATCH_ROWS = 2**16

# The errors that reading a damaged file has been seen to raise, from pyarrow and from code that uses its values.
FAULTS = (OSError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError, pa.ArrowException)


def write_traces(folder: Path, trace: Trace) -> None:
    """Write one file per kind into `folder`."""
    for kind, records in trace.kinds().items():
        names = [name for name in records.dtype.names or () if name != "kind"]
        columns: dict[str, Any] = {name: np.ascontiguousarray(records[name]) for name in names}
        differing = [name for name in names if columns[name].itemsize in _DELTA_BYTES]
        pq.write_table(
            pa.table({name: _array(column) for name, column in columns.items()}),
            folder / FILE_NAMES[kind],
            # With these differences zstd is a fifth smaller, but takes two thirds of the time that a short run needs for its files.
            compression="lz4",
            use_dictionary=False,
            column_encoding=dict.fromkeys(differing, "DELTA_BINARY_PACKED"),
            row_group_size=_GROUP_ROWS,
            write_statistics=[name for name in names if name in _WITH_STATISTICS],
            write_page_checksum=True,
            store_schema=False,
        )


def _array(column: NDArray[Any]) -> Any:
    """The numbers for pyarrow, not copied. pa.array() would load pandas, if it is installed, to check for its types."""
    return pa.Array.from_buffers(pa.from_numpy_dtype(column.dtype), len(column), [None, pa.py_buffer(column)])


def read_traces(folder: Path) -> Trace:
    """The trace that `write_traces` wrote."""
    arrays = {kind: read_kind(folder, kind) for kind in TRACE_KINDS}
    return Trace(*(arrays[kind] for kind in TRACE_KINDS))


def read_columns(folder: Path, kind: str, names: Sequence[str], about: int, span_ns: SpanNs = EVER) -> Columns:
    """`t_ns` and these fields of the records of one flow or link, from a time to a time, both included."""
    file = folder / FILE_NAMES[kind]
    check_file(folder, file.name)
    wanted = list(dict.fromkeys(["t_ns", *names]))
    # Without records, an empty array of each field's type.
    parts = {name: [np.zeros(0, TRACE_KINDS[kind][name])] for name in wanted}
    try:
        with opened(file) as source:
            statistics = [
                _statistics(source.metadata.row_group(group)) for group in range(source.metadata.num_row_groups)
            ]
            groups = [group for group, ranges in enumerate(statistics) if ranges.may_hold(about, span_ns)]
            whole = all(statistics[group].holds_only(about, span_ns) for group in groups)
            read = wanted if whole else list({*wanted, "id"})
            # One thread: many requests at once share the processors better this way.
            for batch in source.iter_batches(_BATCH_ROWS, groups, read, use_threads=False):
                chosen = slice(None) if whole else _chosen(batch, about, span_ns)
                for name in wanted:
                    parts[name].append(batch.column(name).to_numpy()[chosen])
    except FAULTS as error:
        raise unreadable(file, error) from error
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def opened(file: Path) -> Any:
    """A Parquet file of the store; each page is compared with its checksum if it has one."""
    return pq.ParquetFile(file, page_checksum_verification=True)


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


def groups_within(source: Any, span_ns: SpanNs) -> list[int]:
    """The groups of a file's rows that can contain records of that time span."""
    times = [_statistics(source.metadata.row_group(group)).t_ns for group in range(source.metadata.num_row_groups)]
    return [group for group, (first, last) in enumerate(times) if first <= span_ns[1] and span_ns[0] <= last]


def _chosen(batch: Any, about: int, span_ns: SpanNs) -> NDArray[np.bool_]:
    """The rows of this flow or link in this time span."""
    chosen: NDArray[np.bool_] = batch.column("id").to_numpy() == about
    if span_ns != EVER:
        t_ns = batch.column("t_ns").to_numpy()
        chosen &= (t_ns >= span_ns[0]) & (t_ns <= span_ns[1])
    return chosen


@dataclass(frozen=True, slots=True)
class _Statistics:
    """A group's statistics: the least and the greatest id and time, or any values without statistics."""

    id: SpanNs
    t_ns: SpanNs

    def may_hold(self, about: int, span_ns: SpanNs) -> bool:
        """Whether there can be records of this flow or link in this time span."""
        return self.id[0] <= about <= self.id[1] and self.t_ns[0] <= span_ns[1] and span_ns[0] <= self.t_ns[1]

    def holds_only(self, about: int, span_ns: SpanNs) -> bool:
        """Whether there are only such records: then the rows need not be filtered."""
        return self.id == (about, about) and span_ns[0] <= self.t_ns[0] and self.t_ns[1] <= span_ns[1]


def _statistics(group: Any) -> _Statistics:
    found = dict.fromkeys(_WITH_STATISTICS, EVER)
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema in found and (stored := column.statistics) is not None and stored.has_min_max:
            found[column.path_in_schema] = (stored.min, stored.max)
    return _Statistics(**found)


def read_kind(folder: Path, kind: str) -> Records:
    """The records of one kind."""
    file = folder / FILE_NAMES[kind]
    check_file(folder, file.name)
    try:
        with opened(file) as source:
            table = source.read()
        records = np.zeros(table.num_rows * RECORD_BYTES, dtype=np.uint8).view(TRACE_KINDS[kind])
        records["kind"] = KIND_NUMBERS[kind]
        for name in table.column_names:
            records[name] = table.column(name).to_numpy()
    except FAULTS as error:
        raise unreadable(file, error) from error
    return records
