"""Traces of several guests become the one that a single guest writes."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from longhaul.orchestrator.trace.merge import GuestOrder, MergedTrace
from longhaul.orchestrator.trace.records import (
    EVENT_END,
    EVENT_STOPPED,
    KIND_NUMBERS,
    RECORD_BYTES,
    TRACE_KINDS,
    read_trace,
    trace_header,
)

ORDER = GuestOrder(flows=[1, 0], links=[2], starts=[0, 5], end_ns=100)


def record(kind: str, t_ns: int, about: int = 0, **fields: int) -> bytes:
    row = np.zeros(1, dtype=TRACE_KINDS[kind])
    row["t_ns"], row["kind"], row["id"] = t_ns, KIND_NUMBERS[kind], about
    for name, value in fields.items():
        row[name] = value
    return row.tobytes()


def end(t_ns: int) -> bytes:
    return record("event", t_ns, 65535, what=EVENT_END)


def merged(path: Path, *parts: bytes) -> list[bytes]:
    trace = MergedTrace(path, [str(number) for number in range(len(parts))], ORDER)
    for number, part in enumerate(parts):
        trace.add(str(number), trace_header() + part)
    trace.finish()
    body = path.read_bytes()[len(trace_header()) :]
    return [body[at : at + RECORD_BYTES] for at in range(0, len(body), RECORD_BYTES)]


def test_records_of_one_instant_have_the_order_of_one_guest(tmp_path: Path) -> None:
    """Packets by the places of their wires, then the tick's links and flows, events, the end, and the last looks at flows."""
    later, first = record("ack", 100, 0), record("ack", 100, 1)
    drop, link, flow = record("drop", 100), record("link", 100), record("flow", 100)
    stopped, last = record("event", 100, 0, what=EVENT_STOPPED), record("flow", 100, app_bytes=7)
    found = merged(
        tmp_path / "trace.bin", later + stopped + end(100), first + end(100), drop + link + flow + end(100) + last
    )
    assert found == [first, later, drop, link, flow, stopped, end(100), last]


def test_records_of_one_guest_keep_their_order(tmp_path: Path) -> None:
    own = (
        record("ack", 100, 0)
        + record("ack", 100, 1)
        + record("event", 100, 1, what=2)
        + record("event", 100, 0, what=2)
    )
    found = merged(tmp_path / "trace.bin", own, record("link", 50))
    assert b"".join(found[1:]) == own


def test_an_event_that_every_guest_saw_is_written_once_and_counted(tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    trace = MergedTrace(path, ["0", "1"], ORDER)
    for name in ("0", "1"):
        trace.add(name, trace_header() + end(100))
    trace.finish()
    assert (trace.records, trace.repeated) == (1, 1)
    assert len(read_trace(path).events) == 1


def test_a_record_is_written_once_no_guest_can_send_an_earlier_one(tmp_path: Path) -> None:
    path = tmp_path / "trace.bin"
    trace = MergedTrace(path, ["0", "1"], ORDER)
    trace.add("0", trace_header() + record("ack", 10) + record("ack", 20))
    trace.add("1", trace_header() + record("link", 15))
    trace.write_before({"0": 30, "1": 20})
    assert [int(one["t_ns"]) for one in read_trace(path).acks] == [10]
    assert len(read_trace(path).links) == 1
    trace.finish()
    assert [int(one["t_ns"]) for one in read_trace(path).acks] == [10, 20]
