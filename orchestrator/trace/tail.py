"""Follow a growing trace: its new records at each call, none of them read twice.

A trace that another file replaces (a guest that died is started again) is detected. The file may come from an
untrusted kernel: links and pipes are not followed, and a file that is not a trace is a TraceError.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES, Trace, is_header, split_records

# Only a piece of a long trace is in memory.
_PIECE_BYTES = 2**16 * RECORD_BYTES


class GrowingTrace:
    """The first of these files with content, also after it was renamed or deleted."""

    def __init__(self, places: Sequence[Path]) -> None:
        self._places = places
        self._place: Path | None = None
        self._handle = -1
        self._at = 0
        # The file's time of modification when its newest records were read.
        self.written_ns = 0

    def close(self) -> None:
        """Close the file."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def find(self) -> bool:
        """Whether the file is open; looks for it if not."""
        for place in self._places if self._handle < 0 else ():
            try:
                handle = os.open(place, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
            except FileNotFoundError:
                continue
            except OSError as error:
                raise TraceError("following trace", str(place), error.strerror or str(error)) from error
            # An empty file may stay empty: a guest that samples gets a descriptor that it does not use.
            if os.fstat(handle).st_size < HEADER_BYTES:
                os.close(handle)
                continue
            self._handle, self._place, self._at = handle, place, 0
            break
        return self._handle >= 0

    def replaced(self) -> bool:
        """Whether another file has replaced it; the next call then reads that one, from its start."""
        if self._place is None or self._handle < 0:
            return False
        try:
            there = self._place.lstat()
        except FileNotFoundError:
            return False
        mine = os.fstat(self._handle)
        if (there.st_dev, there.st_ino) == (mine.st_dev, mine.st_ino):
            return False
        self.close()
        return True

    def read(self) -> Iterator[Trace]:
        """The whole records since the last call, in pieces."""
        if not self.find():
            return
        found = os.fstat(self._handle)
        if self._at == 0:
            if not is_header(os.pread(self._handle, HEADER_BYTES, 0)):
                raise TraceError(
                    "following trace", str(self._place), "its header is not that of a trace of this version"
                )
            self._at = HEADER_BYTES
        whole = (found.st_size - self._at) // RECORD_BYTES * RECORD_BYTES
        end = self._at + whole
        while self._at < end:
            piece = os.pread(self._handle, min(_PIECE_BYTES, end - self._at), self._at)
            if len(piece) < RECORD_BYTES:
                return
            piece = piece[: len(piece) // RECORD_BYTES * RECORD_BYTES]
            self._at += len(piece)
            self.written_ns = found.st_mtime_ns
            yield split_records(np.frombuffer(piece, dtype=np.uint8))
