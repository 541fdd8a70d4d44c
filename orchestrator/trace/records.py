"""trace.bin -> numpy: the records that a run's kernel wrote (docs/run-directory.md, kmod/lh_trace.h).

A Trace has one structured array per kind. The header of the file contains the layout; a file with an unknown layout
is refused. `TraceTail` reads the end of a growing file.
"""

from __future__ import annotations

import itertools
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.system.files import file_sha256
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

MAGIC = "LHTRACE1"
HEADER_BYTES = 4096
RECORD_BYTES = 64

Records = NDArray[np.void]
# Some fields of the records of one flow or link, by name; `t_ns` is always among them.
Columns = dict[str, NDArray[Any]]
# Nanoseconds from the start of the experiment, both ends included.
SpanNs = tuple[int, int]
EVER: SpanNs = (0, 2**64 - 1)
# Reads columns of a trace: kind of record, fields, number of the flow or link, time.
ColumnSource = Callable[[str, Sequence[str], int, SpanNs], Columns]

_COMMON = [("t_ns", "u8", 0), ("kind", "u1", 8), ("state", "u1", 9), ("id", "u2", 10)]

# name -> (number, fields after the common ones: name, numpy type, offset)
_FIELDS: dict[str, tuple[int, list[tuple[str, str, int]]]] = {
    "ack": (
        1,
        [
            ("cwnd", "u4", 12),
            ("ssthresh", "u4", 16),
            ("srtt_us", "u4", 20),
            ("rtt_us", "u4", 24),
            ("inflight", "u4", 28),
            ("delivered", "u4", 32),
            ("retrans", "u4", 36),
            ("lost", "u4", 40),
            ("snd_wnd", "u4", 44),
            ("pacing_Bps", "u8", 48),
            ("acked_bytes", "u8", 56),
        ],
    ),
    "flow": (2, [("packets", "u4", 12), ("app_bytes", "u8", 16)]),
    "link": (
        3,
        [
            ("queue_packets", "u4", 12),
            ("queue_bytes", "u4", 16),
            ("queue_max_packets", "u4", 20),
            ("drops", "u4", 24),
            ("losses", "u4", 28),
            ("marks", "u4", 32),
            ("tx_packets", "u8", 40),
            ("tx_bytes", "u8", 48),
            ("queue_byte_ns", "u8", 56),
        ],
    ),
    "drop": (
        4,
        [
            ("length", "u4", 12),
            ("queue_packets", "u4", 16),
            ("source_port", "u2", 20),
            ("destination_port", "u2", 22),
            ("seq", "u4", 24),
        ],
    ),
    "event": (5, [("what", "u4", 12), ("value", "u8", 16)]),
    "state": (6, [("layout", "u4", 12), *((f"word{n}", "u4", 16 + 4 * n) for n in range(5))]),
    "departure": (
        7,
        [
            ("length", "u4", 12),
            ("source_port", "u2", 16),
            ("destination_port", "u2", 18),
            ("ecn", "u4", 20),
            ("wait_ns", "u8", 24),
        ],
    ),
    "decision": (8, [("length", "u4", 12), ("source_port", "u2", 16), ("destination_port", "u2", 18)]),
}
# Kinds that only some traces have, and whose header names them only then: of links with two queues, and of policers.
SELDOM_KINDS = ("departure", "decision")

DROP_QUEUE, DROP_RANDOM = 1, 2
# A departure's state: the queue of dualpi2 that the packet waited in. The ECN field of a marked packet.
QUEUE_CLASSIC, QUEUE_L4S = 1, 2
ECN_MARKED = 3
# A decision's state: what a policer did with the packet.
POLICE_PASS, POLICE_DROP = 1, 2
# An ACK's state from this on: TCP reduces its window (CWR), is in recovery, or in loss.
STATE_RECOVERING = 2
EVENT_CONNECTED, EVENT_STOPPED, EVENT_COMPLETED = 1, 2, 3
EVENT_PATH_CHANGE, EVENT_END, EVENT_FLOW_CHANGE = 4, 5, 6
# A completed request; its value is the time that it took, in nanoseconds.
EVENT_REQUEST = 7
# A request without a response in time; its value is the wait.
EVENT_REQUEST_LOST = 8
# The last response of a round, of the first flow at a barrier; its value is the time of the round, in nanoseconds.
EVENT_ROUND = 9


def _dtype(fields: list[tuple[str, str, int]]) -> np.dtype[np.void]:
    every = _COMMON + fields
    return np.dtype(
        {
            "names": [name for name, _, _ in every],
            "formats": ["<" + kind for _, kind, _ in every],
            "offsets": [offset for _, _, offset in every],
            "itemsize": RECORD_BYTES,
        }
    )


TRACE_KINDS: dict[str, np.dtype[np.void]] = {name: _dtype(fields) for name, (_, fields) in _FIELDS.items()}
KIND_NUMBERS: dict[str, int] = {name: number for name, (number, _) in _FIELDS.items()}


@dataclass(frozen=True, slots=True)
class Trace:
    """One array per kind, each in the order of writing."""

    acks: Records
    flows: Records
    links: Records
    drops: Records
    events: Records
    states: Records
    departures: Records
    decisions: Records

    def kinds(self) -> dict[str, Records]:
        """The arrays by the name of their kind."""
        return {
            "ack": self.acks,
            "flow": self.flows,
            "link": self.links,
            "drop": self.drops,
            "event": self.events,
            "state": self.states,
            "departure": self.departures,
            "decision": self.decisions,
        }

    def columns(self, kind: str, names: Sequence[str], about: int, span_ns: SpanNs = EVER) -> Columns:
        """`t_ns` and these fields of the records of one flow or link, from a time to a time, both included."""
        records = self.kinds()[kind]
        chosen = records["id"] == about
        if span_ns != EVER:
            chosen &= (records["t_ns"] >= span_ns[0]) & (records["t_ns"] <= span_ns[1])
        return {name: records[name][chosen] for name in ("t_ns", *names)}


def trace_header(*, departures: bool = False, decisions: bool = False) -> bytes:
    """The header that this reader expects, as the probe writes it; with the kinds that only some traces have."""
    absent = {name for name, asked in zip(SELDOM_KINDS, (departures, decisions), strict=True) if not asked}
    kinds = ", ".join(
        f'"{number}": {{"name": "{name}", "fields": ['
        + ", ".join(f'["{field}", "{kind}", {offset}]' for field, kind, offset in _COMMON + fields)
        + "]}"
        for name, (number, fields) in _FIELDS.items()
        if name not in absent
    )
    text = f'{{"magic": "{MAGIC}", "record_bytes": {RECORD_BYTES}, "byte_order": "little", "kinds": {{{kinds}}}}}'
    return (text.ljust(HEADER_BYTES - 1) + "\n").encode()


def is_header(header: bytes) -> bool:
    """Whether a file that begins so is a trace of this version."""
    return any(
        header == trace_header(departures=departures, decisions=decisions)
        for departures, decisions in itertools.product((False, True), repeat=2)
    )


def read_trace(path: Path) -> Trace:
    """The whole of a finished trace; TraceError if it is not one."""
    try:
        with path.open("rb") as file:
            _check_header(path, file.read(HEADER_BYTES))
            body = np.fromfile(file, dtype=np.uint8)
    except OSError as error:
        raise TraceError("reading trace", str(path), error.strerror or str(error)) from error
    if len(body) % RECORD_BYTES:
        raise TraceError(
            "reading trace", str(path), f"its last record has {len(body) % RECORD_BYTES} of {RECORD_BYTES} bytes"
        )
    return split_records(body)


def split_records(body: NDArray[np.uint8]) -> Trace:
    """Records of all kinds in one array of bytes, split by kind."""
    kind = body.reshape(-1, RECORD_BYTES)[:, 8].copy()
    # A record is copied as one element of this type.
    rows = body.view(f"V{RECORD_BYTES}")
    arrays = {name: rows[kind == KIND_NUMBERS[name]].view(dtype) for name, dtype in TRACE_KINDS.items()}
    if sum(map(len, arrays.values())) != len(rows):
        raise TraceError(
            "reading trace",
            "",
            f"it contains records of unknown kinds: {sorted(set(kind.tolist()) - set(KIND_NUMBERS.values()))}",
        )
    return Trace(*(arrays[kind] for kind in TRACE_KINDS))


def trace_sha256(path: Path) -> str:
    """The hash by which two runs are compared."""
    return file_sha256(path)


def _check_header(path: Path, header: bytes) -> None:
    if is_header(header):
        return
    try:
        magic = json.loads(header)["magic"]
    except (ValueError, KeyError, TypeError):
        magic = None
    what = "it is not a Longhaul trace" if magic != MAGIC else "its record layout is another version's"
    raise TraceError(
        "reading trace", str(path), what, "rebuild the kernel modules with `make kernel`" if magic == MAGIC else ""
    )


class TraceTail:
    """The time that a growing trace has reached, cheaply."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def virtual_ns(self) -> int:
        """Time of the last complete record; -1 before there is one."""
        try:
            # A file that a guest writes by name may be anything: a link to another file, a pipe without an end.
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        except FileNotFoundError:
            return -1
        try:
            records = (os.fstat(handle).st_size - HEADER_BYTES) // RECORD_BYTES
            if records < 1:
                return -1
            at = HEADER_BYTES + (records - 1) * RECORD_BYTES
            return int.from_bytes(os.pread(handle, 8, at), "little")
        finally:
            os.close(handle)
