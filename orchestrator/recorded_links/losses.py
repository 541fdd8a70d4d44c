"""Patterns of losses: a 1 for a packet that is lost and a 0 for one that is not, in the order of the packets; ends of lines do not count."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import Ints
from longhaul.orchestrator.recorded_links.text import Malformed, pieces

# Rows of a table in one run.
MOST_LOST = 1 << 24

_ZERO, _ONE = ord("0"), ord("1")
_WRONG = re.compile(rb"[^01\r\n \t,]")


def read_losses(path: Path) -> tuple[Ints, int]:
    """The numbers of the packets that are lost, from 0, and the length of the pattern; Malformed."""
    lost: list[Ints] = []
    count = kept = 0
    for part, packets in lost_in_pieces(path):
        lost.append(part + count)
        count, kept = count + packets, kept + len(part)
        if kept > MOST_LOST:
            raise Malformed(path, None, None, f"more than {MOST_LOST} packets are lost, the most that a run can have")
    return np.concatenate(lost), count


def lost_in_pieces(path: Path) -> Iterator[tuple[Ints, int]]:
    """The same piece by piece: the places of the lost packets in the piece, and the packets in it."""
    count, line, column = 0, 1, 1
    for piece in pieces(path):
        fates = np.frombuffer(piece.translate(None, b"\r\n \t,"), dtype=np.uint8)
        if ((fates != _ZERO) & (fates != _ONE)).any():
            found = _WRONG.search(piece)
            assert found
            line, column = _moved(line, column, piece[: found.start()])
            raise Malformed(path, line, column, f"{chr(found[0][0])!r} is neither 0 nor 1")
        yield np.flatnonzero(fates == _ONE), len(fates)
        count += len(fates)
        # A pattern may be a single line, longer than a piece.
        line, column = _moved(line, column, piece)
    if not count:
        raise Malformed(path, 1, 1, "no packet: a pattern is made of 0 and 1")


def _moved(line: int, column: int, text: bytes) -> tuple[int, int]:
    """The place behind a text that begins at a place."""
    ends = text.count(b"\n")
    return line + ends, len(text) - text.rfind(b"\n") if ends else column + len(text)
