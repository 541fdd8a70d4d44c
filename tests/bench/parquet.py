"""The Parquet files of kept runs against those of pyarrow, with the settings of the last version that used it:

    python -m tests.bench.parquet FOLDER...      folders of kept runs, as LONGHAUL_HOME/runs/ab/abcd...

Sizes in kB; processor time in ms, of all threads: the least of several attempts, in this process, on files in a temporary folder.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from longhaul.orchestrator.results.conversion import FORMATS
from longhaul.orchestrator.results.parquet_reader import ParquetFile
from longhaul.orchestrator.results.traces import FILE_NAMES, read_traces, write_traces
from longhaul.orchestrator.trace.records import KIND_NUMBERS, RECORD_BYTES, TRACE_KINDS, Trace

_ATTEMPTS = 7


def write_with_pyarrow(folder: Path, trace: Trace) -> None:
    """As the last version wrote them."""
    for kind, records in trace.kinds().items():
        names = [name for name in records.dtype.names or () if name != "kind"]
        columns = {name: np.ascontiguousarray(records[name]) for name in names}
        wide = [name for name in names if columns[name].itemsize in (4, 8)]
        pq.write_table(
            pa.table(columns), folder / FILE_NAMES[kind], compression="lz4", use_dictionary=False,
            column_encoding=dict.fromkeys(wide, "DELTA_BINARY_PACKED"), row_group_size=2**17,
            write_statistics=["t_ns", "id"], write_page_checksum=True, store_schema=False,
        )  # fmt: skip


def read_with_pyarrow(folder: Path) -> None:
    """As the last version read them, into records."""
    for kind, layout in TRACE_KINDS.items():
        with pq.ParquetFile(folder / FILE_NAMES[kind], page_checksum_verification=True) as source:
            table = source.read()
        records = np.zeros(table.num_rows * RECORD_BYTES, dtype=np.uint8).view(layout)
        records["kind"] = KIND_NUMBERS[kind]
        for name in table.column_names:
            records[name] = table.column(name).to_numpy()


def csv_with_pyarrow(source: Path, target: Path) -> None:
    """As the last version exported them."""
    with pq.ParquetFile(source) as file, pyarrow.csv.CSVWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches(65_536, use_threads=False):
            writer.write_batch(batch)


def column_with_pyarrow(file: Path) -> None:
    """One column, as for a chart."""
    with pq.ParquetFile(file, page_checksum_verification=True) as source:
        for batch in source.iter_batches(2**16, None, ["t_ns", "id", "cwnd"], use_threads=False):
            for name in ("t_ns", "id", "cwnd"):
                batch.column(name).to_numpy()


def column(file: Path) -> None:
    """The same without pyarrow."""
    with ParquetFile(file) as source:
        for group in range(len(source.groups)):
            for name in ("t_ns", "id", "cwnd"):
                source.read(group, name)


def least_ms(work: Callable[[], None]) -> float:
    """The least time of several attempts."""
    times = []
    for _ in range(_ATTEMPTS):
        begin_s = time.process_time()
        work()
        times.append(time.process_time() - begin_s)
    return min(times) * 1e3


def compared(trace: Trace, old: Path, new: Path) -> Iterator[tuple[str, Callable[[], None], Callable[[], None]]]:
    """What is measured: with pyarrow, and without."""
    acks_old, acks_new = old / FILE_NAMES["ack"], new / FILE_NAMES["ack"]
    yield "write", lambda: write_with_pyarrow(old, trace), lambda: write_traces(new, trace)
    yield "read into records", lambda: read_with_pyarrow(old), lambda: _read(new)
    yield "read the files of pyarrow", lambda: read_with_pyarrow(old), lambda: _read(old)
    yield "one column of ACKs", lambda: column_with_pyarrow(acks_old), lambda: column(acks_new)
    yield "ACKs as CSV", lambda: csv_with_pyarrow(acks_old, old / "csv"), lambda: FORMATS["csv"](acks_new, new / "csv")


def main() -> None:
    """Print a table for each folder."""
    for name in sys.argv[1:]:
        trace = read_traces(Path(name))
        print(f"{name}: {sum(map(len, trace.kinds().values()))} records")
        with tempfile.TemporaryDirectory() as before, tempfile.TemporaryDirectory() as now:
            for what, then, today in compared(trace, Path(before), Path(now)):
                print(f"  {what}: pyarrow {least_ms(then):.1f} ms, now {least_ms(today):.1f} ms")
            sizes = [
                sum((Path(folder) / file).stat().st_size for file in FILE_NAMES.values()) for folder in (before, now)
            ]
        print(f"  files: pyarrow {sizes[0] / 1e3:.0f} kB, now {sizes[1] / 1e3:.0f} kB")


def _read(folder: Path) -> None:
    for kind, layout in TRACE_KINDS.items():
        with ParquetFile(folder / FILE_NAMES[kind]) as source:
            records = np.zeros(source.rows * RECORD_BYTES, dtype=np.uint8).view(layout)
            records["kind"] = KIND_NUMBERS[kind]
            first = 0
            for group, about in enumerate(source.groups):
                for name in source.names:
                    records[name][first : first + about.rows] = source.read(group, name)
                first += about.rows


if __name__ == "__main__":
    main()
