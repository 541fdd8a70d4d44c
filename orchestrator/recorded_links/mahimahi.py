"""mahimahi's packet-delivery files: a line is the millisecond of one opportunity, at which one IP packet of 1500 bytes may leave.

The last line is the length of the recording too: from there on it begins again.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import OPPORTUNITY_BYTES, Chunk, Chunks, Ints
from longhaul.orchestrator.recorded_links.text import Malformed, blocks

_NS_PER_MS = 10**6
# Milliseconds in 64 bits of nanoseconds, and more than ten years.
_LARGEST_MS = 10**12
_LONGEST_LINE = len(str(_LARGEST_MS))


def read_mahimahi(path: Path) -> Chunks:
    """The opportunities of a file, those of one millisecond as one row; Malformed."""
    last_ms = -1
    pending = 0
    for first_line, block in blocks(path):
        stamps = _stamps(path, first_line, block, last_ms)
        values, counts = np.unique(stamps, return_counts=True)
        counts = counts.astype(np.int64)
        if values[0] == last_ms:
            counts[0] += pending
        elif pending:
            yield _chunk(np.array([last_ms]), np.array([pending]))
        # More of the last millisecond may be in the next block.
        last_ms, pending = int(values[-1]), int(counts[-1])
        if len(values) > 1:
            yield _chunk(values[:-1], counts[:-1])
    if last_ms < 0:
        raise Malformed(path, 1, 1, "no line: at least one opportunity is needed")
    if not last_ms:
        raise Malformed(path, 1, 1, "all lines are 0: the last one is the recording's length")
    yield _chunk(np.array([last_ms]), np.array([pending]))


def _chunk(stamps_ms: Ints, counts: Ints) -> Chunk:
    return Chunk(stamps_ms.astype(np.int64) * _NS_PER_MS, opportunities=counts.astype(np.int64) * OPPORTUNITY_BYTES)


def _stamps(path: Path, first_line: int, block: bytes, last_ms: int) -> Ints:
    """The numbers of whole lines behind `last_ms`; each line is checked only if the block is not plain numbers that never fall."""
    plain = not block.translate(None, b"0123456789\n") and b"\n\n" not in block and not block.startswith(b"\n")
    if plain and max(map(len, block.split()), default=0) < _LONGEST_LINE:
        stamps = np.fromstring(block, dtype=np.int64, sep="\n")
        if not (np.diff(stamps, prepend=last_ms) < 0).any():
            return stamps
    return np.array(list(_checked(path, first_line, block, last_ms)), dtype=np.int64)


def _checked(path: Path, first_line: int, block: bytes, last_ms: int) -> Iterator[int]:
    rows = block.split(b"\n")
    for number, row in enumerate(rows[:-1] if not rows[-1] else rows, first_line):
        text = row.strip(b" \t\r")
        if not text:
            raise Malformed(path, number, 1, "an empty line: each is a whole number of milliseconds")
        begin = row.index(text) + 1
        # More digits than int() reads are possible.
        digits = text.lstrip(b"0") or b"0"
        if not text.isdigit() or len(digits) > _LONGEST_LINE or int(digits) > _LARGEST_MS:
            column = begin + next((place for place, byte in enumerate(text) if not 48 <= byte <= 57), 0)
            shown = text[:40].decode(errors="replace")
            raise Malformed(
                path, number, column, f"{shown!r} is not a whole number of milliseconds up to {_LARGEST_MS}"
            )
        if int(digits) < last_ms:
            raise Malformed(path, number, begin, f"{int(digits)} after {last_ms}: the milliseconds never fall")
        last_ms = int(digits)
        yield last_ms
