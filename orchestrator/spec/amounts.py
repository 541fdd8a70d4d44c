"""Amounts of measures: a bound is written with its unit, kept in the measure's unit, and shown as it was written."""

from __future__ import annotations

from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.units import (
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_packets,
    parse_rate,
    parse_share,
    parse_size,
)

_QUANTITIES = {
    "rate": (parse_rate, 1, "a rate with its unit, as in 256 Mbit/s"),
    "seconds": (parse_duration, 10**6, "a duration with its unit, as in 12 s"),
    "milliseconds": (parse_duration, 10**3, "a duration with its unit, as in 40 ms"),
    "packets": (parse_packets, 1, "a number of packets, as in 20 packets"),
    "size": (parse_size, 1, "a size with its unit, as in 2 GB"),
}


def read_amount(measure: str, written: object) -> float:
    """A bound in the measure's unit; ValueError states what is allowed."""
    kind = MEASURES[measure].quantity
    if kind in _QUANTITIES:
        parse, scale, allowed = _QUANTITIES[kind]
        try:
            return parse(written) / scale if scale > 1 else parse(written)  # type: ignore[arg-type]
        except ValueError:
            raise ValueError(allowed) from None
    if kind == "share":
        return parse_share(written)  # type: ignore[arg-type]
    if isinstance(written, bool) or not isinstance(written, int | float):
        raise ValueError("a plain number")
    return written


def write_amount(measure: str, bound: float) -> str | float:
    """A bound as a user would write it; read_amount of it is the bound, to the unit's last step."""
    kind = MEASURES[measure].quantity
    if kind == "packets":
        return f"{round(bound)} packets"
    if kind in _FORMS:
        form, scale = _FORMS[kind]
        return form(round(bound * scale))
    return bound


def say_amount(measure: str, value: float) -> str:
    """A measured value, to six digits, with the unit of its bound; a rate has all six, as runs differ in the last."""
    kind = MEASURES[measure].quantity
    if kind in _FORMS:
        form, scale = _FORMS[kind]
        text = form(round(float(f"{value:.6g}") * scale))
        number, unit = text.split(" ")
        return f"{float(number):#.6g}".rstrip(".") + f" {unit}" if kind == "rate" and value else text
    return f"{value:.6g} packets" if kind == "packets" else f"{value:.6g}"


_FORMS = {
    "rate": (format_rate, 1),
    "seconds": (format_duration, 10**6),
    "milliseconds": (format_duration, 10**3),
    "size": (format_size, 1),
}
