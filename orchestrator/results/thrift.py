"""Thrift's compact protocol, in which Parquet writes the headers of its pages and the footer of a file.

A struct is written from typed fields and read as a dictionary of values by field number. A reader ignores the numbers that it
does not know, as the protocol wants it. Bytes that are no struct raise ThriftError, whatever they are.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

BOOL, I8, I16, I32, I64, BINARY, LIST, STRUCT = 1, 3, 4, 5, 6, 8, 9, 12

# number, type, value. The value of a LIST is (type of its elements, elements); that of a STRUCT is its fields, or its bytes where
# it is encoded already.
Field = tuple[int, int, Any]
Value = Any

# What ends a struct.
END = b"\0"

_FALSE, _TRUE, _DOUBLE, _SET, _MAP = 2, 1, 7, 10, 11
# Parquet needs four levels.
_DEEPEST = 16
_LONGEST_VARINT = 10


class ThriftError(ValueError):
    """These bytes are not a struct of the compact protocol."""


def encode_struct(fields: Sequence[Field]) -> bytes:
    """A struct with these fields, in ascending order of their numbers."""
    out = bytearray()
    _put_struct(out, fields)
    return bytes(out)


def encode_fields(fields: Sequence[Field], after: int = 0) -> bytes:
    """A part of a struct, after the field of that number: without the byte that ends a struct."""
    out = bytearray()
    _put_fields(out, fields, after)
    return bytes(out)


def encode_varint(number: int) -> bytes:
    """An unsigned number, seven bits a byte."""
    out = bytearray()
    _put_varint(out, number)
    return bytes(out)


def zigzag(number: int) -> int:
    """A signed number as an unsigned one: numbers near zero stay small."""
    return number << 1 if number >= 0 else (-number << 1) - 1


def unzigzag(number: int) -> int:
    """The signed number of an unsigned one."""
    return (number >> 1) ^ -(number & 1)


def decode_varint(data: bytes | memoryview, position: int) -> tuple[int, int]:
    """An unsigned number, and the position after it."""
    if position < len(data) and data[position] < 0x80:
        return data[position], position + 1
    number = 0
    for place in range(_LONGEST_VARINT):
        if position >= len(data):
            raise ThriftError("a number is cut off")
        byte = data[position]
        position += 1
        number |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return number, position
    raise ThriftError("a number has too many bytes")


def decode_struct(data: bytes | memoryview, position: int = 0) -> tuple[dict[int, Value], int]:
    """The values of a struct by the numbers of its fields, and the position after it."""
    return _take_struct(data, position, 0)


def _put_varint(out: bytearray, number: int) -> None:
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)


def _put_struct(out: bytearray, fields: Sequence[Field] | bytes) -> None:
    if isinstance(fields, bytes):
        out += fields
        return
    _put_fields(out, fields, 0)
    out += END


def _put_fields(out: bytearray, fields: Sequence[Field], last: int) -> None:
    append = out.append
    for number, kind, value in fields:
        shown = kind if kind != BOOL else _TRUE if value else _FALSE
        # The difference to the previous number fits into four bits in every struct of Parquet.
        append((number - last) << 4 | shown)
        last = number
        if kind in (I32, I64):
            rest = value << 1 if value >= 0 else (-value << 1) - 1
            while rest > 0x7F:
                append(rest & 0x7F | 0x80)
                rest >>= 7
            append(rest)
        elif kind != BOOL:
            _put_value(out, kind, value)


def _put_value(out: bytearray, kind: int, value: Value) -> None:
    if kind == STRUCT:
        _put_struct(out, value)
    elif kind == LIST:
        element, items = value
        if len(items) < 15:
            out.append(len(items) << 4 | element)
        else:
            out.append(0xF0 | element)
            _put_varint(out, len(items))
        for item in items:
            _put_value(out, element, item)
    elif kind == BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind == I8:
        out.append(value & 0xFF)
    else:
        _put_varint(out, zigzag(value))


def _take_struct(data: bytes | memoryview, position: int, depth: int) -> tuple[dict[int, Value], int]:
    if depth > _DEEPEST:
        raise ThriftError("structs are nested too deeply")
    found: dict[int, Value] = {}
    number = 0
    while True:
        if position >= len(data):
            raise ThriftError("a struct is cut off")
        head = data[position]
        position += 1
        if head == 0:
            return found, position
        kind = head & 0x0F
        if head >> 4:
            number += head >> 4
        else:
            written, position = decode_varint(data, position)
            number = unzigzag(written)
        if kind in (_TRUE, _FALSE):
            found[number] = kind == _TRUE
        else:
            found[number], position = _take_value(data, position, kind, depth)


def _take_value(data: bytes | memoryview, position: int, kind: int, depth: int) -> tuple[Value, int]:
    if kind in (I16, I32, I64):
        number, position = decode_varint(data, position)
        return unzigzag(number), position
    if kind == BINARY:
        length, position = decode_varint(data, position)
        return bytes(_cut(data, position, length)), position + length
    if kind == STRUCT:
        return _take_struct(data, position, depth + 1)
    if kind in (LIST, _SET):
        return _take_list(data, position, depth + 1)
    if kind in (I8, _TRUE, _FALSE):
        return _cut(data, position, 1)[0], position + 1
    if kind == _DOUBLE:
        return struct.unpack("<d", _cut(data, position, 8))[0], position + 8
    raise ThriftError(f"a field has the type {kind}, which no struct of Parquet has")


def _take_list(data: bytes | memoryview, position: int, depth: int) -> tuple[list[Value], int]:
    if depth > _DEEPEST:
        raise ThriftError("lists are nested too deeply")
    head = _cut(data, position, 1)[0]
    position += 1
    length, kind = head >> 4, head & 0x0F
    if length == 15:
        length, position = decode_varint(data, position)
    # An element has at least one byte.
    if length > len(data) - position:
        raise ThriftError("a list is cut off")
    items = []
    for _ in range(length):
        item, position = _take_value(data, position, kind, depth)
        items.append(item)
    return items, position


def _cut(data: bytes | memoryview, position: int, length: int) -> bytes | memoryview:
    if length > len(data) - position:
        raise ThriftError("a value is cut off")
    return data[position : position + length]
