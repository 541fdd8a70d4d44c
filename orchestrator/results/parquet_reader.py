"""Reads Parquet files of whole numbers: kept traces, of this version and of earlier ones.

    with ParquetFile(path) as file:
        file.names, file.rows, file.groups      the columns, and the groups of rows with their least and greatest values
        file.read(group, name)                  one column of one group

A reader trusts no length in a file: whatever is damaged raises one of FAULTS, without more memory than the file can justify.
It refuses what no version of Longhaul has written: nested columns, missing values, other encodings and codecs.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO, Self

import cramjam
import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.results.delta_encoding import EncodingError, decode_deltas, decode_runs
from longhaul.orchestrator.results.parquet import (
    DATA_PAGE,
    DELTAS,
    DICTIONARY,
    DICTIONARY_PAGE,
    DOUBLE,
    INT32,
    INT64,
    LZ4,
    MAGIC,
    OPTIONAL,
    PLAIN,
    PLAIN_DICTIONARY,
    REQUIRED,
    STORED,
    TYPES,
    ZSTD,
)
from longhaul.orchestrator.results.thrift import ThriftError, decode_struct
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Numbers = NDArray[Any]

_OF_TYPES: Mapping[tuple[int, int | None], np.dtype[Any]] = {
    physical: np.dtype(f"<{name}") for name, physical in TYPES.items()
} | {
    (INT32, None): np.dtype("<i4"),
    (INT64, None): np.dtype("<i8"),
    (DOUBLE, None): np.dtype("<f8"),
}
_UNCOMPRESSED, _SNAPPY = 0, 1
# More than any page has; what is damaged must not ask for memory.
_MOST_VALUES = 1 << 24
_OVERHEAD_BYTES = 1 << 16


class ParquetError(ValueError):
    """The file is not a Parquet file, is damaged, or has something that no version of Longhaul writes."""


# The errors of a damaged file.
FAULTS = (ParquetError, ThriftError, EncodingError, cramjam.CompressionError, cramjam.DecompressionError)


@dataclass(frozen=True, slots=True)
class _Column:
    """A column of the schema."""

    name: str
    dtype: np.dtype[Any]
    physical: int
    optional: bool


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a column of a group of rows is, and its least and greatest value, if they are known."""

    begin: int
    length: int
    codec: int
    values: int
    bounds: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Group:
    """A group of rows."""

    rows: int
    places: Mapping[str, _Place]

    def bounds(self, name: str) -> tuple[int, int] | None:
        """The least and the greatest value of a column, without reading it; None if the file does not say."""
        return self.places[name].bounds if name in self.places else None


class ParquetFile:
    """A file of whole numbers, open; each page is compared with its checksum if it has one."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        try:
            self._columns, self.groups = _read_footer(self._file)
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._file.close()

    @property
    def names(self) -> list[str]:
        """The columns."""
        return list(self._columns)

    @property
    def rows(self) -> int:
        """The rows of all groups."""
        return sum(group.rows for group in self.groups)

    def read(self, group: int, name: str) -> Numbers:
        """A column of a group of rows; ParquetError and its kin (FAULTS)."""
        column, place = self._columns[name], self.groups[group].places[name]
        if not place.values:
            return np.zeros(0, column.dtype)
        self._file.seek(place.begin)
        data = self._file.read(place.length)
        if len(data) < place.length:
            raise ParquetError("the file is cut off")
        found = _decode_chunk(data, column, place)
        if len(found) != self.groups[group].rows:
            raise ParquetError(f"column {name} has {len(found)} values instead of {self.groups[group].rows}")
        return found

    def read_all(self, name: str, groups: Sequence[int] | None = None) -> Numbers:
        """A column of several groups of rows, of all by default."""
        parts = [self.read(group, name) for group in (range(len(self.groups)) if groups is None else groups)]
        return np.concatenate(parts) if parts else np.zeros(0, self._columns[name].dtype)


def _read_footer(file: BinaryIO) -> tuple[Mapping[str, _Column], Sequence[Group]]:
    size = file.seek(0, 2)
    if size < 12:
        raise ParquetError("it is too short for a Parquet file")
    file.seek(size - 8)
    length, magic = int.from_bytes(file.read(4), "little"), file.read(4)
    file.seek(0)
    if magic != MAGIC or file.read(4) != MAGIC:
        raise ParquetError("it does not begin and end as a Parquet file does")
    if length > size - 12:
        raise ParquetError("its footer is longer than the file")
    file.seek(size - 8 - length)
    return _decode_footer(file.read(length), size)


# A chart reads several series of the same few files.
@lru_cache(maxsize=64)
def _decode_footer(encoded: bytes, size: int) -> tuple[Mapping[str, _Column], Sequence[Group]]:
    """The columns and groups of a file of this size; the same bytes are always the same footer."""
    footer, _ = decode_struct(encoded)
    try:
        if footer[2][0].get(5) != len(footer[2]) - 1:
            raise ParquetError("its columns are nested")
        columns = [_read_element(element) for element in footer[2][1:]]
        groups = [_read_group(group, columns, size) for group in footer.get(4, [])]
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise ParquetError("its footer is incomplete") from error
    if sum(group.rows for group in groups) != footer.get(3):
        raise ParquetError("its groups do not have the rows of the file")
    return {column.name: column for column in columns}, groups


def _read_element(element: Mapping[int, Any]) -> _Column:
    name = element[4].decode(errors="replace")
    kind = element[1], element.get(6)
    if kind not in _OF_TYPES or 5 in element or element.get(3) not in (REQUIRED, OPTIONAL):
        raise ParquetError(f"column {name!r} has a type that no kept trace has")
    return _Column(name, _OF_TYPES[kind], element[1], element[3] == OPTIONAL)


def _read_group(group: Mapping[int, Any], columns: Sequence[_Column], size: int) -> Group:
    places = {}
    rows = group[3]
    if not 0 <= rows <= _MOST_VALUES or len(group[1]) != len(columns):
        raise ParquetError("a group of rows is not of this table")
    for column, chunk in zip(columns, group[1], strict=True):
        about = chunk[3]
        begin, length = min(about[9], about.get(11) or about[9]), about[7]
        if rows and (begin < len(MAGIC) or length < 0 or begin + length > size):
            raise ParquetError(f"column {column.name} lies outside the file")
        if about[1] != column.physical or about[3] != [column.name.encode()] or about[5] != rows:
            raise ParquetError(f"column {column.name} is not as its schema says")
        places[column.name] = _Place(begin, length, about[4], about[5], _read_bounds(column, about.get(12, {})))
    return Group(rows, places)


def _read_bounds(column: _Column, found: Mapping[int, Any]) -> tuple[int, int] | None:
    if column.dtype.kind not in "iu" or not isinstance(found.get(5), bytes) or not isinstance(found.get(6), bytes):
        return None
    signed = column.dtype.kind == "i"
    return int.from_bytes(found[6], "little", signed=signed), int.from_bytes(found[5], "little", signed=signed)


def _decode_chunk(data: bytes, column: _Column, place: _Place) -> Numbers:
    """The values of the pages of a column."""
    position, left = 0, place.values
    dictionary: Numbers | None = None
    parts: list[Numbers] = []
    while left > 0:
        header, position = decode_struct(data, position)
        kind, whole, packed_length = (header.get(number) for number in (1, 2, 3))
        if not (
            isinstance(whole, int)
            and isinstance(packed_length, int)
            # A value has 8 bytes at most, and a few bits more.
            and 0 <= whole <= 16 * place.values + _OVERHEAD_BYTES
            and 0 <= packed_length <= len(data) - position
        ):
            raise ParquetError(f"a page of column {column.name} has an impossible length")
        packed = data[position : position + packed_length]
        position += packed_length
        if isinstance(header.get(4), int) and zlib.crc32(packed) != header[4] & 0xFFFFFFFF:
            raise ParquetError(f"a page of column {column.name} differs from its checksum")
        body = _decompress(packed, whole, place.codec)
        if kind == DICTIONARY_PAGE and dictionary is None and not parts:
            dictionary = _plain(body, _count(header.get(7), place.values), column)
        elif kind == DATA_PAGE:
            page = header.get(5, {})
            count = _count(page, left)
            parts.append(_decode_page(body, page[2], count, column, dictionary))
            left -= count
        else:
            raise ParquetError(f"column {column.name} has a page of an unknown kind")
    if not parts:
        return np.zeros(0, column.dtype)
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def _count(page: Any, most: int) -> int:
    found = page.get(1) if isinstance(page, dict) else None
    if not isinstance(found, int) or not 0 < found <= most or not isinstance(page.get(2), int):
        raise ParquetError("a page has an impossible number of values")
    return found


def _decode_page(body: bytes, encoding: int, count: int, column: _Column, dictionary: Numbers | None) -> Numbers:
    data = np.frombuffer(body, np.uint8)
    if column.optional:
        length = int.from_bytes(body[:4], "little")
        if length > len(data) - 4:
            raise ParquetError(f"a page of column {column.name} is cut off")
        if not decode_runs(data[4 : 4 + length], 1, count).all():
            raise ParquetError(f"column {column.name} lacks values, which no kept trace does")
        data = data[4 + length :]
    if encoding == DELTAS and column.physical in (INT32, INT64):
        return _narrowed(decode_deltas(data, count, STORED[column.physical]), column)
    if encoding == PLAIN:
        return _plain(data, count, column)
    if encoding in (DICTIONARY, PLAIN_DICTIONARY) and dictionary is not None and len(data):
        places = decode_runs(data[1:], int(data[0]), count)
        if places.max(initial=0) >= len(dictionary):
            raise ParquetError(f"column {column.name} names values that its dictionary lacks")
        return dictionary[places]
    raise ParquetError(f"column {column.name} has an encoding that no kept trace has")


def _plain(data: bytes | NDArray[np.uint8], count: int, column: _Column) -> Numbers:
    stored = STORED[column.physical]
    if len(data) < count * stored.itemsize:
        raise ParquetError(f"a page of column {column.name} is cut off")
    return _narrowed(np.frombuffer(data, stored, count), column)


def _narrowed(stored: Numbers, column: _Column) -> Numbers:
    """The values in the type of the column."""
    if stored.dtype.itemsize == column.dtype.itemsize:
        return stored.view(column.dtype)
    return stored.astype(column.dtype)


def _decompress(packed: bytes, length: int, codec: int) -> bytes:
    if codec not in _DECOMPRESS:
        raise ParquetError("it is compressed in a way that no kept trace is")
    found = _DECOMPRESS[codec](packed, length)
    if len(found) != length:
        raise ParquetError(f"a page has {len(found)} bytes instead of {length}")
    return found


def _unpack_lz4(packed: bytes, length: int) -> bytes:
    # One byte of LZ4 stands for 255 at most.
    if length > 255 * len(packed) + 64:
        raise ParquetError("a page has an impossible length")
    return bytes(cramjam.lz4.decompress_block(packed, output_len=length)) if length else b""


def _unpack_zstd(packed: bytes, length: int) -> bytes:
    out = bytearray(length)
    done = cramjam.zstd.decompress_into(packed, out)
    return bytes(out) if done == length else bytes(out[:done])


_DECOMPRESS: Mapping[int, Callable[[bytes, int], bytes]] = {
    _UNCOMPRESSED: lambda packed, length: packed,
    _SNAPPY: lambda packed, length: bytes(cramjam.snappy.decompress_raw(packed, output_len=length)),
    ZSTD: _unpack_zstd,
    LZ4: _unpack_lz4,
}
