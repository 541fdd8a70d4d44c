"""Numbers and bars as people read them, in a terminal and on a page."""

from __future__ import annotations


def number(value: float | None) -> str:
    """Three digits, or all before the point."""
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bar(at_least: float | None, at_most: float | None) -> str:
    """What a number has to reach, or to stay below."""
    if at_least is not None:
        return f"≥ {at_least:g}"
    return f"< {at_most:g}" if at_most is not None else ""
