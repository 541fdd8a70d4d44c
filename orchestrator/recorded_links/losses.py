"""Patterns of losses: a 1 for a packet that is lost and a 0 for one that is not, in the order of the packets; ends of lines do not count."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from longhaul.orchestrator.recorded_links.chunks import Ints
from longhaul.orchestrator.recorded_links.text import Malformed, pieces

_ZERO, _ONE = ord("0"), ord("1")
_WRONG = re.compile(rb"[^01\r\n \t,]")


def read_losses(path: Path) -> tuple[Ints, int]:
    """The numbers of the packets that are lost, from 0, and the length of the pattern; Malformed."""
    lost: list[Ints] = []
    count, line, column = 0, 1, 1
    for piece in pieces(path):
        fates = np.frombuffer(piece.translate(None, b"\r\n \t,"), dtype=np.uint8)
        if ((fates != _ZERO) & (fates != _ONE)).any():
            found = _WRONG.search(piece)
            assert found
            line, column = _moved(line, column, piece[: found.start()])
            raise Malformed(path, line, column, f"{chr(found[0][0])!r} is neither 0 nor 1")
        lost.append(np.flatnonzero(fates == _ONE) + count)
        count += len(fates)
        # A pattern may be a single line, longer than a piece.
        line, column = _moved(line, column, piece)
    if not count:
        raise Malformed(path, 1, 1, "no packet: a pattern is made of 0 and 1")
    return np.concatenate(lost), count


def _moved(line: int, column: int, text: bytes) -> tuple[int, int]:
    """The place behind a text that begins at a place."""
    ends = text.count(b"\n")
    return line + ends, len(text) - text.rfind(b"\n") if ends else column + len(text)
