"""Packets as a guest wrote them -> a pcapng file, compressed, in which lost and marked packets have comments.

    capture.blocks   the blocks of the packets, which are copied as they are            (kmod/lh_capture.h)
    capture.events   what happened to a packet after its block was written   -->   a comment in the packet's block

Times are nanoseconds since time zero of the run; packets before it, and after the run's end, are left out. The causes of losses are those of
the trace, whose records of drops are in the same order.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO

import cramjam
import numpy as np

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import DROP_RANDOM, Records

EVENT = np.dtype([("block", "<u8"), ("t_ns", "<i8"), ("what", "<u2"), ("interface", "<u2"), ("unused", "<u4")])
DROPPED, MARKED = 1, 2
NO_BLOCK = 2**64 - 1

_HEADER = struct.Struct("<7I")
_LENGTH = struct.Struct("<I")
# Of pcapng: kinds of block, codes of options, Ethernet.
_SECTION, _INTERFACE, _NAMES, _PACKET = 0x0A0D0D0A, 1, 4, 6
_BYTE_ORDER, _ETHERNET = 0x1A2B3C4D, 1
_COMMENT, _OS, _PROGRAM = 1, 3, 4
_IF_NAME, _IF_DESCRIPTION, _IF_SPEED, _IF_RESOLUTION, _IF_OFFSET = 2, 3, 8, 9, 14
_IPV4_NAME = 1
_NANOSECONDS = b"\x09"

_PIECE_BYTES = 4 * 2**20
_LEVEL = -1


@dataclass(frozen=True, slots=True)
class CapturedInterface:
    """An interface of the file, and the number of the link in the trace whose queue is at it."""

    name: str
    about: str
    speed_bps: int = 0
    link: int | None = None


@dataclass(frozen=True, slots=True)
class CaptureHeader:
    """What the file says about itself; `names` has the name of the host of each IPv4 address. Time zero of the blocks is `ahead_ns` before that of the run."""

    about: str
    system: str
    program: str
    snap: int
    interfaces: Sequence[CapturedInterface]
    names: Mapping[str, str]
    ahead_ns: int
    end_ns: int


def write_pcapng(blocks: Path, events: Path, header: CaptureHeader, drops: Records, target: IO[bytes]) -> None:
    """Write the compressed file; TraceError if the guest's files are not what lh_capture writes."""
    packed = _Packed(target)
    packed.write(_head(header))
    with blocks.open("rb") as file:
        captured = _Blocks(file, blocks, header)
        for begin, comments in _comments(events, header, drops):
            captured.copy_before(begin, packed)
            captured.copy_with(begin, comments, packed)
        captured.copy_before(captured.end, packed)
    packed.finish()


class _Packed:
    """A compressed file: written in large pieces, as small ones are compressed badly."""

    def __init__(self, target: IO[bytes]) -> None:
        self._target = target
        self._packer = cramjam.zstd.Compressor(level=_LEVEL)
        self._waiting = bytearray()

    def write(self, piece: bytes) -> None:
        self._waiting += piece
        if len(self._waiting) >= _PIECE_BYTES:
            self._pack()

    def finish(self) -> None:
        self._pack()
        self._target.write(self._packer.finish())

    def _pack(self) -> None:
        self._packer.compress(bytes(self._waiting))
        self._target.write(self._packer.flush())
        self._waiting.clear()


class _Blocks:
    """The blocks of the run's packets, copied from the first to the last."""

    def __init__(self, file: IO[bytes], path: Path, header: CaptureHeader) -> None:
        self._file, self._path = file, path
        self._at, self.end = 0, path.stat().st_size
        # Few packets are sent before time zero or after the end.
        while self._at < self.end and self._header(self._at)[1] < header.ahead_ns:
            self._at += self._header(self._at)[0]
        while self._at < self.end and self._header(last := self._last())[1] > header.ahead_ns + header.end_ns:
            self.end = last

    def copy_before(self, until: int, target: _Packed) -> None:
        """Copy the blocks before this place."""
        self._file.seek(self._at)
        while self._at < min(until, self.end):
            piece = self._read(min(_PIECE_BYTES, until - self._at, self.end - self._at))
            target.write(piece)
            self._at += len(piece)

    def copy_with(self, begin: int, comments: Sequence[str], target: _Packed) -> None:
        """Copy the block at this place with comments, unless it is not of the run."""
        if self._at != begin or begin >= self.end:
            return
        length, _ = self._header(self._at)
        self._file.seek(self._at)
        block = self._read(length)
        options = b"".join(_option(_COMMENT, text.encode()) for text in comments)
        # Options follow the packet's bytes, in any order.
        first = _HEADER.size + (_HEADER.unpack_from(block)[5] + 3) // 4 * 4
        body = block[8:first] + options + block[first:-4]
        target.write(_block(_PACKET, body))
        self._at += length

    def _header(self, at: int) -> tuple[int, int]:
        """The length of a block, and its time."""
        self._file.seek(at)
        kind, length, _, high, low, _, _ = _HEADER.unpack(self._read(_HEADER.size))
        if kind != _PACKET or length % 4 or not _HEADER.size <= length <= self.end - at:
            raise self._broken(at)
        time_ns = high << 32 | low
        return length, time_ns - 2**64 if high >> 31 else time_ns

    def _last(self) -> int:
        self._file.seek(self.end - _LENGTH.size)
        (length,) = _LENGTH.unpack(self._read(_LENGTH.size))
        if length > self.end - self._at:
            raise self._broken(self.end)
        return self.end - int(length)

    def _read(self, length: int) -> bytes:
        found = self._file.read(length)
        if len(found) != length:
            raise self._broken(self._at)
        return found

    def _broken(self, at: int) -> TraceError:
        return TraceError("reading packets", str(self._path), f"at byte {at} there is no whole packet")


def _comments(events: Path, header: CaptureHeader, drops: Records) -> Iterator[tuple[int, list[str]]]:
    """The comments of each packet that has some, by the place of its block."""
    try:
        found = np.fromfile(events, EVENT)
    except OSError as error:
        raise TraceError("reading events of packets", str(events), error.strerror or str(error)) from error
    times = found["t_ns"] - header.ahead_ns
    found = found[(times >= 0) & (times <= header.end_ns)]
    texts: list[tuple[int, str]] = []
    for number, interface in enumerate(header.interfaces):
        here = found[found["interface"] == number]
        lost = here[here["what"] == DROPPED]
        causes = _causes(interface, len(lost), drops)
        # A packet is written when its device is given it; with a link's delay before its queue, it is lost later.
        texts += [
            (int(event["block"]), f"{cause}, at {_seconds(event, header)}")
            for event, cause in zip(lost, causes, strict=True)
        ]
        texts += [
            (int(event["block"]), f"marked (CE) in the queue of {interface.name}, left at {_seconds(event, header)}")
            for event in here[here["what"] == MARKED]
        ]
    by_block: dict[int, list[str]] = {}
    for block, text in texts:
        if block != NO_BLOCK:
            by_block.setdefault(block, []).append(text)
    yield from sorted(by_block.items())


def _seconds(event: np.void, header: CaptureHeader) -> str:
    return f"{(int(event['t_ns']) - header.ahead_ns) / 1e9:.9f} s"


def _causes(interface: CapturedInterface, count: int, drops: Records) -> list[str]:
    """What the trace says about each loss at an interface."""
    known = drops[drops["id"] == interface.link] if interface.link is not None else drops[:0]
    if len(known) != count:
        return [f"lost at {interface.name}"] * count
    return [
        f"lost by chance on {interface.name}"
        if record["state"] == DROP_RANDOM
        else f"dropped by the queue of {interface.name}, which had {record['queue_packets']} packets"
        for record in known
    ]


def _head(header: CaptureHeader) -> bytes:
    """The blocks before the packets: the section, its interfaces, and the names of hosts."""
    about = _option(_COMMENT, header.about.encode()) + _option(_OS, header.system.encode())
    section = struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1) + about + _option(_PROGRAM, header.program.encode())
    blocks = [_block(_SECTION, section + _option(0, b""))]
    for interface in header.interfaces:
        options = _option(_IF_NAME, interface.name.encode()) + _option(_IF_DESCRIPTION, interface.about.encode())
        if interface.speed_bps:
            options += _option(_IF_SPEED, struct.pack("<Q", interface.speed_bps))
        options += _option(_IF_RESOLUTION, _NANOSECONDS)
        if header.ahead_ns:
            # Time zero was later than planned, by whole seconds.
            options += _option(_IF_OFFSET, struct.pack("<q", -(header.ahead_ns // 1_000_000_000)))
        body = struct.pack("<HHI", _ETHERNET, 0, header.snap) + options + _option(0, b"")
        blocks.append(_block(_INTERFACE, body))
    records = [
        _option(_IPV4_NAME, bytes(map(int, address.split("."))) + name.encode() + b"\0")
        for address, name in header.names.items()
    ]
    return b"".join([*blocks, _block(_NAMES, b"".join([*records, _option(0, b"")]))])


def _block(kind: int, body: bytes) -> bytes:
    length = 12 + len(body)
    return struct.pack("<II", kind, length) + body + _LENGTH.pack(length)


def _option(code: int, value: bytes) -> bytes:
    """An option, or a record of names, padded to four bytes."""
    return struct.pack("<HH", code, len(value)) + value + bytes(-len(value) % 4)
