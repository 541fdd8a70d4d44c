"""Quantities: a written quantity becomes an exact integer, and a printed one reads back as the same integer."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhaul.orchestrator.system import units


@pytest.mark.parametrize(
    ("text", "bps"),
    [("622.08 Mbit/s", 622_080_000), ("10Gbps", 10**10), ("1e3 kbit/s", 10**6), ("64 KBIT/S", 64_000), ("8 bit/s", 8)],
)
def test_rates_are_powers_of_1000(text: str, bps: int) -> None:
    assert units.parse_rate(text) == bps


@pytest.mark.parametrize(
    ("text", "us"), [("40 ms", 40_000), ("0.3 s", 300_000), ("2 min", 120_000_000), ("1000 ns", 1), ("7 µs", 7)]
)
def test_durations_are_microseconds(text: str, us: int) -> None:
    assert units.parse_duration(text) == us


@pytest.mark.parametrize(
    ("text", "count"), [("2 GB", 2 * 10**9), ("64 KiB", 65536), ("1 B", 1), ("2 TB", 2 * 10**12), ("1 TiB", 2**40)]
)
def test_sizes_are_bytes(text: str, count: int) -> None:
    assert units.parse_size(text) == count


@pytest.mark.parametrize(("written", "share"), [(0.01, 0.01), ("1e-5", 1e-5), ("0.1 %", 0.001), (1, 1.0), ("0", 0.0)])
def test_shares_are_parts_of_one(written: str | float, share: float) -> None:
    assert units.parse_share(written) == share


@pytest.mark.parametrize(
    ("parse", "text"),
    [
        (units.parse_rate, "10"),
        (units.parse_rate, "10 MB/s"),
        (units.parse_rate, "0.5 bit/s"),
        (units.parse_rate, "-1 Mbit/s"),
        (units.parse_rate, "1e999 Mbit/s"),
        (units.parse_duration, "1500 ns"),
        (units.parse_duration, "forty ms"),
        (units.parse_size, "1.5 B"),
        (units.parse_share, "101 %"),
        (units.parse_share, "5 ms"),
        (units.parse_share, float("nan")),
        (units.parse_packets, "2.5 packets"),
        (units.parse_packets, ""),
    ],
)
def test_an_invalid_quantity_is_refused(parse: object, text: object) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse(text)  # type: ignore[operator]


@given(st.integers(0, 10**12))
def test_a_printed_quantity_reads_back(value: int) -> None:
    assert units.parse_rate(units.format_rate(value)) == value
    assert units.parse_duration(units.format_duration(value)) == value
    assert units.parse_size(units.format_size(value)) == value


@given(st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    for parse in (units.parse_rate, units.parse_duration, units.parse_size, units.parse_share, units.parse_packets):
        try:
            assert parse(text) >= 0
        except ValueError as error:
            assert str(error)


@pytest.mark.parametrize("parse", [units.parse_rate, units.parse_duration, units.parse_size, units.parse_share])
def test_every_character_of_a_quantity_is_read(parse: Callable[[str], object]) -> None:
    for written in ("40 ms" + " " * 72 + "h garbage", "1" * 65, "40" + " " * 63 + "ms"):
        with pytest.raises(ValueError, match="at most 64 characters"):
            parse(written)


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("1e-05", "1e-5"),
        ("0.00001", "1e-5"),
        ("2.50e-06", "2.5e-6"),
        ("1e-3", "0.001"),
        ("1E6", "1000000"),
        ("0", "0"),
        ("0.10", "0.10"),
        ("1e99", "1e99"),
        ("40 ms", "40 ms"),
        ("cubic", "cubic"),
    ],
)
def test_a_number_has_one_spelling(text: str, read: str) -> None:
    """The page spells numbers alike (units.test.ts)."""
    assert units.spell_number(text) == read
    assert units.format_share(1e-5) == "1e-5"
