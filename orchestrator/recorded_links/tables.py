"""Tables of time, rate, delay and loss: CSV and Parquet. Columns are found by their names, with the unit in the name, or named by the user.

    time_s,rate_mbps,delay_ms,loss          0.0,12.5,24.1,0
    columns: {time: "Timestamp in ms", rate: "dl in kbit/s"}

A row holds until the next one; the last one holds as long as the one before. Without a column of times every row lasts one `step`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import (
    LARGEST_DELAY_NS,
    LARGEST_RATE_BPS,
    NS_PER_S,
    Chunk,
    Chunks,
    Ints,
)
from longhaul.orchestrator.recorded_links.formats import COLUMNS
from longhaul.orchestrator.recorded_links.parquet import parquet_rows
from longhaul.orchestrator.recorded_links.text import Malformed
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_ROWS = 1 << 15
# Of one row, in characters.
_LONGEST_ROW = 1 << 20
# Nanoseconds in 64 bits: more than 31 years.
_LONGEST_NS = 10**18
# Bytes that are not UTF-8, as Python reads them.
_UNDECODED = re.compile("[\udc80-\udcff]")
_ALSO = {
    "time": ("time", "timestamp", "t"),
    "rate": ("rate", "bandwidth", "capacity", "throughput"),
    "delay": ("delay", "latency", "one_way_delay", "owd"),
    "loss": ("loss",),
}
_UNITS: Mapping[str, Mapping[str, Decimal]] = {
    "time": {"ns": Decimal(1), "us": Decimal(1000), "ms": Decimal(10**6), "s": Decimal(NS_PER_S)},
    "rate": {
        "bps": Decimal(1),
        "kbps": Decimal(10**3),
        "mbps": Decimal(10**6),
        "gbps": Decimal(10**9),
        "bit/s": Decimal(1),
        "kbit/s": Decimal(10**3),
        "mbit/s": Decimal(10**6),
        "gbit/s": Decimal(10**9),
    },
    "delay": {"ns": Decimal(1), "us": Decimal(1000), "ms": Decimal(10**6), "s": Decimal(NS_PER_S)},
    "loss": {"": Decimal(2**32), "share": Decimal(2**32), "percent": Decimal(2**32) / 100, "%": Decimal(2**32) / 100},
}
_LARGEST = {"time": 10**20, "rate": LARGEST_RATE_BPS, "delay": LARGEST_DELAY_NS, "loss": 2**32}
_ALLOWED = {
    "time": "a time from 0 on",
    "rate": "a rate of 0 to 100 Gbit/s",
    "delay": "a delay of 0 to 1 h",
    "loss": "a loss of 0 to 1, or 100 percent",
}


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the file: its kind, its place from 0, its name, and the unit's size."""

    kind: str
    place: int
    name: str
    unit: Decimal


def read_table(path: Path, columns: Mapping[str, str], step_ns: int | None) -> Chunks:
    """The rows of a CSV or Parquet file; Malformed."""
    rows = parquet_rows(path, _ROWS) if path.suffix == ".parquet" else _csv_rows(path)
    header = next(rows, None)
    if header is None:
        raise Malformed(path, 1, 1, "it is empty: the first line names the columns")
    line, names = header
    found = _find_columns(path, line, names, columns)
    if "time" not in {column.kind for column in found} and not step_ns:
        what = f"no column of times among {_listed(names)}: name one in `columns`, or give `step`"
        raise Malformed(path, line, 1, what)
    count = 0
    for chunk in _chunks(path, rows, found, step_ns):
        count += len(chunk.at_ns)
        yield chunk
    if not count:
        raise Malformed(path, line + 1, 1, "no row behind the names of the columns")


class _Lines:
    """The lines of a file, as long as those of one row are short: a row is in memory as a whole."""

    def __init__(self, path: Path, file: IO[str]) -> None:
        self._path, self._file = path, file
        self._line = self._first = 0
        self.count = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        text = self._file.readline(_LONGEST_ROW + 1)
        self._line += 1
        if not self.count:
            self._first = self._line
        self.count += len(text)
        if self.count > _LONGEST_ROW:
            what = f"a row of more than {_LONGEST_ROW} characters: this is no table of numbers"
            raise Malformed(self._path, self._first, 1, what)
        if not text:
            raise StopIteration
        return text


def _csv_rows(path: Path) -> Iterator[tuple[int, Sequence[Any]]]:
    """The names of the columns, then the rows, each with the number of its first line."""
    line = 1
    try:
        # Decoding is ahead of the rows: a byte that is not UTF-8 must not hide an error in a row before it.
        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as file:
            text = _Lines(path, file)
            reader = csv.reader(text, strict=True)
            for row in reader:
                text.count = 0
                if row and not row[0].startswith("#"):
                    for place, cell in enumerate(row, 1):
                        if not cell.isascii() and _UNDECODED.search(cell):
                            raise Malformed(path, line, place, "not UTF-8 text: is it a CSV file?")
                    yield line, row
                line = reader.line_num + 1
    except OSError as error:
        raise Malformed(path, None, None, error.strerror or str(error)) from error
    except csv.Error as error:
        raise Malformed(path, line, 1, f"not CSV: {error}") from None


def _find_columns(path: Path, line: int, header: Sequence[str], given: Mapping[str, str]) -> list[_Column]:
    names = [str(name).strip() for name in header]
    found = []
    for kind in COLUMNS:
        if kind in given:
            found.append(_named(path, line, kind, given[kind], names))
        else:
            matches = [(place, unit) for place, name in enumerate(names) if (unit := _unit_of(kind, name)) is not None]
            if len(matches) > 1:
                both = " and ".join(repr(names[place]) for place, _ in matches)
                what = f"{both} are columns of {kind}: name one in `columns`"
                raise Malformed(path, line, matches[1][0] + 1, what)
            found += [_Column(kind, place, names[place], unit) for place, unit in matches]
    if not {column.kind for column in found} & {"rate", "delay", "loss"}:
        hint = "expected names such as time_s, rate_mbps, delay_ms, loss, or `columns`"
        raise Malformed(path, line, 1, f"no column of rates, delays or losses among {_listed(names)}; {hint}")
    return found


def _named(path: Path, line: int, kind: str, written: str, names: Sequence[str]) -> _Column:
    """The column of `NAME in UNIT`, or of a name with the unit in it."""
    name, _, unit = written.rpartition(" in ")
    if name and name in names and unit.lower() in _UNITS[kind]:
        return _Column(kind, names.index(name), name, _UNITS[kind][unit.lower()])
    allowed = ", ".join(unit for unit in _UNITS[kind] if unit)
    if written not in names and name in names:
        raise Malformed(path, line, names.index(name) + 1, f"{unit!r} is not a unit of {kind} ({allowed})")
    if written not in names:
        raise Malformed(path, line, 1, f"no column {written!r} among {_listed(names)}")
    words = re.split(r"[_\s()\[\]]+", written.lower())
    units = [word for word in reversed(words) if word and word in _UNITS[kind]] or ([""] if kind == "loss" else [])
    if not units:
        what = f'{written!r} has no unit: write {kind}: "{written} in UNIT" ({allowed})'
        raise Malformed(path, line, names.index(written) + 1, what)
    return _Column(kind, names.index(written), written, _UNITS[kind][units[0]])


def _unit_of(kind: str, name: str) -> Decimal | None:
    """The unit of a column with a usual name; None for another name."""
    base, _, unit = name.lower().rpartition("_")
    if base in _ALSO[kind] and unit in _UNITS[kind]:
        return _UNITS[kind][unit]
    return _UNITS[kind][""] if kind == "loss" and name.lower() == "loss" else None


def _listed(names: Sequence[str]) -> str:
    return ", ".join(repr(str(name)[:40]) for name in names[:20]) or "none"


def _chunks(
    path: Path, rows: Iterator[tuple[int, Sequence[Any]]], columns: Sequence[_Column], step_ns: int | None
) -> Chunks:
    time_place = next((column.place + 1 for column in columns if column.kind == "time"), 0)
    begin: int | None = None
    last, count = -1, 0
    while True:
        at: list[int] = []
        values: dict[str, list[int]] = {column.kind: [] for column in columns}
        for line, row in islice(rows, _ROWS):
            for column in columns:
                values[column.kind].append(_number(path, line, row, column))
            if time_place:
                begin = values["time"][0] if begin is None else begin
                instant = values["time"][-1] - begin
            else:
                assert step_ns
                instant = (count + len(at)) * step_ns
            if instant <= last:
                raise Malformed(path, line, time_place, "its time is not after that of the row before")
            if instant > _LONGEST_NS:
                raise Malformed(path, line, time_place or 1, "more than 31 years after the first row")
            at.append(instant)
            last = instant
        if not at:
            return
        count += len(at)
        yield Chunk(
            np.array(at, dtype=np.int64),
            rate_bps=_array(values, "rate"),
            delay_ns=_array(values, "delay"),
            loss_2p32=_array(values, "loss"),
        )


def _array(values: Mapping[str, list[int]], kind: str) -> Ints | None:
    return np.array(values[kind], dtype=np.int64) if kind in values else None


def _number(path: Path, line: int, row: Sequence[Any], column: _Column) -> int:
    if column.place >= len(row):
        raise Malformed(path, line, len(row), f"the row ends after {len(row)} of its columns, before {column.name!r}")
    written = row[column.place]
    number = None
    # Sizes beyond those of Decimal are arithmetic errors.
    with suppress(ArithmeticError, ValueError, TypeError):
        number = Decimal(str(written).strip()) * column.unit
    if number is None or not number.is_finite() or not 0 <= number <= _LARGEST[column.kind]:
        shown = "nothing" if written is None else repr(str(written)[:40])
        raise Malformed(path, line, column.place + 1, f"{shown} is not {_ALLOWED[column.kind]}")
    whole = int(number.to_integral_value())
    return min(whole, 2**32 - 1) if column.kind == "loss" else whole
