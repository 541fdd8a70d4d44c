"""Parquet files of flat tables, in numpy: kept traces and the numbers of figures, for every tool that reads Parquet.

    write_columns(path, columns, ...)   whole numbers: differences of 32 and 64 bits, LZ4, statistics, a checksum for each page
    encode_cells(names, rows)           texts and numbers, some of them missing: zstd

A group of rows has one page for each column. parquet_reader.py reads what write_columns and earlier versions wrote.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Self

import cramjam
import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.results.delta_encoding import encode_deltas
from longhaul.orchestrator.results.thrift import (
    BINARY,
    BOOL,
    END,
    I8,
    I32,
    I64,
    LIST,
    STRUCT,
    Field,
    encode_fields,
    encode_struct,
    encode_varint,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Numbers = NDArray[Any]
Cell = str | float | int | None

MAGIC = b"PAR1"
_CREATED_BY = b"longhaul version 1"
INT32, INT64, DOUBLE, _BYTE_ARRAY = 1, 2, 5, 6
REQUIRED, OPTIONAL = 0, 1
PLAIN, PLAIN_DICTIONARY, _RLE, DELTAS, DICTIONARY = 0, 2, 3, 5, 8
DATA_PAGE, DICTIONARY_PAGE = 0, 2
ZSTD, LZ4 = 6, 7
_UTF8 = 0
# The type in numpy of a whole number: its physical type, and its number among the former types, which every reader knows.
TYPES = {
    "u1": (INT32, 11),
    "u2": (INT32, 12),
    "u4": (INT32, 13),
    "u8": (INT64, 14),
    "i1": (INT32, 15),
    "i2": (INT32, 16),
    "i4": (INT32, 17),
    "i8": (INT64, 18),
}
# The differences of this many numbers are made at once.
_AT_ONCE = 1 << 15
_TYPE_ORDER = encode_struct([(1, STRUCT, [])])
STORED: Mapping[int, np.dtype[Any]] = {INT32: np.dtype("<u4"), INT64: np.dtype("<u8"), DOUBLE: np.dtype("<f8")}


def write_columns(
    path: Path, columns: Mapping[str, Numbers], *, group_rows: int, with_statistics: Iterable[str] = ()
) -> None:
    """Write columns of whole numbers, all of one length."""
    layout = {name: np.dtype(column.dtype).str[1:].replace("|", "") for name, column in columns.items()}
    rows = len(next(iter(columns.values()), ()))
    file = _File()
    for first in range(0, rows, group_rows):
        with file.group(min(group_rows, rows - first)) as group:
            parts = {name: column[first : first + group_rows] for name, column in columns.items()}
            differences = _differences(parts)
            for name, part in parts.items():
                group.add(_number_chunk(name, part, differences.get(name), statistics=name in with_statistics))
    path.write_bytes(file.finish([_number_element(name, layout[name]) for name in columns]))


def encode_cells(names: Sequence[str], rows: Sequence[Sequence[Cell]]) -> bytes:
    """A table of texts and numbers; a column with a text has texts, one with a fraction has fractions."""
    file = _File()
    schema = []
    with file.group(len(rows)) as group:
        for place, name in enumerate(names):
            cells = [row[place] for row in rows]
            present = [cell for cell in cells if cell is not None]
            if any(isinstance(cell, str) for cell in present):
                texts = [str(cell).encode() for cell in present]
                physical, body = _BYTE_ARRAY, b"".join(len(text).to_bytes(4, "little") + text for text in texts)
                schema.append(_element(name, physical, _UTF8, optional=True, logical=(1, STRUCT, [])))
            elif present and all(isinstance(cell, int) for cell in present):
                physical, body = INT64, np.array(present, "<i8").tobytes()
                schema.append(_element(name, physical, None, optional=True))
            else:
                physical, body = DOUBLE, np.array(present, "<f8").tobytes()
                schema.append(_element(name, physical, None, optional=True))
            levels = _levels([cell is not None for cell in cells])
            group.add(_Chunk(name, physical, PLAIN, ZSTD, len(cells), levels + body))
    return file.finish(schema)


@dataclass(frozen=True, slots=True)
class _Chunk:
    """One column of a group of rows, as one page."""

    name: str
    physical: int
    encoding: int
    codec: int
    values: int
    body: bytes
    statistics: tuple[bytes, bytes] | None = None


class _File:
    """A file in memory: its pages, then the footer that names them."""

    def __init__(self) -> None:
        self._out = bytearray(MAGIC)
        self._groups: list[list[Field]] = []
        self._rows = 0

    def group(self, rows: int) -> _Group:
        """The next group of rows."""
        self._rows += rows
        return _Group(self._out, self._groups, rows)

    def finish(self, schema: Sequence[bytes]) -> bytes:
        """The whole file."""
        root = encode_struct([(4, BINARY, b"schema"), (5, I32, len(schema))])
        footer = encode_struct(
            [
                (1, I32, 2),
                (2, LIST, (STRUCT, [root, *schema])),
                (3, I64, self._rows),
                (4, LIST, (STRUCT, self._groups)),
                (6, BINARY, _CREATED_BY),
                # Statistics are in the order of the column's type.
                (7, LIST, (STRUCT, [_TYPE_ORDER] * len(schema))),
            ]
        )
        self._out += footer + len(footer).to_bytes(4, "little") + MAGIC
        return bytes(self._out)


class _Group:
    """A group of rows while it is written."""

    def __init__(self, out: bytearray, groups: list[list[Field]], rows: int) -> None:
        self._out, self._groups, self._rows = out, groups, rows
        self._columns: list[bytes] = []
        self._bytes = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._groups.append(
            [(1, LIST, (STRUCT, self._columns)), (2, I64, self._bytes), (3, I64, self._rows)],
        )

    def add(self, chunk: _Chunk) -> None:
        """Write a column, its header before it."""
        packed = _COMPRESS[chunk.codec](chunk.body)
        # Thrift's numbers of 32 bits have a sign.
        checksum = zlib.crc32(packed)
        header = encode_struct(
            [
                (1, I32, DATA_PAGE),
                (2, I32, len(chunk.body)),
                (3, I32, len(packed)),
                (4, I32, checksum - (checksum >> 31 << 32)),
                (5, STRUCT, _page(chunk.values, chunk.encoding)),
            ]
        )
        begin = len(self._out)
        self._out += header
        self._out += packed
        whole = len(header) + len(chunk.body)
        self._bytes += whole
        about: list[Field] = [
            (5, I64, chunk.values),
            (6, I64, whole),
            (7, I64, len(header) + len(packed)),
            (9, I64, begin),
        ]
        if chunk.statistics is not None:
            least, greatest = chunk.statistics
            about.append((12, STRUCT, [(3, I64, 0), (5, BINARY, greatest), (6, BINARY, least)]))
        kind = _kind_of_column(chunk.name, chunk.physical, chunk.encoding, chunk.codec)
        self._columns.append(encode_struct([(2, I64, begin), (3, STRUCT, kind + encode_fields(about, after=4) + END)]))


@lru_cache(maxsize=256)
def _page(values: int, encoding: int) -> bytes:
    """The header of a page of data, of which every column of a group has the same."""
    return encode_struct([(1, I32, values), (2, I32, encoding), (3, I32, _RLE), (4, I32, _RLE)])


@lru_cache(maxsize=1024)
def _kind_of_column(name: str, physical: int, encoding: int, codec: int) -> bytes:
    """The first fields of a column's description, which are the same in every file."""
    return encode_fields(
        [
            (1, I32, physical),
            (2, LIST, (I32, [encoding, _RLE])),
            (3, LIST, (BINARY, [name.encode()])),
            (4, I32, codec),
        ]
    )


def _differences(columns: Mapping[str, Numbers]) -> dict[str, bytes]:
    """The columns of 32 and 64 bits as their differences: of short ones as many at once as fit into the processor's cache."""
    found: dict[str, bytes] = {}
    for size in (4, 8):
        names = [name for name, column in columns.items() if column.dtype.kind in "iu" and column.itemsize == size]
        at_once = max(1, _AT_ONCE // max(1, len(columns[names[0]]))) if names else 1
        for first in range(0, len(names), at_once):
            some = names[first : first + at_once]
            found |= zip(some, encode_deltas([columns[name] for name in some]), strict=True)
    return found


def _number_chunk(name: str, column: Numbers, differences: bytes | None, *, statistics: bool) -> _Chunk:
    physical = INT64 if column.itemsize == 8 else INT32
    stored = STORED[physical]
    body = column.astype(stored).tobytes() if differences is None else differences
    bounds = None
    if statistics:
        bounds = column.min().astype(stored).tobytes(), column.max().astype(stored).tobytes()
    return _Chunk(name, physical, PLAIN if differences is None else DELTAS, LZ4, len(column), body, bounds)


@lru_cache(maxsize=1024)
def _number_element(name: str, kind: str) -> bytes:
    """A column of whole numbers of the schema."""
    return _element(name, *TYPES[kind], optional=False, logical=_whole_number(kind))


def _element(name: str, physical: int, former: int | None, *, optional: bool, logical: Field | None = None) -> bytes:
    """A column of the schema; `logical` is its type as new readers want it."""
    return encode_struct(
        [
            (1, I32, physical),
            (3, I32, OPTIONAL if optional else REQUIRED),
            (4, BINARY, name.encode()),
            *([] if former is None else [(6, I32, former)]),
            *([] if logical is None else [(10, STRUCT, [logical])]),
        ]
    )


def _whole_number(kind: str) -> Field:
    return (10, STRUCT, [(1, I8, 8 * int(kind[1:])), (2, BOOL, kind[0] == "i")])


def _levels(present: Sequence[bool]) -> bytes:
    """Which values are present, as packed bits after their length."""
    bits = np.packbits(np.array(present, bool), bitorder="little").tobytes()
    packed = encode_varint(len(bits) << 1 | 1) + bits
    return len(packed).to_bytes(4, "little") + packed


_COMPRESS: Mapping[int, Callable[[bytes], bytes]] = {
    ZSTD: lambda body: bytes(cramjam.zstd.compress(body, 3)),
    LZ4: lambda body: bytes(cramjam.lz4.compress_block(body, store_size=False)),
}
