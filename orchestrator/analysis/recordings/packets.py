"""A packet capture as a recording: each connection of TCP that carried data is a flow, each direction of UDP another.

    bytes         what the receiver has acknowledged; without acknowledgements in the file, what the sender sent first
    retransmits   segments whose bytes had all been sent before
    round trips   from a segment to the acknowledgement of its last byte, unless a part of what that acknowledges was sent again (Karn)

Round trips are those at the place of the capture: the whole path's only where the sender is.
"""

from __future__ import annotations

import heapq
import ipaddress
from collections import deque
from typing import IO

import numpy as np

from longhaul.orchestrator.analysis.recordings.packet_file import read_packets
from longhaul.orchestrator.analysis.recordings.recording import RecordedFlow, Recording, Samples
from longhaul.orchestrator.analysis.series import Counter

_TCP, _UDP = 6, 17
_SYN, _RST, _ACK = 0x02, 0x04, 0x10
# Smaller connections beside a large one are not transfers: they open a control connection, or a page.
_LEAST_SHARE = 0.01
_WRAP = 2**32

_End = tuple[bytes, int]
_Key = tuple[int, _End, _End]


class _Direction:
    """What one end sent, and what the other one acknowledged. Sequence numbers continue over 2^32."""

    def __init__(self) -> None:
        self.payload = 0
        self.begin: int | None = None
        self.sent_to = 0
        self.acked_to: int | None = None
        self.sent: list[tuple[int, int]] = []
        self.acked: list[tuple[int, int]] = []
        self.again: list[int] = []
        self.round_trips: list[tuple[int, int]] = []
        # The ends of segments that are not acknowledged: as they were first sent, with their times, and those that were sent again.
        self.waiting: deque[tuple[int, int]] = deque()
        self.waiting_again: list[int] = []

    def send(self, t_ns: int, seq: int, length: int, *, syn: bool) -> None:
        if self.begin is None:
            self.begin = self.sent_to = seq + 1 if syn else seq
        first = self._continued(seq + (1 if syn else 0), self.sent_to)
        if not length:
            return
        end = first + length
        self.payload += length
        if end <= self.sent_to:
            self.again.append(t_ns)
            heapq.heappush(self.waiting_again, end)
        else:
            self.sent_to = end
            self.sent.append((t_ns, end - self.begin))
            self.waiting.append((end, t_ns))

    def acknowledge(self, t_ns: int, ack: int) -> None:
        if self.begin is None:
            return
        if self.acked_to is None:
            self.acked_to = self.begin
        to = self._continued(ack, self.acked_to)
        # A FIN counts as a byte.
        to = min(to, self.sent_to)
        if to <= self.acked_to:
            return
        self.acked_to = to
        self.acked.append((t_ns, to - self.begin))
        sent_ns: int | None = None
        while self.waiting and self.waiting[0][0] <= to:
            end, at_ns = self.waiting.popleft()
            sent_ns = at_ns if end == to else None
        sent_again = False
        while self.waiting_again and self.waiting_again[0] <= to:
            heapq.heappop(self.waiting_again)
            sent_again = True
        if sent_ns is not None and not sent_again:
            self.round_trips.append((t_ns, t_ns - sent_ns))

    @staticmethod
    def _continued(number: int, near: int) -> int:
        return near + (number - near + _WRAP // 2) % _WRAP - _WRAP // 2


class _Connection:
    """Both directions, as one interface of the file has them."""

    def __init__(self, interface: int) -> None:
        self.interface = interface
        self.directions: dict[_End, _Direction] = {}

    def direction(self, sender: _End) -> _Direction:
        return self.directions.setdefault(sender, _Direction())


def read_capture(file: IO[bytes], name: str) -> Recording:
    """The recording; ValueError if the file is broken, or has no data."""
    connections: dict[_Key, _Connection] = {}
    zero_ns: int | None = None
    for t_ns, interface, ip, whole in read_packets(file):
        zero_ns = t_ns if zero_ns is None else zero_ns
        _see(connections, t_ns - zero_ns, interface, ip, whole)
    found = [
        (key, sender, direction)
        for key, connection in connections.items()
        for sender, direction in connection.directions.items()
    ]
    largest = max((direction.payload for _, _, direction in found), default=0)
    if not largest:
        raise ValueError("it has no data of TCP or UDP")
    chosen = [one for one in found if one[2].payload >= _LEAST_SHARE * largest]
    flows = tuple(_flow(*one) for one in chosen)
    left = sum(0 < direction.payload < _LEAST_SHARE * largest for _, _, direction in found)
    note = (f"{name} has {left} more with less than {_LEAST_SHARE:.0%} of the largest one's data, which are left out",)
    return Recording(name, "packets", flows, note if left else ())


def _see(connections: dict[_Key, _Connection], t_ns: int, interface: int, ip: bytes, whole: int) -> None:
    if len(ip) < 20:
        return
    if ip[0] >> 4 == 4:
        header, protocol = (ip[0] & 15) * 4, ip[9]
        if int.from_bytes(ip[6:8]) & 0x1FFF:
            # A later fragment.
            return
        # Of a train of segments the length may be left empty.
        length = int.from_bytes(ip[2:4]) or whole
        source, destination = ip[12:16], ip[16:20]
    else:
        header, protocol = 40, ip[6]
        length = (int.from_bytes(ip[4:6]) or whole - 40) + 40
        source, destination = ip[8:24], ip[24:40]
    transport = ip[header : header + 20]
    if protocol not in (_TCP, _UDP) or len(transport) < (20 if protocol == _TCP else 8):
        return
    sender = (source, int.from_bytes(transport[:2]))
    receiver = (destination, int.from_bytes(transport[2:4]))
    key = (protocol, *((sender, receiver) if sender < receiver else (receiver, sender)))
    connection = connections.setdefault(key, _Connection(interface))
    if connection.interface != interface:
        # The same packets at another place.
        return
    if protocol == _UDP:
        one = connection.direction(sender)
        payload = length - header - 8
        one.payload += payload
        one.sent.append((t_ns, one.payload))
        return
    flags = transport[13]
    payload = length - header - (transport[12] >> 4) * 4
    seq, ack = int.from_bytes(transport[4:8]), int.from_bytes(transport[8:12])
    if flags & _RST:
        return
    connection.direction(sender).send(t_ns, seq, max(0, payload), syn=bool(flags & _SYN))
    if flags & _ACK and receiver in connection.directions:
        connection.direction(receiver).acknowledge(t_ns, ack)


def _flow(key: _Key, sender: _End, direction: _Direction) -> RecordedFlow:
    protocol, one, other = key
    receiver = other if sender == one else one
    name = f"{_text(sender)} to {_text(receiver)}"
    counted = direction.acked or direction.sent
    times = np.array([direction.sent[0][0], *(t_ns for t_ns, _ in counted)]) / 1e9
    counts = Counter(times, np.array([0, *(count for _, count in counted)], dtype=np.float64))
    if protocol == _UDP:
        return RecordedFlow(name, "udp", counts)
    again = np.array(direction.again, dtype=np.float64) / 1e9
    edges = np.concatenate([times[:1], again, times[-1:]])
    retransmits = Counter(np.sort(edges), np.concatenate([np.arange(len(again) + 1), [len(again)]]).astype(np.float64))
    samples = np.array(direction.round_trips, dtype=np.float64).reshape(-1, 2)
    rtt = Samples(samples[:, 0] / 1e9, samples[:, 1] / 1e6) if len(samples) else None
    return RecordedFlow(name, "tcp", counts, retransmits, rtt)


def _text(end: _End) -> str:
    address = str(ipaddress.ip_address(end[0]))
    return f"[{address}]:{end[1]}" if ":" in address else f"{address}:{end[1]}"
