"""Quantities as people write them, and the integers that the code uses.

One parser and one formatter per quantity: rate (bit/s), duration (microseconds), size (bytes), share (0 to 1), packets. A
quantity that has a unit must be written with it; a value finer than its integer is refused, never rounded.
Formatters are exact: parsing their output gives the same integer. Rates and sizes are powers of 1000.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from fractions import Fraction

RATE_UNITS = {"bit/s": 1, "kbit/s": 10**3, "Mbit/s": 10**6, "Gbit/s": 10**9}
DURATION_UNITS = {
    "ns": Fraction(1, 1000),
    "us": Fraction(1),
    "ms": Fraction(10**3),
    "s": Fraction(10**6),
    "min": Fraction(60 * 10**6),
    "h": Fraction(3600 * 10**6),
}
SIZE_UNITS = {
    "B": 1,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "PB": 10**15,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
    "PiB": 2**50,
}

# Spellings that are understood but never printed.
_RATE_ALIASES = {"bps": "bit/s", "kbps": "kbit/s", "mbps": "Mbit/s", "gbps": "Gbit/s"}
_DURATION_ALIASES = {"µs": "us", "μs": "us", "sec": "s"}

_LONGEST_TEXT = 64
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?(e[+-]?[0-9]{1,2})?", re.IGNORECASE)
# Numbers between these are written without an exponent.
_SMALL, _LARGE = 1e-3, 1e15
_QUANTITY = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*([^\s0-9].*?)?\s*")


def split_quantity(text: str) -> tuple[Fraction, str]:
    """The exact number in front and the unit behind it ('' when there is none)."""
    if len(text) > _LONGEST_TEXT:
        raise ValueError(f"a quantity of at most {_LONGEST_TEXT} characters is needed")
    match = _QUANTITY.fullmatch(text)
    if match is None:
        raise ValueError("a number that is not negative is needed, with its unit behind it")
    return Fraction(match[1]), match[2] or ""


def parse_rate(text: str) -> int:
    """'622.08 Mbit/s' -> 622080000."""
    return _parse(
        text, "rate", {unit: Fraction(factor) for unit, factor in RATE_UNITS.items()}, _RATE_ALIASES, "1 bit/s"
    )


def parse_duration(text: str) -> int:
    """'40 ms' -> 40000 microseconds."""
    return _parse(text, "duration", DURATION_UNITS, _DURATION_ALIASES, "1 us")


def parse_size(text: str) -> int:
    """'2 GB' -> 2000000000 bytes."""
    return _parse(text, "size", {unit: Fraction(factor) for unit, factor in SIZE_UNITS.items()}, {}, "1 B")


def parse_share(value: str | float) -> float:
    """A probability or part: 0.01, '1e-5' or '0.1 %'."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ValueError("a share from 0 to 1 is needed, as in 1e-5 or 0.1 %")
    number, unit = split_quantity(value) if isinstance(value, str) else (_exact(value), "")
    if unit not in ("", "%"):
        raise ValueError("a share has no unit but %, as in 1e-5 or 0.1 %")
    share = number / 100 if unit else number
    if not 0 <= share <= 1:
        raise ValueError("a share lies between 0 and 1 (0 % and 100 %)")
    return float(share)


def parse_packets(text: str) -> int:
    """'20 packets' -> 20."""
    return _parse(text, "number of packets", {"packets": Fraction(1)}, {"packet": "packets"}, "1 packet")


def parse_packets_or_size(text: str, packet_bytes: int) -> int:
    """'20 packets' of this size, or '2 KB', in bytes."""
    try:
        return parse_packets(text) * packet_bytes
    except ValueError:
        return parse_size(text)


def parse_multiple(text: str, unit: str) -> Fraction | None:
    """'0.5 BDP' with unit 'BDP' -> 1/2; None when the text is of another unit."""
    number, written = split_quantity(text)
    return number if written.lower() == unit.lower() else None


def format_rate(bps: float) -> str:
    """622080000 -> '622.08 Mbit/s'. Measured rates, which are not whole, are shown to 0.1 %."""
    return _format(bps, RATE_UNITS)


def format_duration(us: int) -> str:
    """40000 -> '40 ms'."""
    return _format(us, {"us": 1, "ms": 10**3, "s": 10**6}) if us else "0 s"


def format_size(count: int) -> str:
    """23325000 -> '23.325 MB'."""
    return _format(count, {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12, "PB": 10**15})


def format_share(share: float) -> str:
    """1e-05 -> '1e-5', 0.02 -> '2 %'."""
    return spell_number(f"{share:g}") if 0 < share < 1e-3 else f"{share * 100:g} %"


def spell_number(text: str) -> str:
    """A number as people read it, in one spelling: '1e-05' and '0.00001' -> '1e-5', '1e-3' -> '0.001'; other texts stay."""
    match = _NUMBER.fullmatch(text)
    if match is None or not (value := float(text)):
        return text
    if value < _SMALL:
        mantissa, exponent = f"{value:.12e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    return f"{value:.15g}" if match[1] and value < _LARGE else text


def _parse(text: str, noun: str, units: Mapping[str, Fraction], aliases: Mapping[str, str], step: str) -> int:
    known = ", ".join(units)
    if not isinstance(text, str):
        raise ValueError(f"a {noun} needs its unit ({known})")
    number, written = split_quantity(text)
    folded = {**{name.lower(): name for name in units}, **aliases}
    unit = written if written in units else folded.get(written.lower())
    if unit is None:
        raise ValueError(f"a {noun} needs a unit out of {known}" if written else f"a {noun} needs its unit ({known})")
    value = number * units[unit]
    if value.denominator != 1:
        raise ValueError(f"a {noun} comes in whole steps of {step}")
    return value.numerator


def _format(value: float, units: Mapping[str, int]) -> str:
    smallest, *larger = units.items()
    name, factor = next((unit for unit in reversed(larger) if value >= unit[1]), smallest)
    if isinstance(value, int):
        return f"{_decimal(Fraction(value, factor))} {name}"
    return f"{value / factor:.4g} {name}"


def _decimal(value: Fraction) -> str:
    """Every digit of a fraction whose denominator is a power of ten."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    return (
        f"{float(value):.{digits}f}"
        if digits + len(str(int(value))) < 16
        else f"{int(value)}.{int(value % 1 * 10**digits):0{digits}d}"
    )


def _exact(value: float) -> Fraction:
    try:
        return Fraction(repr(value))
    except ValueError:
        raise ValueError("a share from 0 to 1 is needed, as in 1e-5 or 0.1 %") from None
