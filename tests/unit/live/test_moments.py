"""Samples of a run's events: known values, independent of the pieces of the trace."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from longhaul.orchestrator.live.downsampling import Samples
from longhaul.orchestrator.live.moments import ACTIVE, CHANGE, EVERY_MS, LINK_RATE, STALE, START, Moments
from longhaul.orchestrator.live.readings import labels
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.trace.records import (
    EVENT_COMPLETED,
    EVENT_CONNECTED,
    EVENT_END,
    EVENT_PATH_CHANGE,
    EVENT_STOPPED,
    TRACE_KINDS,
    Records,
)

# 60 s; flow 0 to the end, flow 1 from 10 s to 40 s; the path changes at 15, 30 (two devices) and 45 s.
RUN = compile_plan(load_experiment("path-change")).runs[0]
ENDED = None
FIRST_MS = 90


def events(*settled: tuple[float, int, int, int]) -> Records:
    """(milliseconds, what, id, value)."""
    records = np.zeros(len(settled), dtype=TRACE_KINDS["event"])
    for record, (ms, what, number, value) in zip(records, settled, strict=True):
        record["t_ns"], record["what"], record["id"], record["value"] = ms * 1_000_000, what, number, value
    return records


WHOLE = events(
    (FIRST_MS + 0.5, EVENT_CONNECTED, 0, 0),
    (10_044.2, EVENT_CONNECTED, 1, 0),
    (15_000, EVENT_PATH_CHANGE, 0xFFFF, 0),
    (30_000, EVENT_PATH_CHANGE, 0xFFFF, 1),
    (30_000.000002, EVENT_PATH_CHANGE, 0xFFFF, 2),
    (40_000.3, EVENT_STOPPED, 1, 0),
    (45_000, EVENT_PATH_CHANGE, 0xFFFF, 3),
    (60_000, EVENT_STOPPED, 0, 0),
    (60_000.001, EVENT_END, 0xFFFF, 0),
)

SeriesSamples = dict[tuple[str, int], list[tuple[int, float | None]]]


def settled(*pieces: tuple[Records, float]) -> SeriesSamples:
    """All samples, when events arrive in pieces, each followed by settling."""
    moments = Moments(RUN)
    found: SeriesSamples = {}
    for records, until_ms in pieces:
        moments.arrive(records)
        until_ns = int(until_ms * 1e6)
        for metric, number, ms, bits in moments.settle(until_ns, until_ns):
            values = [ENDED if one == STALE else float(one.view(np.float64)) for one in bits]
            found.setdefault((metric, number), []).extend(zip(ms.tolist(), values, strict=True))
    return found


def test_known_answers() -> None:
    found = settled((WHOLE, 60_000))
    assert found[ACTIVE, 0] == [(FIRST_MS + 1000 * second, 1.0) for second in range(60)]
    assert found[ACTIVE, 1] == [*((10_044 + 1000 * second, 1.0) for second in range(30)), (40_000, ENDED)]
    assert [found[CHANGE, moment] for moment in range(3)] == [[(15_000, 1.0)], [(30_000, 1.0)], [(45_000, 1.0)]]
    rates = found[LINK_RATE, 0]
    assert [ms for ms, _ in rates] == list(range(0, 60_001, EVERY_MS))
    assert [bps for _, bps in rates] == [40e6] * 15 + [20e6] * 46


def test_a_change_has_its_text_as_a_label() -> None:
    change_labels = {"__name__": CHANGE, "backend": "sandbox", "experiment": "path-change", "run": "x"}
    texts = ("20 Mbit/s", "delay 50 ms, reverse delay 60 ms", "losses in bursts")
    assert [labels(RUN, "x", CHANGE, moment) for moment in range(3)] == [
        change_labels | {"change": text} for text in texts
    ]


def test_events_after_a_runs_end_have_no_samples() -> None:
    found = settled((WHOLE[:3], 20_000))
    assert found[ACTIVE, 0][-1] == (FIRST_MS + 19_000, 1.0)
    assert found[LINK_RATE, 0][-1] == (20_000, 20e6)
    assert (CHANGE, 1) not in found


def test_a_flow_that_ends_at_once_or_comes_again_has_one_sample_a_millisecond() -> None:
    found = settled(
        (
            events(
                (5.1, EVENT_CONNECTED, 0, 0),
                (5.2, EVENT_COMPLETED, 0, 0),
                (5.3, EVENT_CONNECTED, 0, 0),
                (9, EVENT_STOPPED, 0, 0),
                (9, EVENT_COMPLETED, 0, 0),
            ),
            100,
        )
    )
    assert found[ACTIVE, 0] == [(5, 1.0), (6, ENDED), (7, 1.0), (9, ENDED)]


def test_unknown_flows_have_no_samples() -> None:
    odd = events((1, EVENT_CONNECTED, 77, 0), (2, EVENT_PATH_CHANGE, 0xFFFF, 99), (3, 250, 0, 0))
    assert set(settled((odd, 100))) == {(LINK_RATE, 0)}


@settings(max_examples=60)
@given(st.lists(st.integers(0, 60_000), max_size=8), st.integers(0, 500))
def test_pieces_make_no_difference(cuts: list[int], slack_ms: int) -> None:
    """Settled samples lag a little behind the records, as in a growing trace."""
    edges = [*sorted(cuts), 60_001]
    pieces = []
    begin = 0
    for edge in edges:
        end = int(np.searchsorted(WHOLE["t_ns"], edge * 1_000_000))
        pieces.append((WHOLE[begin:end], max(0.0, edge - 1 - slack_ms)))
        begin = end
    assert settled(*pieces, (WHOLE[begin:], 60_000)) == settled((WHOLE, 60_000))


def test_the_start_of_a_run_is_a_value() -> None:
    bits = np.array([np.float64(0).view(np.uint64), STALE])
    start = Samples((START, 0), np.array([0, 1000]), bits)
    ms, placed = start.placed(1_700_000_000_250)
    assert ms.tolist() == [1_700_000_000_250, 1_700_000_001_250]
    assert placed[0].view(np.float64) == 1_700_000_000.25
    assert placed[1] == STALE
    other = replace(start, series=(LINK_RATE, 0))
    assert other.placed(5)[1].tolist() == bits.tolist()
