"""Rows of a Parquet file, some at a time, so that its size needs no memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from longhaul.orchestrator.recorded_links.text import Malformed

_READ_BYTES = 1 << 20


def parquet_rows(path: Path, at_once: int) -> Iterator[tuple[int, Sequence[Any]]]:
    """The names of the columns, then the rows, with numbers as a spreadsheet would give them."""
    try:
        from pyarrow import ArrowException, string, types
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise Malformed(path, None, None, "reading Parquet needs pyarrow: pip install 'longhaul[frames]'") from None
    try:
        # By default it keeps all that it has read ahead.
        with ParquetFile(path, pre_buffer=False, buffer_size=_READ_BYTES) as file:
            yield 1, file.schema_arrow.names
            number = 2
            for batch in file.iter_batches(batch_size=at_once, use_threads=False):
                # Not every date of Parquet is one of Python.
                columns = [
                    column.cast(string()) if types.is_temporal(column.type) else column for column in batch.columns
                ]
                for row in zip(*(column.to_pylist() for column in columns), strict=True):
                    yield number, row
                    number += 1
    except (OSError, ArrowException, ValueError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise Malformed(path, None, None, error.strerror) from error
        reason = " ".join(str(error).split())
        raise Malformed(path, None, None, f"not a Parquet file: {reason}") from None
