"""Text files of recordings, block by block, and the error that names a line and a column."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.system.errors import PlanError

_BLOCK_BYTES = 1 << 22


class Malformed(PlanError):
    """A file that is not the recording that it should be."""

    def __init__(self, path: Path, line: int | None, column: int | None, what: str) -> None:
        place = f"line {line}, column {column}: " if line is not None else ""
        super().__init__(
            "reading the recording", str(path), f"{place}{what}", "docs/recorded-links.md describes the formats"
        )


def pieces(path: Path) -> Iterator[bytes]:
    """A file, a few megabytes at a time."""
    try:
        with path.open("rb") as file:
            while piece := file.read(_BLOCK_BYTES):
                yield piece
    except OSError as error:
        raise Malformed(path, None, None, error.strerror or str(error)) from error


def blocks(path: Path) -> Iterator[tuple[int, bytes]]:
    """Whole lines of a file, a few megabytes at a time, each block with the number of its first line."""
    line, rest = 1, b""
    for piece in pieces(path):
        block = rest + piece
        end = block.rfind(b"\n") + 1
        block, rest = block[:end], block[end:]
        if block:
            yield line, block
            line += block.count(b"\n")
        if len(rest) > _BLOCK_BYTES:
            raise Malformed(path, line, 1, "a line of more than 4 MB: this is not a text file")
    if rest:
        yield line, rest
