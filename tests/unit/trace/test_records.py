"""Traces: read whole, refused if invalid, followed while they grow, kept without losing a bit."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest

from longhaul.orchestrator.results.traces import read_traces, write_traces
from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import EVENT_END, HEADER_BYTES, RECORD_BYTES, TraceTail, read_trace
from tests.support.folders import DATA

RECORDED = DATA / "runs" / "lossy_pair" / "trace.bin"


def test_a_recorded_trace_is_read_whole() -> None:
    trace = read_trace(RECORDED)
    assert sum(map(len, trace.kinds().values())) == (RECORDED.stat().st_size - HEADER_BYTES) // RECORD_BYTES
    assert trace.events["what"][-1] == EVENT_END
    for records in trace.kinds().values():
        assert (np.diff(records["t_ns"].astype(np.int64)) >= 0).all()


def test_parquet_keeps_every_bit(tmp_path: Path) -> None:
    trace = read_trace(RECORDED)
    write_traces(tmp_path, trace)
    again = read_traces(tmp_path)
    for kind, records in trace.kinds().items():
        assert again.kinds()[kind].tobytes() == records.tobytes(), kind


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda data: data[:-10], "its last record has 54 of 64 bytes"),
        (lambda data: data[:100], "not a Longhaul trace"),
        (lambda data: b"", "not a Longhaul trace"),
        (lambda data: data.replace(b"srtt_us", b"xrtt_us", 1), "layout is another version's"),
        (lambda data: data[:HEADER_BYTES] + bytes([0] * 8 + [9] + [0] * 55), "unknown kinds"),
    ],
)
def test_a_spoilt_trace_is_refused(tmp_path: Path, spoil: object, message: str) -> None:
    file = tmp_path / "trace.bin"
    file.write_bytes(spoil(RECORDED.read_bytes()))  # type: ignore[operator]
    with pytest.raises(TraceError, match=message):
        read_trace(file)


def test_a_missing_trace_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match="No such file"):
        read_trace(tmp_path / "trace.bin")


def test_a_damaged_kept_trace_is_an_error(tmp_path: Path) -> None:
    write_traces(tmp_path, read_trace(RECORDED))
    (tmp_path / "acks.parquet").write_bytes(b"not parquet at all")
    with pytest.raises(TraceError, match=r"acks\.parquet"):
        read_traces(tmp_path)


def test_the_tail_of_a_growing_trace_has_the_time(tmp_path: Path) -> None:
    file = tmp_path / "trace.bin"
    tail = TraceTail(file)
    assert tail.virtual_ns() == -1
    shutil.copy(RECORDED, file)
    whole = file.read_bytes()
    file.write_bytes(whole[:HEADER_BYTES])
    assert tail.virtual_ns() == -1
    # Half a record more does not count.
    file.write_bytes(whole[: HEADER_BYTES + RECORD_BYTES + 30])
    first = int(np.frombuffer(whole[HEADER_BYTES : HEADER_BYTES + 8], "<u8")[0])
    assert tail.virtual_ns() == first
    file.write_bytes(whole)
    assert tail.virtual_ns() >= first
