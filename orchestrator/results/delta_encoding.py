"""Parquet's encodings of whole numbers that a kept trace has: differences (DELTA_BINARY_PACKED) and runs (RLE), as numpy arrays.

    encode_deltas(columns)     the differences to the previous value, in as few bits as each group of them needs
    decode_deltas(data, n)     the same back, of any writer
    decode_runs(data, w, n)    small numbers, repeated or packed: levels and positions in a dictionary

A writer may choose the widths of groups. These are whole bytes, or 1, 2 or 4 bits: numpy packs them without a loop over values, and
LZ4 finds repetitions only where they begin at a byte, so that the file is smaller than with the least widths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.results.thrift import decode_varint, encode_varint, unzigzag, zigzag

Numbers = NDArray[Any]
Bytes = NDArray[np.uint8]

# Differences of a block share their least value, those of a group share their width.
_BLOCK, _GROUP = 8192, 32
_GROUPS = _BLOCK // _GROUP
_WIDTHS = np.array([0, 1, 2, 4, 8, 16, 32, 64])
_GREATEST = np.array([(1 << int(width)) - 1 for width in _WIDTHS], np.uint64)
# The numbers of 1, 2 or 4 bits in each byte.
_IN_A_BYTE = {
    width: np.arange(256, dtype=np.uint8)[:, None] >> np.arange(0, 8, width, dtype=np.uint8)
    & np.uint8((1 << width) - 1)
    for width in (1, 2, 4)
}
# More than any writer uses; what is damaged must not ask for memory.
_LARGEST_BLOCK = 1 << 20


class EncodingError(ValueError):
    """These bytes are not what their encoding says."""


def encode_deltas(columns: Sequence[Numbers]) -> list[bytes]:
    """The differences of each of some columns of one length, all of 32 or all of 64 bits; they wrap around, as Parquet has it.

    A call of numpy takes longer than the numbers of a short trace, so the columns share every call.
    """
    length, size = len(columns[0]), columns[0].itemsize
    bits = 8 * size
    signed = np.empty((len(columns), length), f"i{size}")
    for row, column in zip(signed, columns, strict=True):
        row[:] = column.view(signed.dtype)
    firsts = signed[:, 0].tolist() if length else [0] * len(columns)
    heads = [b"".join(map(encode_varint, (_BLOCK, _GROUPS, length, zigzag(first)))) for first in firsts]
    count = length - 1
    if count < 1:
        return heads
    blocks, stored = -(-count // _BLOCK), -(-count // _GROUP)
    # Of a column that fits into one block, only the groups with differences are worked on.
    in_block = stored if blocks == 1 else _GROUPS
    deltas = np.empty((len(columns), blocks * in_block * _GROUP), signed.dtype)
    np.subtract(signed[:, 1:], signed[:, :-1], out=deltas[:, :count])
    # What fills the last block does not change the least of it.
    deltas[:, count:] = deltas[:, count - 1 : count]
    rows = deltas.reshape(-1, in_block * _GROUP)
    least = rows.min(axis=1)
    rows -= least[:, None]
    groups = rows.reshape(-1, _GROUP).view(f"u{size}")
    kinds = np.searchsorted(_GREATEST, groups.max(axis=1).astype(np.uint64))
    kinds.reshape(len(columns), -1)[:, stored:] = 0
    widths = _WIDTHS[kinds]
    assert widths.max() <= bits
    data, starts = _assemble(groups, kinds, widths.reshape(-1, in_block), least)
    return [
        head + data[begin:end]
        for head, begin, end in zip(heads, starts[:-1:blocks], starts[blocks::blocks], strict=True)
    ]


def _assemble(groups: Numbers, kinds: Numbers, widths: Numbers, least: Numbers) -> tuple[bytes, list[int]]:
    """The blocks one after the other, and where each begins: its least difference, the widths of its groups, then its groups.

    `widths` has a row for each block.
    """
    heads = [encode_varint(zigzag(number)) for number in least.tolist()]
    per_block = widths * (_GROUP // 8)
    before = np.array([len(head) for head in heads]) + _GROUPS
    starts = np.zeros(len(heads) + 1, np.int64)
    np.cumsum(before + per_block.sum(axis=1), out=starts[1:])
    begins = starts.tolist()
    out = np.zeros(begins[-1], np.uint8)
    text = memoryview(out.data)
    for begin, head, row in zip(begins, heads, widths.astype(np.uint8), strict=False):
        # The widths of groups without differences stay zero.
        text[begin : begin + len(head) + len(row)] = head + row.tobytes()
    offsets = ((starts[:-1] + before)[:, None] + np.cumsum(per_block, axis=1) - per_block).ravel()
    for kind in np.flatnonzero(np.bincount(kinds)).tolist():
        width = int(_WIDTHS[kind])
        if width:
            chosen = np.flatnonzero(kinds == kind)
            packed = _pack(groups[chosen], width)
            length = packed.shape[1]
            # Each group is copied as one element of this type, wherever it begins.
            place = np.ndarray((len(out) - length + 1,), f"V{length}", out, strides=(1,))
            place[offsets[chosen]] = packed.view(f"V{length}")[:, 0]
    return out.tobytes(), begins


def _pack(groups: Numbers, width: int) -> Bytes:
    """Rows of numbers as rows of bytes, the lowest bits first."""
    if width >= 8:
        return groups.astype(f"<u{width // 8}").view(np.uint8)
    small = groups.astype(np.uint8).reshape(len(groups), -1, 8 // width)
    packed = small[:, :, 0].copy()
    for place in range(1, 8 // width):
        packed |= small[:, :, place] << np.uint8(width * place)
    return packed


def decode_deltas(data: Bytes, count: int, dtype: np.dtype[Any]) -> Numbers:
    """`count` values of 32 or 64 bits from their differences; EncodingError."""
    raw = data.tobytes()
    block, position = decode_varint(raw, 0)
    groups, position = decode_varint(raw, position)
    total, position = decode_varint(raw, position)
    written, position = decode_varint(raw, position)
    if not (groups and block and block <= _LARGEST_BLOCK and block % groups == 0 and (block // groups) % 32 == 0):
        raise EncodingError(f"blocks of {block} differences in {groups} groups do not exist")
    if total != count:
        raise EncodingError(f"it has {total} values instead of {count}")
    bits = 8 * dtype.itemsize
    size = block // groups
    if not count:
        return np.zeros(0, dtype)
    # The data has at least a byte for each group.
    if (count - 1) // size > len(data):
        raise EncodingError("its differences are cut off")
    words = np.dtype(f"u{dtype.itemsize}")
    blocks = -(-(count - 1) // block)
    stored = -(-(count - 1) // size)
    mask = (1 << bits) - 1
    leasts, rows, starts = [], [], []
    for index in range(blocks):
        number, position = decode_varint(raw, position)
        leasts.append(unzigzag(number) & mask)
        # The last block has no data for groups without values.
        row = raw[position : position + groups][: stored - index * groups]
        position += groups
        rows.append(row)
        starts.append(position)
        position += sum(row) * (size // 8)
    if position > len(raw):
        raise EncodingError("its differences are cut off")
    widths = np.zeros(blocks * groups, np.uint8)
    # Whole rows, as the data is not cut off.
    widths[:stored] = np.frombuffer(b"".join(rows), np.uint8)
    if widths.max(initial=0) > bits:
        raise EncodingError(f"a group has {widths.max()} bits for values of {bits}")
    lengths = widths.reshape(blocks, groups).astype(np.int64) * (size // 8)
    offsets = (np.array(starts, np.int64)[:, None] + np.cumsum(lengths, axis=1) - lengths).ravel()
    # The first value, then the differences: the sums of both are the values.
    room = np.zeros(1 + blocks * block, words)
    room[0] = unzigzag(written) & mask
    deltas = room[1:].reshape(blocks * groups, size)
    # Not numpy.unique, which loads more of numpy than reading a short trace takes.
    for width in np.flatnonzero(np.bincount(widths)).tolist():
        if width:
            chosen = np.flatnonzero(widths == width)
            length = width * size // 8
            place = np.ndarray((len(data) - length + 1,), f"V{length}", data, strides=(1,))
            found = _unpack(place[offsets[chosen]].view(np.uint8), width, words).reshape(-1, size)
            if len(chosen) == len(deltas):
                deltas[:] = found
            else:
                deltas[chosen] = found
    if any(leasts):
        each = deltas.reshape(blocks, block)
        each += np.array(leasts, words)[:, None]
    values = room[:count]
    return np.cumsum(values, dtype=words, out=values).view(dtype)


def _unpack(packed: Bytes, width: int, words: np.dtype[Any]) -> Numbers:
    """Numbers of this width, eight of which fill `width` bytes: as words, or of a narrower type that needs no conversion here."""
    if width in (8, 16, 32, 64):
        return packed.view(f"<u{width // 8}")
    if width in _IN_A_BYTE:
        return _IN_A_BYTE[width].take(packed, axis=0).reshape(-1)
    eights = len(packed) // width
    if width % 8 == 0:
        every = np.zeros((8 * eights, words.itemsize), np.uint8)
        every[:, : width // 8] = packed.reshape(-1, width // 8)
        return every.view(words)[:, 0]
    # Eight bytes from where a number begins, or nine: all eights at once.
    room = np.zeros(len(packed) + 9, np.uint8)
    room[: len(packed)] = packed
    found = np.empty((eights, 8), words)
    mask = np.uint64((1 << width) - 1)
    for place in range(8):
        start, shift = divmod(place * width, 8)
        number = np.ndarray((eights,), "<u8", room, start, (width,)) >> np.uint64(shift)
        if shift + width > 64:
            number |= room[start + 8 :: width][:eights].astype(np.uint64) << np.uint64(64 - shift)
        found[:, place] = number & mask
    return found.reshape(-1)


def decode_runs(data: Bytes, width: int, count: int) -> NDArray[np.uint32]:
    """`count` numbers of this width: runs of one number, and packed ones; EncodingError."""
    if width > 32:
        raise EncodingError(f"numbers of {width} bits do not exist here")
    raw = data.tobytes()
    parts: list[NDArray[np.uint32]] = []
    position, left = 0, count
    size = -(-width // 8)
    while left > 0:
        head, position = decode_varint(raw, position)
        if head & 1:
            length = (head >> 1) * width
            # The last run may end before its eight numbers do.
            packed = data[position : position + length]
            needed = -(-min(left, (head >> 1) * 8) * width // 8)
            if len(packed) < needed:
                raise EncodingError("its numbers are cut off")
            position += length
            here = min((head >> 1) * 8, left)
            if width == 0:
                part = np.zeros(here, np.uint32)
            else:
                eights = -(-here // 8)
                whole = np.zeros(eights * width, np.uint8)
                whole[: min(len(packed), len(whole))] = packed[: len(whole)]
                part = _unpack(whole, width, np.dtype(np.uint32))[:here].astype(np.uint32, copy=False)
        else:
            if position + size > len(data):
                raise EncodingError("its numbers are cut off")
            number = int.from_bytes(raw[position : position + size], "little")
            position += size
            here = min(head >> 1, left)
            part = np.full(here, number & 0xFFFFFFFF, np.uint32)
        if not here:
            raise EncodingError("a run is empty")
        parts.append(part)
        left -= here
    return np.concatenate(parts) if parts else np.zeros(0, np.uint32)
