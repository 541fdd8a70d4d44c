"""A trace read while it grows: every record once, even if the file is renamed, and only of traces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from longhaul.orchestrator.live.downsampling import Downsampler, joined
from longhaul.orchestrator.system.errors import TraceError
from longhaul.orchestrator.trace.records import HEADER_BYTES, RECORD_BYTES, split_records
from longhaul.orchestrator.trace.tail import GrowingTrace
from tests.support.recordings import RUNS, plain_run, recorded

WHOLE = (RUNS / "lossy_pair" / "trace.bin").read_bytes()


def count(trace: GrowingTrace) -> int:
    return sum(len(records) for piece in trace.read() for records in piece.kinds().values())


def test_every_record_is_read_once_and_whole(tmp_path: Path) -> None:
    file = tmp_path / "trace.bin"
    trace = GrowingTrace([file])
    assert count(trace) == 0
    found = 0
    with file.open("wb", buffering=0) as out:
        for begin in range(0, len(WHOLE), 1000):
            out.write(WHOLE[begin : begin + 1000])
            found += count(trace)
            assert found == max(0, min(begin + 1000, len(WHOLE)) - HEADER_BYTES) // RECORD_BYTES
    trace.close()


def test_a_trace_can_be_moved_or_removed_while_it_is_read(tmp_path: Path) -> None:
    """A finished trace is moved, packed and removed while its last records are read."""
    first, moved = tmp_path / "guest.bin", tmp_path / "trace.bin"
    moved.touch()
    first.write_bytes(WHOLE[: HEADER_BYTES + 10 * RECORD_BYTES])
    trace = GrowingTrace([first, moved])
    assert count(trace) == 10
    with first.open("ab") as out:
        out.write(WHOLE[HEADER_BYTES + 10 * RECORD_BYTES :])
    first.rename(moved)
    assert not trace.replaced()
    moved.unlink()
    assert count(trace) == len(WHOLE[HEADER_BYTES:]) // RECORD_BYTES - 10
    trace.close()


def test_another_file_in_its_place_is_another_attempt(tmp_path: Path) -> None:
    file = tmp_path / "trace.bin"
    file.write_bytes(WHOLE[: HEADER_BYTES + 5 * RECORD_BYTES])
    trace = GrowingTrace([file])
    assert count(trace) == 5
    file.unlink()
    assert not trace.replaced()
    file.write_bytes(WHOLE[: HEADER_BYTES + 7 * RECORD_BYTES])
    assert trace.replaced()
    assert count(trace) == 7
    trace.close()


def test_an_empty_file_is_waited_for_and_another_may_come_first(tmp_path: Path) -> None:
    (tmp_path / "trace.bin").touch()
    trace = GrowingTrace([tmp_path / "guest.bin", tmp_path / "trace.bin"])
    assert not trace.find()
    (tmp_path / "guest.bin").write_bytes(WHOLE)
    assert count(trace) > 0
    trace.close()


def test_links_and_invalid_traces_are_refused(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(RUNS / "lossy_pair" / "trace.bin")
    with pytest.raises(TraceError, match="symbolic links"):
        count(GrowingTrace([tmp_path / "link"]))
    (tmp_path / "other").write_bytes(b"x" * 5000)
    trace = GrowingTrace([tmp_path / "other"])
    with pytest.raises(TraceError, match="its header is not that of a trace"):
        count(trace)
    trace.close()


@settings(max_examples=100)
@given(st.lists(st.tuples(st.integers(1, 6), st.binary(min_size=64, max_size=64)), max_size=30), st.booleans())
def test_a_hostile_guest_gives_a_bounded_number_of_samples(rows: list[tuple[int, bytes]], pair: bool) -> None:
    run = recorded("lossy_pair")[0] if pair else plain_run()
    body = np.frombuffer(b"".join(row for _, row in rows), dtype=np.uint8).copy().reshape(-1, 64)
    body[:, 8] = [kind for kind, _ in rows]
    # Half of them about existing flows and links.
    body[::2, 10:12] = 0
    downsampler = Downsampler(run, "0" * 20)
    found = joined([*downsampler.feed(split_records(body.reshape(-1))), *downsampler.finish()])
    cells = run.duration_us // 10_000
    for samples in found.values():
        assert len(samples.ms) <= 2 * cells + 3
        assert (np.diff(samples.ms) > 0).all()
        assert samples.ms[-1] <= run.duration_us // 1000 + 10
