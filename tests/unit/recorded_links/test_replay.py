"""Windows of recordings: drawn tables, chunks, offsets and lengths, compared with one value at a time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.recorded_links.chunks import LARGEST_RATE_BPS, NS_PER_S, Chunk, Chunks, Ints
from longhaul.orchestrator.recorded_links.replay import Replay, Window, replay
from longhaul.orchestrator.recorded_links.summary import summarise

MS = 10**6
KINDS = {"rates": "rate_bps", "delays": "delay_ns", "losses": "loss_2p32"}
# Few enough that neighbours are often equal.
VALUES = st.one_of(st.integers(0, 3), st.integers(0, LARGEST_RATE_BPS))


@dataclass(frozen=True)
class Drawn:
    """Rows of a recording, and the places at which they are cut into chunks."""

    at: tuple[int, ...]
    columns: dict[str, tuple[int, ...]]
    cuts: tuple[int, ...]

    def chunks(self) -> Chunks:
        for begin, end in pairwise((0, *self.cuts, len(self.at))):
            cut = {name: np.array(column[begin:end], dtype=np.int64) for name, column in self.columns.items()}
            yield Chunk(np.array(self.at[begin:end], dtype=np.int64), **cut)

    @property
    def length_ns(self) -> int:
        return summarise(self.chunks()).length_ns


def cuts_of(count: int) -> st.SearchStrategy[tuple[int, ...]]:
    if count == 1:
        return st.just(())
    return st.sets(st.integers(1, count - 1), max_size=6).map(lambda places: tuple(sorted(places)))


@st.composite
def tables(draw: st.DrawFn, largest_span: int = 20, names: Sequence[str] = tuple(KINDS.values())) -> Drawn:
    spans = draw(st.lists(st.integers(1, largest_span), min_size=0, max_size=20))
    at = tuple(np.cumsum([0, *spans]).tolist())
    some = draw(st.sets(st.sampled_from(names), min_size=1))
    columns = {name: tuple(draw(st.lists(VALUES, min_size=len(at), max_size=len(at)))) for name in sorted(some)}
    return Drawn(at, columns, draw(cuts_of(len(at))))


@st.composite
def deliveries(draw: st.DrawFn) -> Drawn:
    """Opportunities, from 0 or later on."""
    at = sorted(draw(st.sets(st.integers(0, 60), min_size=1, max_size=20).filter(lambda drawn: max(drawn) > 0)))
    counts = draw(st.lists(st.integers(1, 4), min_size=len(at), max_size=len(at)))
    return Drawn(tuple(at), {"opportunities": tuple(1500 * count for count in counts)}, draw(cuts_of(len(at))))


def replayed(drawn: Drawn, window: Window, *, scale: float = 1, interpolate: bool = False) -> Replay:
    return replay(drawn.chunks, drawn.length_ns, window, scale=scale, interpolate=interpolate)


def value_at(at: Sequence[int], values: Sequence[int], instant: int) -> int:
    return values[bisect_right(at, instant) - 1]


def check_rows(at: Ints, length_ns: int) -> None:
    """The kernel refuses other rows: the first one stands at 0, and instants rise."""
    assert at[0] == 0
    assert (np.diff(at) > 0).all()
    assert at[-1] < length_ns


# Offsets in the recording, at its begin and just before its end; lengths of up to several turns.
OFFSETS = st.one_of(st.just(0.0), st.just(1.0), st.floats(0, 1))
TURNS = st.floats(0, 4)


def window_of(drawn: Drawn, offset: float, turns: float) -> Window:
    whole = drawn.length_ns
    return Window(min(int(offset * whole), whole - 1), max(int(turns * whole), 1))


@given(tables().filter(lambda drawn: len(drawn.at) > 1), OFFSETS, TURNS)
def test_a_window_has_the_value_of_the_recording_at_every_instant(drawn: Drawn, offset: float, turns: float) -> None:
    window = window_of(drawn, offset, turns)
    found = replayed(drawn, window)
    assert {KINDS[kind] for kind in found.rows} == set(drawn.columns)
    for kind, (at, values) in found.rows.items():
        check_rows(at, window.length_ns)
        instants = np.arange(window.length_ns)
        expected = np.array(drawn.columns[KINDS[kind]])[
            np.searchsorted(drawn.at, (window.offset_ns + instants) % drawn.length_ns, side="right") - 1
        ]
        assert (values[np.searchsorted(at, instants, side="right") - 1] == expected).all()


@given(tables(), OFFSETS, TURNS, st.data())
def test_chunks_do_not_change_a_window(drawn: Drawn, offset: float, turns: float, data: st.DataObject) -> None:
    window = window_of(drawn, offset, turns)
    other = Drawn(drawn.at, drawn.columns, data.draw(cuts_of(len(drawn.at))))
    for interpolate in (False, True):
        first, second = (replayed(each, window, interpolate=interpolate) for each in (drawn, other))
        assert first.rows.keys() == second.rows.keys()
        for kind, (at, values) in first.rows.items():
            assert (at.tolist(), values.tolist()) == tuple(column.tolist() for column in second.rows[kind])


def carried(drawn: Drawn, window: Window, until: int) -> int:
    """Bytes behind the window's begin and until an instant of it; those at 0 belong to a window that begins there."""
    whole, total = drawn.length_ns, 0
    for turn in range((window.offset_ns + until) // whole + 1):
        for at, value in zip(drawn.at, drawn.columns["opportunities"], strict=True):
            instant = turn * whole + at
            total += value * (
                window.offset_ns < instant <= window.offset_ns + until or instant == window.offset_ns == 0
            )
    return total


@given(deliveries(), OFFSETS, TURNS)
def test_a_window_has_the_opportunities_of_the_recording(drawn: Drawn, offset: float, turns: float) -> None:
    window = window_of(drawn, offset, turns)
    found = replayed(drawn, window)
    at, values = found.rows["opportunities"]
    assert (np.diff(at) > 0).all()
    assert (at <= window.length_ns).all()
    # An opportunity at the end of the run may belong to the recording's next turn too, and no packet takes it.
    for until in range(window.length_ns):
        assert values[at <= until].sum() == carried(drawn, window, until)
    edges = np.arange(window.length_ns)
    assert found.offered_bytes(edges).tolist() == [carried(drawn, window, until) for until in edges.tolist()]


def test_the_end_of_a_recording_is_the_begin_of_its_next_turn() -> None:
    drawn = Drawn((0, 4, 10), {"opportunities": (1500, 3000, 4500)}, ())
    at, values = replayed(drawn, Window(0, 25)).rows["opportunities"]
    assert (at.tolist(), values.tolist()) == ([0, 4, 10, 14, 20, 24], [1500, 3000, 6000, 3000, 6000, 3000])
    at, values = replayed(drawn, Window(4, 13)).rows["opportunities"]
    assert (at.tolist(), values.tolist()) == ([6, 10], [6000, 3000])


@given(deliveries(), OFFSETS, TURNS, st.sampled_from([0.5, 2, 0.333, 0.001, 7.77]))
def test_scaled_opportunities_lose_no_byte(drawn: Drawn, offset: float, turns: float, scale: float) -> None:
    window = window_of(drawn, offset, turns)
    at, values = replayed(drawn, window).rows["opportunities"]
    scaled_at, scaled = replayed(drawn, window, scale=scale).rows["opportunities"]
    assert scaled_at.tolist() == at.tolist()
    assert (scaled >= 0).all()
    assert (abs(np.cumsum(scaled) - scale * np.cumsum(values)) <= 1).all()


@given(tables(), OFFSETS, TURNS, st.sampled_from([0.5, 2, 0.333]))
def test_scaled_rates_are_whole_and_possible(drawn: Drawn, offset: float, turns: float, scale: float) -> None:
    window = window_of(drawn, offset, turns)
    plain, scaled = replayed(drawn, window), replayed(drawn, window, scale=scale)
    for kind, (at, values) in plain.rows.items():
        scaled_at, found = scaled.rows[kind]
        assert scaled_at.tolist() == at.tolist()
        wanted = np.minimum(values * scale, LARGEST_RATE_BPS) if kind == "rates" else values
        assert (abs(found - wanted) <= 0.5).all()


def integral(at: Sequence[int], values: Sequence[int], begin: int, end: int) -> Fraction:
    """Of values that hold until the next, exactly."""
    total = Fraction(0)
    for place, value in enumerate(values):
        until = at[place + 1] if place + 1 < len(at) else end
        total += value * max(min(until, end) - max(at[place], begin), 0)
    return total


def between(at: Sequence[int], values: Sequence[int], instant: Fraction) -> Fraction:
    """The value of straight lines between rows; the last one holds."""
    place = bisect_right(at, instant) - 1
    if place + 1 == len(at):
        return Fraction(values[place])
    return values[place] + (values[place + 1] - values[place]) * (instant - at[place]) / (at[place + 1] - at[place])


def lines(drawn: Drawn, values: Sequence[int]) -> Fraction:
    """The integral below straight lines between rows, the last of which holds."""
    spans = [later - earlier for earlier, later in pairwise(drawn.at)]
    below = sum(
        (Fraction(span * (first + second), 2) for span, (first, second) in zip(spans, pairwise(values), strict=True)),
        Fraction(0),
    )
    return below + values[-1] * (drawn.length_ns - drawn.at[-1])


LONG = tables(largest_span=20 * MS, names=("rate_bps",)).filter(lambda drawn: len(drawn.at) > 1)


@given(LONG)
def test_interpolated_rates_carry_what_straight_lines_do(drawn: Drawn) -> None:
    at, values = (
        column.tolist() for column in replayed(drawn, Window(0, drawn.length_ns), interpolate=True).rows["rates"]
    )
    found, expected = integral(at, values, 0, drawn.length_ns), lines(drawn, drawn.columns["rate_bps"])
    # Each step is rounded to a whole bit/s, after arithmetic in 53 bits.
    assert abs(found - expected) <= drawn.length_ns


@given(LONG, OFFSETS, st.floats(0.01, 2))
def test_interpolated_rates_pass_the_value_in_the_middle_of_each_step(
    drawn: Drawn, offset: float, turns: float
) -> None:
    window = window_of(drawn, offset, turns)
    at, values = (column.tolist() for column in replayed(drawn, window, interpolate=True).rows["rates"])
    check_rows(np.array(at), window.length_ns)
    for begin, end in pairwise(drawn.at):
        for first in range(begin, end, MS):
            behind = min(first + MS, end)
            middle = Fraction(first + behind, 2)
            expected = between(drawn.at, drawn.columns["rate_bps"], middle)
            for turn in range(3):
                instant = turn * drawn.length_ns + first - window.offset_ns
                if 0 <= instant < window.length_ns:
                    assert abs(value_at(at, values, instant) - expected) <= 1


def test_interpolated_losses_stay_in_steps() -> None:
    drawn = Drawn((0, 10 * MS), {"loss_2p32": (0, 1000), "delay_ns": (0, 1000)}, ())
    found = replayed(drawn, Window(0, 20 * MS), interpolate=True).rows
    assert [column.tolist() for column in found["losses"]] == [[0, 10 * MS], [0, 1000]]
    at, values = found["delays"]
    assert at.tolist() == [ms * MS for ms in range(11)]
    assert values.tolist() == [50, 150, 250, 350, 450, 550, 650, 750, 850, 950, 1000]


def test_interpolation_lays_out_the_window_alone() -> None:
    """Ten years between two rows are 3e11 steps."""
    years = 10 * 365 * 86400 * NS_PER_S
    drawn = Drawn((0, years), {"rate_bps": (0, 10**10)}, ())
    at, values = replayed(drawn, Window(years // 2, 10 * MS), interpolate=True).rows["rates"]
    assert len(at) <= 11
    assert abs(values - 5 * 10**9).max() <= 1


@given(tables(largest_span=10**10, names=("rate_bps",)), OFFSETS, TURNS, st.data())
def test_offered_bytes_are_the_exact_integral(drawn: Drawn, offset: float, turns: float, data: st.DataObject) -> None:
    window = window_of(drawn, offset, turns)
    found = replayed(drawn, window)
    at, values = (column.tolist() for column in found.rows["rates"])
    edges = sorted(data.draw(st.lists(st.integers(0, window.length_ns), min_size=1, max_size=10)))
    exact = [integral(at, values, 0, edge) / (8 * NS_PER_S) for edge in edges]
    assert found.offered_bytes(np.array(edges)).tolist() == [int(value) for value in exact]


def test_a_short_recording_is_repeated_in_a_long_run() -> None:
    """A file of a single line is a line of 12 Mbit/s."""
    drawn = Drawn((MS,), {"opportunities": (1500,)}, ())
    at, values = replayed(drawn, Window(0, 3600 * NS_PER_S)).rows["opportunities"]
    assert (len(at), int(at[0]), int(at[-1])) == (3_600_000, MS, 3600 * NS_PER_S)
    assert (values == 1500).all()


def test_a_window_reads_no_further_than_its_end() -> None:
    """Of a recording of hours, a run of seconds needs the first part alone."""
    taken: list[int] = []

    def endless() -> Chunks:
        for place in range(10**9):
            taken.append(place)
            yield Chunk(np.array([place * 10, place * 10 + 5]), rate_bps=np.array([1, 2]))

    found = replay(endless, 10**10, Window(100, 50), scale=1, interpolate=False).rows["rates"]
    assert [column.tolist() for column in found] == [list(range(0, 50, 5)), [1, 2] * 5]
    assert len(taken) < 20


@pytest.mark.parametrize(
    "make", [lambda: Drawn((0,), {"rate_bps": (8,)}, ()), lambda: Drawn((0, 7), {"rate_bps": (8, 8)}, ())]
)
def test_equal_rows_are_one(make: Callable[[], Drawn]) -> None:
    at, values = replayed(make(), Window(3, 10**6)).rows["rates"]
    assert (at.tolist(), values.tolist()) == ([0], [8])
