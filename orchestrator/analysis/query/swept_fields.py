"""The swept fields of runs as columns: a text as it was written, and, where every value is an amount of one kind, a number with its unit.

    path.rtt: 40 ms, 0.3 s         rtt, rtt_us
    path.loss: 0, 1e-5, 0.1 %      loss, loss_share
    flows.app.cc: cubic, bbr       app_cc

A column has the last part of its field's name, or as many parts as distinguish it from other columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import parse_duration, parse_packets, parse_rate, parse_share, parse_size

_KINDS: tuple[tuple[str, Callable[[str], float]], ...] = (
    ("share", parse_share),
    ("us", parse_duration),
    ("bps", parse_rate),
    ("packets", parse_packets),
    ("bytes", parse_size),
    ("number", float),
)
# Fields whose numbers without a unit are shares.
_SHARES = {"loss", "reverse_loss", "duplicate", "reorder", "corrupt"}
_TEXT, _NUMBER = "VARCHAR", "DOUBLE"


@dataclass(frozen=True, slots=True)
class SweptField:
    """A field, its column, and the column of its number, if there is one."""

    field: str
    column: str
    number: str | None = None
    parse: Callable[[str], float] | None = None

    @property
    def columns(self) -> dict[str, str]:
        """Its columns and their types."""
        return {self.column: _TEXT} | ({self.number: _NUMBER} if self.number else {})

    def values(self, point: Mapping[str, str]) -> dict[str, str | float | None]:
        """Its values at a point."""
        text = point.get(self.field)
        found: dict[str, str | float | None] = {self.column: text}
        if self.number is not None and self.parse is not None:
            found[self.number] = None if text is None else self.parse(text)
        return found


def swept_fields(points: Iterable[Mapping[str, str]], taken: Iterable[str] = ()) -> list[SweptField]:
    """The fields of some points, in their order; no column has a name that is `taken`."""
    values: dict[str, set[str]] = {}
    for point in points:
        for field, text in point.items():
            values.setdefault(field, set()).add(text)
    columns = _columns(list(values), set(taken))
    return [_field(field, columns[field], texts) for field, texts in values.items()]


def _field(field: str, column: str, texts: set[str]) -> SweptField:
    is_share = field.rpartition(".")[2] in _SHARES
    for unit, parse in _KINDS:
        if unit == "share" and not (is_share or all(text.endswith("%") for text in texts)):
            continue
        if all(_is_amount(text, parse) for text in texts):
            return SweptField(field, column, f"{column}_{unit}", parse)
    return SweptField(field, column)


def _is_amount(text: str, parse: Callable[[str], float]) -> bool:
    try:
        parse(text)
    except ValueError:
        return False
    return True


def _columns(fields: list[str], taken: set[str]) -> dict[str, str]:
    """The last parts of the names that distinguish them."""
    found: dict[str, str] = {}
    for field in fields:
        parts = field.removeprefix("flows.").split(".")
        others = [other.removeprefix("flows.").split(".") for other in fields if other != field]
        for count in range(1, len(parts) + 1):
            column = "_".join(parts[-count:])
            if column not in taken and all(parts[-count:] != other[-count:] for other in others):
                break
        while column in taken or column in found.values():
            column = f"swept_{column}"
        found[field] = column
    return found
