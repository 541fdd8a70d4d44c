"""A field and the range it may lie in, `path.rtt=1ms..500ms`: from its benign end to its harsh end, on a logarithmic scale; decibels
on a linear one.

A condition's position is 0 at the benign end and 1 at the harsh one; the distance of several fields' conditions from the benign
corner is the root of the mean square of their positions, so it too goes from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import (
    format_duration,
    format_rate,
    format_size,
    parse_duration,
    parse_packets,
    parse_rate,
    parse_size,
    split_quantity,
)

# Conditions are written with this many digits: finer ones would only look more exact.
_DIGITS = 3
# The kernel counts rates in bytes.
_RATE_STEP = 8

Position = tuple[float, ...]
_Scale = tuple[Callable[[str], float], Callable[[float], str | int | float]]


@dataclass(frozen=True, slots=True)
class Range:
    """`benign` and `harsh` are numbers in the unit that `write` turns into the experiment's text; decibels may be negative, and are `linear`."""

    field: str
    benign: float
    harsh: float
    write: Callable[[float], str | int | float]
    linear: bool = False

    def at(self, position: float) -> float:
        """The number at this position, with its written digits."""
        if position in (0, 1):
            return self.harsh if position else self.benign
        span = self.harsh - self.benign
        number: float = (
            self.benign + span * position if self.linear else self.benign * (self.harsh / self.benign) ** position
        )
        rounded: float = round(number, _DIGITS - 1 - math.floor(math.log10(abs(span) if self.linear else number)))
        low, high = sorted((self.benign, self.harsh))
        return min(high, max(low, rounded))

    def value(self, position: float) -> str | int | float:
        """The experiment's value at this position."""
        return self.write(self.at(position))


def distance(position: Position) -> float:
    """The distance from the benign corner."""
    return math.sqrt(sum(one * one for one in position) / len(position))


def read_range(text: str) -> Range:
    """`path.loss=1e-6..1e-3`; PlanError states what is needed."""
    field, equals, values = text.partition("=")
    first, dots, last = (part.strip() for part in values.partition(".."))
    if not equals or not dots or not field.strip():
        raise _refused(text, "give a field and its range, the benign end first, as in path.rtt=1ms..500ms")
    linear = _is_decibels(field)
    try:
        read, write = (float, _written) if linear else _scale(first, last)
        benign, harsh = read(first), read(last)
    except ValueError as error:
        raise _refused(text, str(error)) from None
    if benign == harsh or not (linear or (benign and harsh)):
        above = "" if linear else " and be above 0: the range is searched on a logarithmic scale"
        raise _refused(text, f"both ends must differ{above}")
    return Range(field.strip(), benign, harsh, write, linear)


def _is_decibels(field: str) -> bool:
    """Decibels are logarithms already, and may be negative."""
    return field.strip().endswith("_db")


def _written(number: float) -> float:
    return number


def _scale(first: str, last: str) -> _Scale:
    for parse, form in (
        (parse_duration, lambda number: format_duration(round(number))),
        (parse_rate, lambda number: format_rate(round(number / _RATE_STEP) * _RATE_STEP)),
        (parse_size, lambda number: format_size(round(number))),
        (parse_packets, lambda number: f"{round(number)} packets"),
    ):
        try:
            parse(first)
            parse(last)
        except ValueError:
            continue
        return parse, form
    if first.isdigit() and last.isdigit():
        return int, round
    units = {split_quantity(end)[1] for end in (first, last)}
    if len(units) > 1:
        raise ValueError("both ends need the same kind of unit")
    unit = units.pop()
    if unit in ("", "%"):
        return (lambda end: _number(end) / (100 if unit else 1)), lambda number: number
    return _number, lambda number: f"{number:g} {unit}"


def _number(text: str) -> float:
    return float(split_quantity(text)[0])


def read_ranges(texts: Sequence[str]) -> list[Range]:
    """Every range; PlanError if a field is given twice or none is given."""
    ranges = [read_range(text) for text in texts]
    fields = [one.field for one in ranges]
    if not fields:
        raise PlanError("searching", "--over", "no field to vary", "give --over path.rtt=1ms..500ms")
    for field in fields:
        if fields.count(field) > 1:
            raise _refused(field, "given twice")
    return ranges


def _refused(text: str, what: str) -> PlanError:
    return PlanError("reading", f"--over {text}", what)
