"""A compressed pcapng file -> plain pcapng, or files of the older pcap, one an interface, which tcptrace reads."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import cramjam

_INTERFACE, _PACKET = 1, 6
_IF_NAME = 2
_PIECE_BYTES = 2**20
# Of pcap: with microseconds, version 2.4; Ethernet.
_PCAP_HEADER = struct.Struct("<IHHiIII")
_PCAP_RECORD = struct.Struct("<4I")
_MAGIC, _ETHERNET = 0xA1B2C3D4, 1


def unpack_pcapng(packed: Path, target: Path) -> None:
    """Write the file without compression, which takes ten times the room: piece by piece, not through memory."""
    cramjam.zstd.decompress_into(packed.read_bytes(), cramjam.File(str(target), read=True, write=True, truncate=True))


def write_pcaps(packed: Path, folder: Path) -> list[Path]:
    """Write the packets of each interface as pcap; the files, named by the devices. Comments and nanoseconds are lost."""
    plain = folder / f".{packed.name}.plain"
    files: list[Path] = []
    targets: list[IO[bytes]] = []
    try:
        unpack_pcapng(packed, plain)
        for kind, body in blocks_of(plain):
            if kind == _INTERFACE:
                (snap,) = struct.unpack_from("<I", body, 4)
                files.append(folder / f"{interface_name(body).rpartition(' ')[2]}.pcap")
                targets.append(files[-1].open("wb"))
                targets[-1].write(_PCAP_HEADER.pack(_MAGIC, 2, 4, 0, 0, snap, _ETHERNET))
            elif kind == _PACKET:
                interface, high, low, captured, whole = struct.unpack_from("<5I", body)
                seconds, ns = divmod(high << 32 | low, 1_000_000_000)
                targets[interface].write(_PCAP_RECORD.pack(seconds, ns // 1000, captured, whole))
                targets[interface].write(body[20 : 20 + captured])
    finally:
        for target in targets:
            target.close()
        plain.unlink(missing_ok=True)
    return files


def blocks_of(plain: Path) -> Iterator[tuple[int, bytes]]:
    """The kind of each block of a pcapng file, and what is between its two lengths."""
    waiting = b""
    with plain.open("rb") as file:
        while piece := file.read(_PIECE_BYTES):
            waiting += piece
            at = 0
            while at + 8 <= len(waiting):
                kind, length = struct.unpack_from("<II", waiting, at)
                if at + length > len(waiting):
                    break
                yield kind, waiting[at + 8 : at + length - 4]
                at += length
            waiting = waiting[at:]


def interface_name(interface: bytes) -> str:
    """The name in the block of an interface."""
    at = 8
    while at + 4 <= len(interface):
        code, length = struct.unpack_from("<HH", interface, at)
        if code == _IF_NAME:
            return interface[at + 4 : at + 4 + length].decode()
        at += 4 + (length + 3) // 4 * 4
    return "packets"
