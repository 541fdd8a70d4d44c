"""TCP segments and acknowledgements out of a capture: their numbers as columns, without payload.

    read_segments(Path("capture.pcapng.zst")).of(port) -> (interface, data, acknowledgements)

Only IPv4 over Ethernet, as Longhaul's runs have it. A packet that a device sends or receives is one packet; of a flow, the interface with most of its data counts.
"""

from __future__ import annotations

import struct
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.pcap import blocks_of, interface_name, unpack_pcapng
from longhaul.orchestrator.trace.records import Columns

_INTERFACE, _PACKET = 1, 6
_ETHERNET_BYTES, _IPV4, _TCP = 14, 0x0800, 6
_SACK, _NOTHING, _END = 5, 1, 0
_SYN = 0x02
_MOST_BLOCKS = 4
_HEAD = struct.Struct("<5I")
_TCP_HEAD = struct.Struct(">HHIIBB")
# One row a segment: time, interface, ports, first byte, length, acknowledged, and up to four SACK blocks.
_ROW = np.dtype(
    [
        ("t_ns", "<i8"),
        ("interface", "<u2"),
        ("source_port", "<u2"),
        ("destination_port", "<u2"),
        ("seq", "<u4"),
        ("length", "<u4"),
        ("ack", "<u4"),
        ("sack_from", "<u4", _MOST_BLOCKS),
        ("sack_to", "<u4", _MOST_BLOCKS),
    ]
)


@dataclass(frozen=True, slots=True)
class Segments:
    """The segments of a capture in the order of time, and the names of its interfaces."""

    interfaces: tuple[str, ...]
    rows: NDArray[np.void]

    def of(self, port: int, *, backward: bool = False, near: Sequence[str] = ()) -> tuple[str, Columns, Columns]:
        """Of the flow to this port (or from it): the interface that saw its data, its data, and the acknowledgements of them.

        Of several interfaces, the first of these devices that saw some counts, else the one with most.
        """
        ahead, behind = ("source_port", "destination_port") if backward else ("destination_port", "source_port")
        data = self.rows[(self.rows[ahead] == port) & (self.rows["length"] > 0)]
        counts = np.bincount(data["interface"], minlength=len(self.interfaces) or 1)
        seen = [at for at, count in enumerate(counts.tolist()) if count]
        if not seen:
            return "", _columns(data), _columns(data)
        devices = {self.interfaces[at].rpartition(" ")[2]: at for at in reversed(seen)}
        at = next((devices[one] for one in near if one in devices), int(np.argmax(counts)))
        acks = self.rows[(self.rows[behind] == port) & (self.rows["interface"] == at)]
        return self.interfaces[at], _columns(data[data["interface"] == at]), _columns(acks)


def read_segments(packed: Path) -> Segments:
    """Every TCP segment of a compressed pcapng file but those that open a connection."""
    interfaces, rows = [], []
    with tempfile.TemporaryDirectory(prefix="longhaul-") as folder:
        plain = Path(folder) / "plain.pcapng"
        unpack_pcapng(packed, plain)
        for kind, body in blocks_of(plain):
            if kind == _INTERFACE:
                interfaces.append(interface_name(body))
            elif kind == _PACKET and (row := _row(body)) is not None:
                rows.append(row)
    made = np.array(rows, dtype=_ROW)
    return Segments(tuple(interfaces), made[np.argsort(made["t_ns"], kind="stable")])


def _columns(rows: NDArray[np.void]) -> Columns:
    return {name: rows[name] for name in _ROW.names or ()}


def _row(body: bytes) -> tuple[object, ...] | None:
    """One packet; None if it is no TCP segment, or opens a connection."""
    interface, high, low, captured, _ = _HEAD.unpack_from(body)
    packet = body[_HEAD.size : _HEAD.size + captured]
    if len(packet) < _ETHERNET_BYTES + 20 or int.from_bytes(packet[12:14]) != _IPV4 or packet[23] != _TCP:
        return None
    at = _ETHERNET_BYTES + (packet[_ETHERNET_BYTES] & 0x0F) * 4
    if len(packet) < at + 20:
        return None
    source, destination, seq, ack, offset, flags = _TCP_HEAD.unpack_from(packet, at)
    if flags & _SYN:
        return None
    head_bytes = (offset >> 4) * 4
    whole = int.from_bytes(packet[16:18])
    length = whole - (at - _ETHERNET_BYTES) - head_bytes
    begins, ends = _sack_blocks(packet[at + 20 : at + head_bytes])
    t_ns = high << 32 | low
    return (t_ns, interface, source, destination, seq, max(0, length), ack, begins, ends)


def _sack_blocks(options: bytes) -> tuple[list[int], list[int]]:
    begins, ends = [0] * _MOST_BLOCKS, [0] * _MOST_BLOCKS
    at = 0
    while at < len(options) and options[at] != _END:
        if options[at] == _NOTHING:
            at += 1
            continue
        length = options[at + 1] if at + 1 < len(options) else 0
        if length < 2:
            break
        if options[at] == _SACK:
            blocks = options[at + 2 : at + length]
            for number in range(min(_MOST_BLOCKS, len(blocks) // 8)):
                begins[number], ends[number] = struct.unpack_from(">II", blocks, number * 8)
        at += length
    return begins, ends
