"""The value that was probably meant in place of one that a field refuses: `1 Gbits` -> `1 Gbit/s`, 100 -> `100 ms`, `droptial` -> `droptail`.

A field offers a suggestion only if it accepts it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence

_WRITTEN = re.compile(r"\s*([0-9]+(?:[.,][0-9]+)?(?:[eE][+-]?[0-9]{1,2})?)\s*(\D.*?)?\s*")
_LONGEST = 64
# Bytes per second are no spelling of bits per second.
_BYTE_RATE = re.compile(r"[kKMGT]?i?B(/s|ps)")
_WORDS = {
    "seconds": "s",
    "second": "s",
    "secs": "s",
    "minutes": "min",
    "minute": "min",
    "hours": "h",
    "hour": "h",
    "milliseconds": "ms",
    "microseconds": "us",
    "pkts": "packets",
    "percent": "%",
}
_SWITCHES = {"true": "on", "yes": "on", "1": "on", "false": "off", "no": "off", "0": "off"}

Accepts = Callable[[str], object]


def meant_quantity(value: object, units: Iterable[str], usual: Sequence[str], accepts: Accepts) -> str | None:
    """The quantity with the nearest unit; for a number without a unit, with the first of the usual units that the field accepts."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    match = _WRITTEN.fullmatch(str(value)) if len(str(value)) <= _LONGEST else None
    if match is None:
        return None
    number = match[1].replace(",", ".").removesuffix(".0")
    candidates = _near_units(match[2], list(units)) if match[2] else usual
    return _first(accepts, (f"{number} {unit}" for unit in candidates))


def _near_units(written: str, units: Sequence[str]) -> list[str]:
    folded = {unit.lower(): unit for unit in units}
    if written.lower() in folded:
        return [folded[written.lower()]]
    if written.lower() in _WORDS:
        return [_WORDS[written.lower()]]
    if _BYTE_RATE.fullmatch(written):
        return []
    return [folded[near] for near in difflib.get_close_matches(written.lower(), folded, 1)]


def meant_word(value: object, words: Iterable[str]) -> str | None:
    """The nearest of a field's words."""
    known = {word.lower(): word for word in words}
    near = difflib.get_close_matches(str(value).strip().lower(), known, 1)
    return known[near[0]] if near else None


def meant_switch(value: object) -> str | None:
    """`on` or `off` for another word of the same meaning."""
    return _SWITCHES.get(str(value).strip().lower())


def meant_name(value: str, longest: int) -> str | None:
    """The name in small letters, with a dash for everything that it must not contain."""
    return re.sub("[^a-z0-9]+", "-", value.lower()).strip("-")[:longest].rstrip("-") or None


def _first(accepts: Accepts, candidates: Iterable[str]) -> str | None:
    for candidate in candidates:
        try:
            accepts(candidate)
        except ValueError:
            continue
        return candidate
    return None
