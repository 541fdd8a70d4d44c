"""Traces at rest: one Parquet file (zstd) a kind of record, holding every bit of trace.bin.

The order of records across kinds is not kept, only within a kind; with the times that is all there is to know.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from orchestrator.errors import TraceError
from orchestrator.trace import KIND_NUMBERS, RECORD_BYTES, TRACE_KINDS, Records, Trace

# Written in full for every run, so that readers need no special cases: an empty kind is a file without rows.
FILE_NAMES = {kind: f"{kind}s.parquet" for kind in TRACE_KINDS}

# Times and counters rise slowly: the difference to the value before is a few bits, which zstd then folds away.
_DELTA_TYPES = ("t_ns", "acked_bytes", "delivered", "app_bytes", "tx_packets", "tx_bytes", "queue_byte_ns")


def write_traces(folder: Path, trace: Trace) -> None:
    """One file a kind into `folder`."""
    for kind, records in trace.kinds().items():
        names = [name for name in records.dtype.names or () if name != "kind"]
        columns: dict[str, Any] = {name: np.ascontiguousarray(records[name]) for name in names}
        table = pa.table(columns)
        pq.write_table(
            table,
            folder / FILE_NAMES[kind],
            compression="zstd",
            compression_level=3,
            use_dictionary=[name for name in names if name not in _DELTA_TYPES],
            column_encoding={name: "DELTA_BINARY_PACKED" for name in names if name in _DELTA_TYPES},
            write_statistics=False,
            store_schema=False,
        )


def read_traces(folder: Path) -> Trace:
    """The trace that `write_traces` wrote."""
    arrays = {kind: _read(folder / FILE_NAMES[kind], kind) for kind in TRACE_KINDS}
    return Trace(*(arrays[kind] for kind in TRACE_KINDS))


def _read(file: Path, kind: str) -> Records:
    try:
        table = pq.read_table(file)
    except (OSError, pa.ArrowInvalid) as error:
        raise TraceError("reading trace", str(file), str(error)) from error
    records = np.zeros(table.num_rows * RECORD_BYTES, dtype=np.uint8).view(TRACE_KINDS[kind])
    records["kind"] = KIND_NUMBERS[kind]
    for name in table.column_names:
        records[name] = table.column(name).to_numpy()
    return records
