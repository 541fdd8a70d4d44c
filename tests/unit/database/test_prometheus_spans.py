"""Spans in Prometheus' time: never in the future, never two runs at once, the latest possible, and kept."""

from __future__ import annotations

import itertools
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.prometheus_spans import GAP_MS, Span, Spans, earliest_ms, latest_gap
from longhaul.orchestrator.system.errors import ExportError

DAY_S = 24 * 3600


@pytest.fixture
def spans(tmp_path: Path) -> Spans:
    return Spans(Database(f"sqlite:///{tmp_path / 'record.sqlite'}"))


LENGTHS = st.lists(st.tuples(st.integers(1, 90_000), st.integers(0, 30_000), st.booleans()), min_size=1, max_size=60)


@given(LENGTHS)
def test_runs_never_lie_in_the_future_nor_overlap(requests: list[tuple[int, int, bool]]) -> None:
    """Runs are placed one after the other while the clock runs; runs in real time keep the time when they ran."""
    now_ms, window_ms = 10**9, 3_000_000
    taken: list[tuple[int, int]] = []
    real_until_ms = 0
    for length_ms, passed_ms, real in requests:
        now_ms += passed_ms
        if real:
            if now_ms <= real_until_ms:
                continue
            if any(end_ms > now_ms for _, end_ms in taken):
                continue
            taken.append((now_ms, now_ms + length_ms))
            real_until_ms = now_ms + length_ms
            continue
        latest = sorted(taken, key=lambda span: -span[1])
        begin_ms = latest_gap(latest, length_ms, now_ms - window_ms, now_ms)
        if begin_ms is None:
            continue
        end_ms = begin_ms + length_ms
        assert now_ms - window_ms <= begin_ms
        assert end_ms <= now_ms - GAP_MS
        for one_begins_ms, one_ends_ms in taken:
            assert end_ms + GAP_MS <= one_begins_ms or one_ends_ms + GAP_MS <= begin_ms
        # No later span is possible.
        later = begin_ms + 1
        assert later + length_ms > now_ms - GAP_MS or any(
            not (later + length_ms + GAP_MS <= one or other + GAP_MS <= later) for one, other in taken
        )
        taken.append((begin_ms, end_ms))


def test_a_gap_between_runs_is_used() -> None:
    taken = [(90_000, 95_000), (60_000, 70_000)]
    assert latest_gap(taken, 5_000, 0, 100_000) == 84_000
    assert latest_gap(taken, 3_000, 0, 100_000) == 96_000
    assert latest_gap(taken, 30_000, 0, 100_000) == 29_000
    assert latest_gap(taken, 30_000, 30_000, 100_000) is None


def test_a_place_is_kept_while_it_can_be_written_to(spans: Spans) -> None:
    first = spans.place("a", 60_000, 10, DAY_S)
    assert spans.place("a", 60_000, 10, DAY_S) == first == spans.of("a")
    # Other samples would be there at the same times.
    assert spans.place("a", 60_000, 20, DAY_S).begin_ms != first.begin_ms
    old = Span(first.begin_ms - 2 * DAY_S * 1000, first.end_ms - 2 * DAY_S * 1000, 10)
    spans.put("a", old)
    assert spans.place("a", 60_000, 10, DAY_S).begin_ms > earliest_ms(int(time.time() * 1000), DAY_S)


def test_concurrent_runs_get_separate_spans(spans: Spans) -> None:
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda number: spans.place(f"r{number}", 7_000, 10, DAY_S), range(40)))
    begins = sorted(span.begin_ms for span in found)
    assert all(later - earlier >= 8_000 for earlier, later in itertools.pairwise(begins))


def test_a_full_window_is_one_sentence(spans: Spans) -> None:
    spans.place("a", 1_000_000, 10, 3600)
    with pytest.raises(ExportError, match=r"the 1 h for which Prometheus accepts samples have no gap of 3000 s left"):
        spans.place("b", 3_000_000, 10, 3600)
