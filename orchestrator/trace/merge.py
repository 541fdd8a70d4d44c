"""Merge the growing traces of several endpoints into one growing trace.bin, in the order of time.

Each endpoint's records arrive in its own order, and their times count from the same instant. A record waits here until every other
endpoint has sent a later one, but never long: users watch the run, and a silent host must not delay it.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES, trace_header

Rows = NDArray[np.uint8]

# The longest time that a record waits for those of others.
WAIT_NS = 300_000_000


class MergedTrace:
    """The trace of a run, written as its parts arrive."""

    def __init__(self, path: Path, names: list[str]) -> None:
        self._file = path.open("wb")
        self._file.write(trace_header())
        self._file.flush()
        self._unread = dict.fromkeys(names, b"")
        self._begun = dict.fromkeys(names, False)
        self._waiting: dict[str, list[Rows]] = {name: [] for name in names}
        self._latest_ns = dict.fromkeys(names, -1)
        self.records = 0
        self.written_ns = -1

    def add(self, name: str, piece: bytes) -> None:
        """The next bytes of one endpoint's trace.bin."""
        unread = self._unread[name] + piece
        if not self._begun[name]:
            if len(unread) < HEADER_BYTES:
                self._unread[name] = unread
                return
            if unread[:HEADER_BYTES] != trace_header():
                raise TraceError(
                    "reading the trace of", name, "its layout is another version's", "deploy this version's agent"
                )
            self._begun[name], unread = True, unread[HEADER_BYTES:]
        whole = len(unread) // RECORD_BYTES * RECORD_BYTES
        self._unread[name] = unread[whole:]
        if whole:
            rows = np.frombuffer(unread[:whole], dtype=np.uint8).reshape(-1, RECORD_BYTES)
            self._waiting[name].append(rows)
            self._latest_ns[name] = int(_times(rows)[-1])

    def write(self, now_ns: int) -> None:
        """Write the records that need not wait any longer at this time of the run."""
        self._write_until(max(min(self._latest_ns.values()), now_ns - WAIT_NS))

    def finish(self) -> None:
        """Write the rest."""
        self._write_until(2**63 - 1)
        self._file.close()

    def close(self) -> None:
        """Close the file, even if records are missing."""
        self._file.close()

    def left_over(self) -> list[str]:
        """The endpoints whose trace ends within a record."""
        return [name for name, unread in self._unread.items() if unread]

    def _write_until(self, until_ns: int) -> None:
        due: list[Rows] = []
        for name, pieces in self._waiting.items():
            if not pieces:
                continue
            rows = np.concatenate(pieces) if len(pieces) > 1 else pieces[0]
            count = int(np.searchsorted(np.maximum.accumulate(_times(rows)), until_ns, side="right"))
            if count:
                due.append(rows[:count])
            self._waiting[name] = [rows[count:]] if count < len(rows) else []
        if not due:
            return
        rows = np.concatenate(due)
        rows = rows[np.argsort(_times(rows), kind="stable")]
        self._file.write(rows.tobytes())
        self._file.flush()
        self.records += len(rows)
        self.written_ns = max(self.written_ns, int(_times(rows)[-1]))


def _times(rows: Rows) -> NDArray[np.int64]:
    return np.ascontiguousarray(rows[:, :8]).view("<i8").reshape(-1)
