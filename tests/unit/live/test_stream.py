"""The stream of a running run: the samples it delivers, restarts of its guest, and errors that end it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import cramjam
import pytest

from longhaul.orchestrator.database.prometheus_spans import Span
from longhaul.orchestrator.live.downsampling import Downsampler
from longhaul.orchestrator.live.remote_write import Request
from longhaul.orchestrator.live.replay import requests_of, samples_of
from longhaul.orchestrator.live.stream import Stream
from longhaul.orchestrator.plan.run import Run
from tests.support.recordings import RUNS, recorded
from tests.support.waiting import wait_for
from tests.unit.live.test_remote_write import fields

RUN_ID = "0123456789abcdef0123"
BEGIN_MS = 1_795_305_560_000
LOSSY, REAL = ((RUNS / name / "trace.bin").read_bytes() for name in ("lossy_pair", "real_clock"))


class Taken:
    """A receiver of requests."""

    def __init__(self, room: Callable[[], bool] = lambda: True) -> None:
        self.requests: list[Request] = []
        self._room = room

    def put(self, stream: Stream, request: Request) -> bool:
        if self._room():
            self.requests.append(request)
            return True
        return False

    def samples(self) -> set[tuple[bytes, bytes]]:
        """(labels, sample) of all, as they were encoded."""
        found = set()
        for request in self.requests:
            for _, series in fields(bytes(cramjam.snappy.decompress_raw(request.body))):
                parts = fields(series)
                named = b"".join(part for number, part in parts if number == 1)
                found |= {(named, part) for number, part in parts if number == 2}
        return found


def stream(run: Run, place: Path, taken: Taken, begin_ms: int | None = BEGIN_MS) -> Stream:
    return Stream(run, RUN_ID, [place], begin_ms, 10, taken.put)


def whole(run: Run, name: str) -> set[tuple[bytes, bytes]]:
    taken = Taken()
    taken.requests += requests_of(run, RUN_ID, recorded(name)[1], Span(BEGIN_MS, BEGIN_MS + 3010, 10))
    return taken.samples()


def test_a_stream_sends_the_samples_of_a_replay(tmp_path: Path) -> None:
    run, trace, _ = recorded("lossy_pair")
    taken, file = Taken(), tmp_path / "trace.bin"
    file.write_bytes(LOSSY[: len(LOSSY) // 2])
    one = stream(run, file, taken)
    wait_for(lambda: one.tally.samples > 0)
    with file.open("ab") as out:
        out.write(LOSSY[len(LOSSY) // 2 :])
    one.end(whole=True)
    # The first call of `end` counts, and the file may be removed at once.
    file.unlink()
    one.end(whole=False)
    one.wait()
    assert taken.samples() == whole(run, "lossy_pair")
    count = sum(len(some.ms) for piece in samples_of(Downsampler(run, RUN_ID), run, trace) for some in piece)
    assert one.outcome() == {
        "begin_ms": BEGIN_MS, "end_ms": BEGIN_MS + 3000, "resolution_ms": 10, "samples": count, "waiting": 0, "refused": 0,
    }  # fmt: skip


def test_a_runs_progress_is_known_if_its_trace_is_removed_before_the_first_read(tmp_path: Path) -> None:
    one = stream(recorded("lossy_pair")[0], tmp_path / "trace.bin", Taken())
    one.came(1_500_000_000)
    one.end(whole=False)
    one.wait()
    assert one.reached_ms == BEGIN_MS + 1500


def test_a_guest_that_is_started_again_sends_the_same_again(tmp_path: Path) -> None:
    """In virtual time the second attempt sends all samples of the first one again."""
    run = recorded("lossy_pair")[0]
    taken, file = Taken(), tmp_path / "trace.bin"
    file.write_bytes(LOSSY[: len(LOSSY) // 2])
    one = stream(run, file, taken)
    wait_for(lambda: one.tally.samples > 0)
    before = one.tally.samples
    file.unlink()
    file.write_bytes(LOSSY)
    wait_for(lambda: one.tally.samples > before)
    one.end(whole=True)
    one.wait()
    assert taken.samples() == whole(run, "lossy_pair")
    assert one.outcome()["begin_ms"] == BEGIN_MS


def test_in_real_time_a_second_attempt_has_another_time(tmp_path: Path) -> None:
    run = recorded("real_clock")[0]
    taken, file = Taken(), tmp_path / "trace.bin"
    file.write_bytes(REAL[: len(REAL) // 2])
    one = stream(run, file, taken, None)
    wait_for(lambda: one.tally.samples > 0)
    first_ms = one.begin_ms
    assert first_ms is not None
    assert abs(time.time() * 1000 - first_ms - 1500) < 5000
    time.sleep(0.3)
    file.unlink()
    file.write_bytes(REAL)
    wait_for(lambda: one.begin_ms not in (first_ms, None))
    one.end(whole=True)
    one.wait()
    assert not one.tally.why


def test_a_trace_that_is_ahead_of_the_clock_is_not_followed(tmp_path: Path) -> None:
    """A hostile guest may write any times: no sample of the future is delivered."""
    run = replace(recorded("real_clock")[0], duration_us=3_600_000_000)
    taken, file = Taken(), tmp_path / "trace.bin"
    file.write_bytes(REAL[: 4096 + 64 * 20])
    one = stream(run, file, taken, None)
    wait_for(lambda: one.begin_ms is not None)
    late = bytearray(REAL[4096 : 4096 + 64])
    late[:8] = (3000 * 10**9).to_bytes(8, "little")
    with file.open("ab") as out:
        out.write(late)
    wait_for(lambda: one.done)
    assert "ahead of this machine's clock" in one.outcome()["why"]
    assert all(request.newest_ms <= time.time() * 1000 for request in taken.requests)


def test_a_full_spool_delays_samples_during_the_run_and_drops_them_after_it(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    run = recorded("lossy_pair")[0]
    file = tmp_path / "trace.bin"
    file.write_bytes(LOSSY)
    room = [False]
    taken = Taken(lambda: room[0])
    one = stream(run, file, taken)
    time.sleep(0.5)
    assert one.tally.samples == 0
    room[0] = True
    wait_for(lambda: one.tally.samples > 0)
    one.end(whole=True)
    one.wait()
    assert taken.samples() == whole(run, "lossy_pair")
    full = stream(run, file, Taken(lambda: False))
    full.end(whole=True)
    full.wait()
    assert "LONGHAUL_SPOOL_MB" in full.outcome()["why"]
    assert "--to prometheus" in caplog.text


def test_an_invalid_trace_ends_the_stream_with_a_sentence(tmp_path: Path) -> None:
    file = tmp_path / "trace.bin"
    file.write_bytes(b"x" * 10_000)
    one = stream(recorded("lossy_pair")[0], file, Taken())
    wait_for(lambda: one.done)
    assert "its header is not that of a trace" in one.outcome()["why"]
