"""Convert Parquet of the store for other tools: CSV, JSON lines. One group of rows at a time, so that a long trace takes little memory."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.results.parquet_reader import ParquetFile
from longhaul.orchestrator.results.seals import check_file
from longhaul.orchestrator.results.traces import FAULTS, opened, unreadable

# Rows made into text at a time.
_BATCH_ROWS = 16_384
# The numbers to 9999 as four digits each, and the powers of ten: a number has as many digits as there are powers up to it.
_FOURS = np.frombuffer(b"".join(b"%04d" % number for number in range(10_000)), "<u4")
_POWERS = np.array([10**power for power in range(20)], np.uint64)


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
    with opened(source) as file, target.open("wb") as lines:
        lines.write((",".join(f'"{name}"' for name in file.names) + "\n").encode())
        _write_rows(file, lines, ["", *[","] * (len(file.names) - 1)], "\n")


def _json(source: Path, target: Path) -> None:
    with opened(source) as file, target.open("wb") as lines:
        keys = [f"{json.dumps(name)}: " for name in file.names]
        _write_rows(file, lines, ["{" + keys[0], *(f", {key}" for key in keys[1:])], "}\n")


def _write_rows(file: ParquetFile, lines: BinaryIO, before: Sequence[str], end: str) -> None:
    """Every row: a text before each number, and one at the end."""
    for group, about in enumerate(file.groups):
        columns = [file.read(group, name) for name in file.names]
        for first in range(0, about.rows, _BATCH_ROWS):
            batch = [column[first : first + _BATCH_ROWS] for column in columns]
            lines.write(_rows_text(batch, before, end))


def _rows_text(columns: Sequence[NDArray[Any]], before: Sequence[str], end: str) -> bytes:
    """Rows as text, all at once: each number with the digits of the largest, of which those that it lacks are left out."""
    rows = len(columns[0])
    cells: list[NDArray[np.uint8]] = []
    shown: list[NDArray[np.bool_]] = []
    for text, column in zip([*before, end], [*columns, None], strict=True):
        letters = np.frombuffer(text.encode(), np.uint8)
        cells.append(np.broadcast_to(letters, (rows, len(letters))))
        shown.append(np.broadcast_to(np.True_, (rows, len(letters))))
        if column is not None:
            least, most = len(str(int(column.min()))), len(str(int(column.max())))
            digits = _digits(column)[:, -most:]
            cells.append(digits)
            if least == most:
                shown.append(np.broadcast_to(np.True_, digits.shape))
            else:
                counts = np.maximum(np.searchsorted(_POWERS, column.astype(np.uint64), side="right"), 1)
                shown.append(np.arange(most) >= most - counts[:, None])
    found: bytes = np.concatenate(cells, axis=1)[np.concatenate(shown, axis=1)].tobytes()
    return found


def _digits(column: NDArray[Any]) -> NDArray[np.uint8]:
    """A row of digits for each number, with zeros in front."""
    fours = -(-len(str(int(column.max(initial=0)))) // 4)
    rest = column.astype(np.uint64 if column.itemsize == 8 else np.uint32)
    found = np.empty((len(column), fours), _FOURS.dtype)
    for place in reversed(range(fours)):
        rest, four = np.divmod(rest, rest.dtype.type(10_000))
        found[:, place] = _FOURS[four]
    return found.view(np.uint8).reshape(len(column), -1)


def _parquet(source: Path, target: Path) -> None:
    shutil.copyfile(source, target)


FORMATS: Mapping[str, Callable[[Path, Path], None]] = {"csv": _csv, "json": _json, "parquet": _parquet}
