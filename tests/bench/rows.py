"""Numbers and bars as text, for a terminal and a page."""

from __future__ import annotations


def number(value: float | None) -> str:
    """Three significant digits, or all digits of the integer part."""
    return "-" if value is None else f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def bar(at_least: float | None, at_most: float | None) -> str:
    """The lower or upper bound of a number."""
    if at_least is not None:
        return f"≥ {at_least:g}"
    return f"< {at_most:g}" if at_most is not None else ""
