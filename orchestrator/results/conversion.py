"""Convert Parquet of the store for other tools: CSV, JSON lines. One batch of rows at a time, so that a long trace takes little memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path

import pyarrow.csv

from longhaul.orchestrator.results.seals import check_file
from longhaul.orchestrator.results.traces import FAULTS, opened, unreadable

_BATCH_ROWS = 65_536


def convert(source: Path, target: Path, to: str) -> None:
    """Write a Parquet file of the store as `to`, one of FORMATS."""
    check_file(source.parent, source.name)
    try:
        FORMATS[to](source, target)
    except OSError as error:
        # pyarrow's errors about the file that it reads have no number; those with one come from the system, and so from the target.
        if error.errno is not None:
            raise
        raise unreadable(source, error) from error
    except FAULTS as error:
        raise unreadable(source, error) from error


def _csv(source: Path, target: Path) -> None:
    with opened(source) as file, pyarrow.csv.CSVWriter(target, file.schema_arrow) as writer:
        for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
            writer.write_batch(batch)


def _json(source: Path, target: Path) -> None:
    with opened(source) as file, target.open("w") as lines:
        for batch in file.iter_batches(_BATCH_ROWS, use_threads=False):
            lines.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())


def _parquet(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


FORMATS: Mapping[str, Callable[[Path, Path], None]] = {"csv": _csv, "json": _json, "parquet": _parquet}
