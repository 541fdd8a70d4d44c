"""Tables of a run's recorded links: their rows are files of the cache, named by their hash."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

FOLDER = "recordings"

_ROW_BYTES = 16


@dataclass(frozen=True, slots=True)
class RecordedTable:
    """A table of the recorded link of a device (kmod/recording.h); `file` has its rows, `end` is its length if it repeats."""

    node: str
    dev: str
    kind: str
    file: str
    rows: int
    end: int
    header_bytes: int


def rows_file(table: RecordedTable, cache: Path) -> Path:
    """Where the rows of a table are on this machine; BackendError if they are not there any more."""
    file = cache / table.file
    if not file.is_file():
        what = "its rows are not in the cache any more"
        raise BackendError("replaying the recording", table.file, what, "run its experiment again, which lays them out")
    return file


def memory_of(tables: Sequence[RecordedTable]) -> int:
    """Megabytes that a guest needs for its tables: the kernel's, and the file that they are read from."""
    return -(-2 * _ROW_BYTES * sum(table.rows for table in tables) // 1_000_000)


def offered_rates(offered_bytes: Sequence[int], every_us: int, duration_us: int) -> list[tuple[int, int, int]]:
    """(from, to, bit/s) of a recorded line, in microseconds, from the bytes that it could carry in each interval."""
    edges_us = [*range(0, duration_us, every_us), duration_us]
    spans: list[tuple[int, int, int]] = []
    for begin_us, end_us, offered in zip(edges_us, edges_us[1:], offered_bytes, strict=False):
        bps = offered * 8_000_000 // (end_us - begin_us)
        if spans and spans[-1][2] == bps:
            begin_us, *_ = spans.pop()
        spans.append((begin_us, end_us, bps))
    return spans
