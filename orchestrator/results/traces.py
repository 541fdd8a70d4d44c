"""Traces at rest: one Parquet file a kind of record, holding every bit of trace.bin.

The order of records across kinds is not kept, only within a kind; with the times that is all there is to know.

    read_traces(folder)                              the whole Trace, for measures and reports
    read_columns(folder, "ack", ["cwnd"], flow)      some fields of one flow's or link's records, for a picture

Reading columns decodes those columns alone, of those groups of rows alone that can hold the flow and the time asked for.
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

# Written in full for every run, so that readers need no special cases: an empty kind is a file without rows.
FILE_NAMES = {kind: f"{kind}s.parquet" for kind in TRACE_KINDS}

# The difference to the value before is a few bits, or the same again and again; Parquet has it of 32 bits and of 64.
_DELTA_BYTES = (4, 8)

# A look at a part of a run reads groups of so many rows, and passes the others by: their statistics say what they hold.
_GROUP_ROWS = 2**17
_TOLD = ("t_ns", "id")
# What is decoded at a time: a long trace is never in memory as a whole for the sake of one of its flows.
_BATCH_ROWS = 2**16

# All that reading a damaged file has been seen to raise, of pyarrow and of what takes its values for those of a trace.
FAULTS = (OSError, ArithmeticError, LookupError, MemoryError, TypeError, ValueError, pa.ArrowException)


def write_traces(folder: Path, trace: Trace) -> None:
    """One file a kind into `folder`."""
    for kind, records in trace.kinds().items():
        names = [name for name in records.dtype.names or () if name != "kind"]
        columns: dict[str, Any] = {name: np.ascontiguousarray(records[name]) for name in names}
        differing = [name for name in names if columns[name].itemsize in _DELTA_BYTES]
        pq.write_table(
            pa.table({name: _array(column) for name, column in columns.items()}),
            folder / FILE_NAMES[kind],
            # Of differences zstd makes a fifth less, and needs two thirds of the time that a short run has for its files.
            compression="lz4",
            use_dictionary=False,
            column_encoding=dict.fromkeys(differing, "DELTA_BINARY_PACKED"),
            row_group_size=_GROUP_ROWS,
            write_statistics=[name for name in names if name in _TOLD],
            write_page_checksum=True,
            store_schema=False,
        )


def _array(column: NDArray[Any]) -> Any:
    """The numbers as pyarrow has them, not copied. pa.array() would load pandas, where that is installed, to ask whether it is one of its own."""
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
    # Of no record, an empty array of each field's type.
    parts = {name: [np.zeros(0, TRACE_KINDS[kind][name])] for name in wanted}
    try:
        with opened(file) as source:
            told = [_told(source.metadata.row_group(group)) for group in range(source.metadata.num_row_groups)]
            groups = [group for group, ranges in enumerate(told) if ranges.may_hold(about, span_ns)]
            whole = all(told[group].holds_only(about, span_ns) for group in groups)
            read = wanted if whole else list({*wanted, "id"})
            # One thread: many requests at once share the processors better so.
            for batch in source.iter_batches(_BATCH_ROWS, groups, read, use_threads=False):
                chosen = slice(None) if whole else _chosen(batch, about, span_ns)
                for name in wanted:
                    parts[name].append(batch.column(name).to_numpy()[chosen])
    except FAULTS as error:
        raise unreadable(file, error) from error
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}


def opened(file: Path) -> Any:
    """A Parquet file of the store, each of whose pages is compared with its checksum where it has one."""
    return pq.ParquetFile(file, page_checksum_verification=True)


def unreadable(file: Path, error: BaseException) -> TraceError:
    """What is wrong with a file of a kept run, and the way to another."""
    if isinstance(error, MemoryError):
        hint = "free some memory, or ask for less of it at once; `longhaul verify` says whether the file is whole"
        return TraceError("reading trace", str(file), "there is too little memory for it", hint)
    what = " ".join(str(error).split()) or type(error).__name__
    if is_whole(file.parent, file.name):
        hint = "its content is what was kept: is there too little memory?"
        return TraceError("reading trace", str(file), what, hint)
    return damaged(file.parent, file.name, what)


def unsealed_fault(folder: Path, name: str) -> str:
    """Why a file without a hash cannot be read; nothing where it can."""
    kind = next(kind for kind, file in FILE_NAMES.items() if file == name)
    try:
        read_kind(folder, kind)
    except TraceError as error:
        return str(error)
    return ""


def groups_within(source: Any, span_ns: SpanNs) -> list[int]:
    """Which groups of a file's rows can hold records of that time."""
    told = [_told(source.metadata.row_group(group)).t_ns for group in range(source.metadata.num_row_groups)]
    return [group for group, (first, last) in enumerate(told) if first <= span_ns[1] and span_ns[0] <= last]


def _chosen(batch: Any, about: int, span_ns: SpanNs) -> NDArray[np.bool_]:
    """The rows of this flow or link in this time."""
    chosen: NDArray[np.bool_] = batch.column("id").to_numpy() == about
    if span_ns != EVER:
        t_ns = batch.column("t_ns").to_numpy()
        chosen &= (t_ns >= span_ns[0]) & (t_ns <= span_ns[1])
    return chosen


@dataclass(frozen=True, slots=True)
class _Told:
    """What a group's statistics tell: the least and the greatest id and time, or anything where they tell nothing."""

    id: SpanNs
    t_ns: SpanNs

    def may_hold(self, about: int, span_ns: SpanNs) -> bool:
        """Whether there can be records of this flow or link in this time."""
        return self.id[0] <= about <= self.id[1] and self.t_ns[0] <= span_ns[1] and span_ns[0] <= self.t_ns[1]

    def holds_only(self, about: int, span_ns: SpanNs) -> bool:
        """Whether there is nothing else: then no row needs to be looked at."""
        return self.id == (about, about) and span_ns[0] <= self.t_ns[0] and self.t_ns[1] <= span_ns[1]


def _told(group: Any) -> _Told:
    found = dict.fromkeys(_TOLD, EVER)
    for place in range(group.num_columns):
        column = group.column(place)
        if column.path_in_schema in found and (told := column.statistics) is not None and told.has_min_max:
            found[column.path_in_schema] = (told.min, told.max)
    return _Told(**found)


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
