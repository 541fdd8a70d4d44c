"""Reads what kmod/lh_connections.c wrote of a guest without a plan: its TCP connections, its queues, and their records.

guest/connections.lines     a line for each connection and queue, and the end
guest/connections.records   records of the trace, without a header, one after the other as they came
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVENT_END, KIND_NUMBERS, RECORD_BYTES, TRACE_KINDS, trace_header

LINES, RECORDS = "connections.lines", "connections.records"

# The numbers of records have 16 bits.
_MOST_NUMBERS = 65_536
_READING = "reading the connections of"
Rows = NDArray[np.void]
# In the order of a line.
_COUNTS = (
    "port",
    "sent",
    "received",
    "packets_sent",
    "packets_received",
    "again",
    "delivered",
    "marks",
    "mss",
    "least_rtt_us",
)


@dataclass(frozen=True, slots=True)
class End:
    """One end of a connection, in a network namespace, and the counts of its socket."""

    namespace: int
    address: str
    port: int
    sent: int
    received: int
    packets_sent: int
    packets_received: int
    again: int
    delivered: int
    marks: int
    mss: int
    least_rtt_us: int
    control: str


@dataclass(frozen=True, slots=True)
class Connection:
    """Times are nanoseconds from the start; `ends` are the one that opened it, and the other one. `closed_ns` 0: it was open at the end."""

    number: int
    opened_ns: int
    connected_ns: int
    closed_ns: int
    ends: tuple[End, End]

    def direction(self, sender: int) -> int:
        """The number in the records of what that end sends."""
        return 2 * self.number + sender


@dataclass(frozen=True, slots=True)
class Observed:
    """All that the module wrote. `began_ns` is time 0 on the guest's monotonic clock; `rates` has (from ns, bit/s) of the queues with a known one;
    `missed` counts connections and queues that it did not follow."""

    began_ns: int
    end_ns: int
    connections: Sequence[Connection]
    queues: Mapping[int, str]
    rates: Mapping[int, Sequence[tuple[int, int]]]
    missed: tuple[int, int]
    rows: Rows


def read_observed(guest: Path, subject: str) -> Observed:
    """What a guest with this root left; TraceError if it is not whole."""
    try:
        lines = [line.split() for line in (guest / LINES).read_text().splitlines()]
        body = np.fromfile(guest / RECORDS, dtype=np.uint8)
    except OSError as error:
        raise TraceError(_READING, subject, f"{error.filename}: {error.strerror}") from error
    (began,) = _values(lines, "epoch")
    ends = list(_values(lines, "end"))
    if not ends or int(ends[0][1]) * RECORD_BYTES != len(body):
        raise TraceError(_READING, subject, "the guest ended before it had written all of them", "run it again")
    end_ns, _, *missed = map(int, ends[0])
    return Observed(
        began_ns=int(began[0]),
        end_ns=end_ns,
        connections=sorted((_connection(row) for row in _values(lines, "connection")), key=lambda one: one.number),
        queues={int(number): device for number, device in _values(lines, "queue")},
        rates=_rates(_values(lines, "rate")),
        missed=(missed[0], missed[1]),
        rows=body.view(f"V{RECORD_BYTES}"),
    )


def _values(lines: Sequence[Sequence[str]], kind: str) -> Iterator[Sequence[str]]:
    return (line[1:] for line in lines if line[:1] == [kind])


def _rates(rows: Iterable[Sequence[str]]) -> dict[int, list[tuple[int, int]]]:
    rates: dict[int, list[tuple[int, int]]] = {}
    for queue, from_ns, bps in (map(int, row) for row in rows):
        rates.setdefault(queue, []).append((from_ns, bps))
    return rates


def _connection(row: Sequence[str]) -> Connection:
    size = len(End.__slots__)
    first, second = row[4 : 4 + size], row[4 + size :]
    number, opened_ns, connected_ns, closed_ns = map(int, row[:4])
    return Connection(number, opened_ns, connected_ns, closed_ns, (_end(first), _end(second)))


def _end(row: Sequence[str]) -> End:
    namespace, address, *counts, control = row
    named = dict(zip(_COUNTS, map(int, counts), strict=True))
    return End(namespace=int(namespace), address=address, control=control, **named)


def last_received_ns(observed: Observed) -> NDArray[np.uint64]:
    """When the last bytes of each direction had arrived, by its number; 0 for none."""
    received = observed.rows.view(TRACE_KINDS["flow"])
    received = received[received["kind"] == KIND_NUMBERS["flow"]]
    last = np.zeros(_MOST_NUMBERS, dtype=np.uint64)
    np.maximum.at(last, received["id"], received["t_ns"])
    return last


def write_trace(
    path: Path, observed: Observed, numbers: Mapping[int, int], earlier: Mapping[int, int], queues: Mapping[int, int]
) -> int:
    """Write the records as a trace, in the order of time; how many there are.

    `numbers` has the flow of each direction, `earlier` the bytes of the flow's connections before; `queues` the link of each queue. Others are left out.
    """
    rows = observed.rows.copy()
    common, received = rows.view(TRACE_KINDS["event"]), rows.view(TRACE_KINDS["flow"])
    counts = common["kind"] == KIND_NUMBERS["flow"]
    of_flows = counts | (common["kind"] == KIND_NUMBERS["ack"])
    received["app_bytes"][counts] += _table(earlier, 0)[common["id"][counts]].astype(np.uint64)
    named = np.where(of_flows, _table(numbers, -1)[common["id"]], _table(queues, -1)[common["id"]])
    common["id"] = named
    rows = rows[named >= 0]
    # In the order of writing where times are equal.
    rows = rows[np.argsort(rows.view(TRACE_KINDS["event"])["t_ns"], kind="stable")]
    end = np.zeros(1, dtype=TRACE_KINDS["event"])
    end["t_ns"], end["kind"], end["what"] = observed.end_ns, KIND_NUMBERS["event"], EVENT_END
    path.write_bytes(trace_header() + rows.tobytes() + end.tobytes())
    return len(rows) + 1


def _table(values: Mapping[int, int], other: int) -> NDArray[np.int64]:
    table = np.full(_MOST_NUMBERS, other, dtype=np.int64)
    table[list(values)] = list(values.values())
    return table
