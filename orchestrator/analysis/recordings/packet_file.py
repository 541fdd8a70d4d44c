"""The packets of a pcap or pcapng file, one by one: their times, and their bytes from the IP header on.

Both byte orders, times to the micro- or nanosecond; Ethernet with VLANs, raw IP, Linux's cooked and loopback headers.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO, NamedTuple

PCAP = {
    b"\xd4\xc3\xb2\xa1": ("<", 1000),
    b"\xa1\xb2\xc3\xd4": (">", 1000),
    b"\x4d\x3c\xb2\xa1": ("<", 1),
    b"\xa1\xb2\x3c\x4d": (">", 1),
}
PCAPNG = b"\x0a\x0d\x0d\x0a"
_SECTION, _INTERFACE, _OLD_PACKET, _SIMPLE_PACKET, _PACKET = 0x0A0D0D0A, 1, 2, 3, 6
_LITTLE = 0x1A2B3C4D
_RESOLUTION, _OFFSET = 9, 14
_IPV4, _IPV6, _VLANS = 0x0800, 0x86DD, (0x8100, 0x88A8)
_ETHERNET, _NULL, _COOKED, _COOKED_2 = 1, 0, 113, 276
_RAW = (12, 14, 101, 228, 229)
_MOST_BYTES = 2**28


class Packet(NamedTuple):
    """`ip` begins with the IP header, and may be cut; `whole` is how long it was."""

    t_ns: int
    interface: int
    ip: bytes
    whole: int


class _Interface(NamedTuple):
    link: int
    a_second: int
    offset_s: int


def read_packets(file: IO[bytes]) -> Iterator[Packet]:
    """Every packet of IP in the file; ValueError if it is not such a file, or ends within a packet."""
    magic = file.read(4)
    if magic == PCAPNG:
        yield from _read_pcapng(file)
    elif magic in PCAP:
        yield from _read_pcap(file, *PCAP[magic])
    else:
        raise ValueError("it is not a packet capture")


def _read_pcap(file: IO[bytes], order: str, ns: int) -> Iterator[Packet]:
    *_, link = struct.unpack(f"{order}HHiIII", _exactly(file, 20))
    record = struct.Struct(f"{order}4I")
    while header := file.read(record.size):
        if len(header) < record.size:
            raise ValueError("it ends within a packet")
        seconds, part, captured, whole = record.unpack(header)
        data = _exactly(file, captured)
        if (found := _ip_of(link & 0xFFFF, data, whole)) is not None:
            yield Packet(seconds * 1_000_000_000 + part * ns, 0, *found)


def _read_pcapng(file: IO[bytes]) -> Iterator[Packet]:
    order, interfaces = "<", list[_Interface]()
    kind_bytes = PCAPNG
    while len(kind_bytes) == 4:
        length_bytes = _exactly(file, 4)
        if kind_bytes == PCAPNG:
            magic = _exactly(file, 4)
            order = "<" if struct.unpack("<I", magic)[0] == _LITTLE else ">"
            (length,) = struct.unpack(f"{order}I", length_bytes)
            _exactly(file, _checked(length) - 12)
            interfaces = []
        else:
            kind, length = struct.unpack(f"{order}II", kind_bytes + length_bytes)
            body = _exactly(file, _checked(length) - 8)[:-4]
            if kind == _INTERFACE:
                interfaces.append(_interface(body, order))
            elif kind == _PACKET:
                number, high, low, captured, whole = struct.unpack_from(f"{order}5I", body)
                one = _known(interfaces, number)
                ticks = high << 32 | low
                t_ns = ticks * 1_000_000_000 // one.a_second + one.offset_s * 1_000_000_000
                if (found := _ip_of(one.link, body[20 : 20 + captured], whole)) is not None:
                    yield Packet(t_ns, number, *found)
            elif kind in (_OLD_PACKET, _SIMPLE_PACKET):
                raise ValueError("its packets are in blocks without times, or of an old kind: convert it with editcap")
        kind_bytes = file.read(4)
    if kind_bytes:
        raise ValueError("it ends within a block")


def _interface(body: bytes, order: str) -> _Interface:
    (link,) = struct.unpack_from(f"{order}H", body)
    a_second, offset_s, at = 1_000_000, 0, 8
    while at + 4 <= len(body):
        code, length = struct.unpack_from(f"{order}HH", body, at)
        if code == _RESOLUTION and length:
            value = body[at + 4]
            a_second = 2 ** (value & 0x7F) if value & 0x80 else 10**value
        elif code == _OFFSET and length == 8:
            (offset_s,) = struct.unpack_from(f"{order}q", body, at + 4)
        at += 4 + (length + 3) // 4 * 4
    return _Interface(link, a_second, offset_s)


def _known(interfaces: list[_Interface], number: int) -> _Interface:
    if number >= len(interfaces):
        raise ValueError(f"it has a packet of interface {number}, and describes {len(interfaces)}")
    return interfaces[number]


def _checked(length: int) -> int:
    if length < 12 or length % 4 or length > _MOST_BYTES:
        raise ValueError("it has a block of an impossible length")
    return length


def _exactly(file: IO[bytes], count: int) -> bytes:
    if count > _MOST_BYTES:
        raise ValueError("it has a packet of an impossible length")
    found = file.read(count)
    if len(found) < count:
        raise ValueError("it ends within a packet")
    return found


def _ip_of(link: int, data: bytes, whole: int) -> tuple[bytes, int] | None:
    """The packet from its IP header on, and its length from there; None for packets that are not of IP."""
    if link == _ETHERNET:
        at = 12
        while at + 2 <= len(data) and int.from_bytes(data[at : at + 2]) in _VLANS:
            at += 4
        protocol, start = int.from_bytes(data[at : at + 2]), at + 2
    elif link == _COOKED:
        protocol, start = int.from_bytes(data[14:16]), 16
    elif link == _COOKED_2:
        protocol, start = int.from_bytes(data[:2]), 20
    elif link == _NULL or link in _RAW:
        start = 4 if link == _NULL else 0
        protocol = {4: _IPV4, 6: _IPV6}.get(data[start] >> 4 if len(data) > start else 0, 0)
    else:
        raise ValueError(f"its packets have link type {link}, which is not read")
    return (data[start:], whole - start) if protocol in (_IPV4, _IPV6) else None
