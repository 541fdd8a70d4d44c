"""The wires between the guests of a run in parts: memory that two guests share, and a doorbell between them (kmod/lh_wire.h).

    part 0 --- memory, doorbell --- part 2 --- memory, doorbell --- part 1

A guest inherits both as descriptors, a pair for each part that it has wires to. This process reads the memory: how far a part has come,
and after the end how many packets are still on the way.
"""

from __future__ import annotations

import itertools
import mmap
import os
import socket
import struct

from longhaul.orchestrator.plan.guests.cut import Cut
from longhaul.orchestrator.system.errors import BackendError, remedy
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_HEADER_BYTES, _CURSORS_BYTES, _CURSOR_BYTES = 4096, 4096, 256
_LANE_BYTES, _EPOCH_AT, _PUBLISHED_AT = 384, 24, 128
_HEAD_AT, _TAIL_AT, _PLACE_AT = 0, 128, 136
_CHUNK_BYTES = 65536
_OVER_NS = 2**64 - 1
# The beginning of a record: due, bytes, memory of the packet, length. One without a length leads to the chunk of that number.
_RECORD = struct.Struct("<QIII")


@dataclass(slots=True)
class _Channel:
    """Between two parts, the one with the lower number first."""

    parts: tuple[int, int]
    wires: int
    memory: int
    bells: tuple[socket.socket, socket.socket]
    view: mmap.mmap


class SharedWires:
    """All of a run; closing it frees the memory once the guests have ended."""

    def __init__(self, cut: Cut) -> None:
        self._cut = cut
        self._channels: list[_Channel] = []
        try:
            for one, other in itertools.combinations(range(len(cut.nodes)), 2):
                if wires := cut.between(one, other):
                    self._channels.append(self._channel((one, other), len(wires)))
        except OSError as error:
            self.close()
            raise BackendError(
                "making the wires between the parts of",
                cut.run.experiment,
                error.strerror or str(error),
                remedy(error, "give fewer parts"),
            ) from error

    def _channel(self, parts: tuple[int, int], wires: int) -> _Channel:
        memory = os.memfd_create("longhaul-wires")
        try:
            # Pages that no packet was written to take no memory.
            os.ftruncate(memory, self._at(wires) + 2 * self._cut.arena_bytes)
            view = mmap.mmap(memory, 0)
        except OSError:
            os.close(memory)
            raise
        return _Channel(parts, wires, memory, socket.socketpair(), view)

    def _at(self, place: int) -> int:
        """Where the cursors of a wire are, and behind the last of them the arenas."""
        return _HEADER_BYTES + place * _CURSORS_BYTES

    def descriptors(self, part: int) -> list[int]:
        """Memory and doorbell of each neighbour of a part, in the order of their numbers."""
        found = []
        for channel in sorted(self._channels, key=lambda channel: sum(channel.parts) - part):
            if part in channel.parts:
                found += [channel.memory, channel.bells[channel.parts.index(part)].fileno()]
        return found

    def let_go(self) -> None:
        """Leave the doorbells to the guests, so that the death of one is heard by its neighbours."""
        for channel in self._channels:
            for bell in channel.bells:
                bell.close()

    def reached_ns(self, part: int) -> int:
        """The time of the run up to which a part has sent everything; -1 before the start."""
        channel = next(one for one in self._channels if part in one.parts)
        lane = _LANE_BYTES * channel.parts.index(part)
        (published_ns,) = struct.unpack_from("<Q", channel.view, lane + _PUBLISHED_AT)
        epoch_ns = max(struct.unpack_from("<Q", channel.view, side * _LANE_BYTES + _EPOCH_AT)[0] for side in (0, 1))
        if published_ns == _OVER_NS:
            return self._cut.run.duration_us * 1000
        return int(published_ns) - int(epoch_ns) if published_ns else -1

    def on_the_way(self) -> dict[str, int]:
        """By the device that sent them, the packets on each wire when the guests had ended."""
        found = {}
        for channel in self._channels:
            for place, crossing in enumerate(self._cut.between(*channel.parts)):
                for end, part in zip(crossing.wire.ends, crossing.parts, strict=True):
                    found[end.dev] = self._packets(channel, place, channel.parts.index(part))
        return found

    def _packets(self, channel: _Channel, place: int, side: int) -> int:
        cursor = self._at(place) + side * _CURSOR_BYTES
        arena = self._at(channel.wires) + side * self._cut.arena_bytes
        head, tail, at = (
            struct.unpack_from("<Q", channel.view, cursor + field)[0] for field in (_HEAD_AT, _TAIL_AT, _PLACE_AT)
        )
        count = 0
        while tail < head:
            _, size, chunk, length = _RECORD.unpack_from(channel.view, arena + at)
            if not size:
                break
            count += length > 0
            tail += size
            at = at + size if length else chunk * _CHUNK_BYTES
        return count

    def close(self) -> None:
        """Give the memory back."""
        self.let_go()
        for channel in self._channels:
            channel.view.close()
            os.close(channel.memory)
        self._channels = []
