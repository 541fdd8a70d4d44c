"""Merge the growing traces of several agents into one growing trace.bin, in the order of time.

Each agent's records arrive in its own order, and their times count from the same instant. A record waits here until every other agent has
sent a later one. On real hosts it never waits long: users watch the run, and a silent host must not delay it. The guests of a run in parts
say how far they have come, and their records get the order in which one guest writes them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import (
    EVENT_END,
    EVENT_STOPPED,
    HEADER_BYTES,
    KIND_NUMBERS,
    RECORD_BYTES,
    trace_header,
)

Rows = NDArray[np.uint8]

# The longest time that a record waits for those of others.
WAIT_NS = 300_000_000


_KIND_AT, _ID_AT, _WHAT_AT = 8, 10, 12
# Of one instant: what packets did, the tick's records of links and of flows, what receivers of UDP counted, events, the end, and the last
# records of flows.
_LINK, _FLOW, _EVENT = KIND_NUMBERS["link"], KIND_NUMBERS["flow"], KIND_NUMBERS["event"]
_OF_SENDERS = [KIND_NUMBERS[kind] for kind in ("ack", "state")]
_OF_LINKS = [KIND_NUMBERS[kind] for kind in ("drop", "departure", "link")]
_RANKS = np.zeros(256, dtype=np.int64)
_RANKS[_LINK], _RANKS[_FLOW], _RANKS[_EVENT] = 1, 2, 4
_UDP_RANK, _END_RANK, _LAST_RANK = 3, 5, 6
_MOST_RANKS = 16


@dataclass(frozen=True, slots=True)
class GuestOrder:
    """The order in which one guest serves what is due at one instant: for each flow and each link, by its number, the place of its wire, and
    for each flow its place in the order of starts: alarms that were set first ring first."""

    flows: Sequence[int]
    links: Sequence[int]
    starts: Sequence[int]
    end_ns: int


class MergedTrace:
    """The trace of a run, written as its parts arrive; with an order, they are those of guests."""

    def __init__(
        self, path: Path, names: list[str], order: GuestOrder | None = None, *, departures: bool = False
    ) -> None:
        self._header = trace_header(departures=departures)
        self._order = order
        self._file = path.open("wb")
        self._file.write(self._header)
        self._file.flush()
        self._unread = dict.fromkeys(names, b"")
        self._begun = dict.fromkeys(names, False)
        self._waiting: dict[str, list[Rows]] = {name: [] for name in names}
        self._latest_ns = dict.fromkeys(names, -1)
        self.records = 0
        # Events that several guests saw, each written once.
        self.repeated = 0
        self.written_ns = -1

    def add(self, name: str, piece: bytes) -> None:
        """The next bytes of the trace.bin of one agent."""
        unread = self._unread[name] + piece
        if not self._begun[name]:
            if len(unread) < HEADER_BYTES:
                self._unread[name] = unread
                return
            if unread[:HEADER_BYTES] != self._header:
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

    def write_before(self, reached_ns: Mapping[str, int]) -> None:
        """Write the records of guests before the least time that one has reached; none of them sends an earlier one any more."""
        self._write_until(min(reached_ns.values()) - 1)

    def finish(self) -> None:
        """Write the rest."""
        self._write_until(2**63 - 1)
        self._file.close()

    def close(self) -> None:
        """Close the file, even if records are missing."""
        self._file.close()

    def left_over(self) -> list[str]:
        """The agents whose trace ends within a record."""
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
        if self._order is None:
            rows = rows[np.argsort(_times(rows), kind="stable")]
        else:
            ranks = np.concatenate([_ranks(piece) for piece in due])
            parts = np.repeat(np.arange(len(due)), [len(piece) for piece in due])
            rows = _as_in_one_guest(rows, ranks, parts, self._order)
            twice = _repeated_events(rows)
            rows, self.repeated = np.delete(rows, twice, axis=0) if twice else rows, self.repeated + len(twice)
        self._file.write(rows.tobytes())
        self._file.flush()
        self.records += len(rows)
        self.written_ns = max(self.written_ns, int(_times(rows)[-1]))


def _as_in_one_guest(rows: Rows, ranks: NDArray[np.int64], parts: NDArray[np.int64], order: GuestOrder) -> Rows:
    keys = _times(rows) * _MOST_RANKS + ranks
    by_key = np.argsort(keys, kind="stable")
    rows, keys, parts = rows[by_key], keys[by_key], parts[by_key]
    # Those of one instant and rank, where several guests have some.
    begins = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    mixed = np.minimum.reduceat(parts, begins) != np.maximum.reduceat(parts, begins)
    counts = np.diff(np.append(begins, len(keys)))
    together = np.flatnonzero(np.repeat(mixed, counts))
    if len(together):
        some = rows[together]
        rows[together] = some[np.lexsort((_places(some, order), keys[together]))]
    return rows


def _places(rows: Rows, order: GuestOrder) -> NDArray[np.int64]:
    """The place of what a record is about in the order of one guest."""
    numbers = np.ascontiguousarray(rows[:, _ID_AT : _ID_AT + 2]).view("<u2").reshape(-1)
    places = numbers.astype(np.int64)
    for kinds, known in ((_OF_SENDERS, order.flows), (_OF_LINKS, order.links)):
        chosen = np.isin(rows[:, _KIND_AT], kinds)
        places[chosen] = np.asarray(known, dtype=np.int64)[numbers[chosen]]
    events = (rows[:, _KIND_AT] == _EVENT) & (numbers < len(order.starts))
    stops = events & _stops(rows, order.end_ns)
    woken = events & (rows[:, _WHAT_AT] != EVENT_STOPPED)
    for known, chosen in ((order.starts, stops), (order.flows, woken)):
        places[chosen] = np.asarray(known, dtype=np.int64)[numbers[chosen]]
    return places


def _stops(rows: Rows, end_ns: int) -> NDArray[np.bool_]:
    stops: NDArray[np.bool_] = (rows[:, _WHAT_AT] == EVENT_STOPPED) & (_times(rows) < end_ns)
    return stops


def _ranks(rows: Rows) -> NDArray[np.int64]:
    """The order in which one guest writes records of the same instant."""
    ranks = _RANKS[rows[:, _KIND_AT]]
    # A count of packets: TCP has none.
    ranks[(rows[:, _KIND_AT] == _FLOW) & rows[:, _WHAT_AT : _WHAT_AT + 4].any(axis=1)] = _UDP_RANK
    ends = np.flatnonzero((rows[:, _KIND_AT] == _EVENT) & (rows[:, _WHAT_AT] == EVENT_END))
    if len(ends):
        ranks[ends[0]] = _END_RANK
        ranks[ends[0] + 1 :] += _LAST_RANK
    return ranks


def _repeated_events(rows: Rows) -> list[int]:
    """Places of events that several guests saw, after the first."""
    seen: set[bytes] = set()
    twice = []
    for place in np.flatnonzero(rows[:, _KIND_AT] == _EVENT).tolist():
        event = rows[place].tobytes()
        if event in seen:
            twice.append(place)
        seen.add(event)
    return twice


def _times(rows: Rows) -> NDArray[np.int64]:
    return np.ascontiguousarray(rows[:, :8]).view("<i8").reshape(-1)
