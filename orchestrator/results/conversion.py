"""Convert Parquet of the store for other tools: CSV, JSON lines. One group of rows at a time, so that a long trace takes little memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TextIO

from longhaul.orchestrator.results.parquet_reader import ParquetFile
from longhaul.orchestrator.results.seals import check_file
from longhaul.orchestrator.results.traces import FAULTS, opened, unreadable

# Rows made into text at a time.
_BATCH_ROWS = 65_536


def convert(source: Path, target: Path, to: str) -> None:
    """Write a Parquet file of the store as `to`, one of FORMATS."""
    check_file(source.parent, source.name)
    try:
        FORMATS[to](source, target)
    except OSError:
        # From the system, and so with its own remedy.
        raise
    except FAULTS as error:
        raise unreadable(source, error) from error


def _csv(source: Path, target: Path) -> None:
    with opened(source) as file, target.open("w") as lines:
        lines.write(",".join(f'"{name}"' for name in file.names) + "\n")
        _write_rows(file, lines, ",".join(["%d"] * len(file.names)) + "\n")


def _json(source: Path, target: Path) -> None:
    with opened(source) as file, target.open("w") as lines:
        _write_rows(file, lines, "{" + ", ".join(f"{json.dumps(name)}: %d" for name in file.names) + "}\n")


def _write_rows(file: ParquetFile, lines: TextIO, row: str) -> None:
    """Every row in this form; a kept trace has whole numbers only."""
    for group, about in enumerate(file.groups):
        columns = [file.read(group, name) for name in file.names]
        for first in range(0, about.rows, _BATCH_ROWS):
            batch = [column[first : first + _BATCH_ROWS].tolist() for column in columns]
            lines.write("".join(map(row.__mod__, zip(*batch, strict=True))))


def _parquet(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


FORMATS: Mapping[str, Callable[[Path, Path], None]] = {"csv": _csv, "json": _json, "parquet": _parquet}
