"""Shared parts of the drawings of papers: axes of names or numbers, intervals, and the conversion to an element of a page.

Ink and lines become variables of the page's style sheet, so that a drawing follows the reader's light or dark page;
alone it falls back to the light colours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from longhaul.orchestrator.analysis.figures.canvas import FAINT, INK, PALETTE, RULE, to_file
from longhaul.orchestrator.papers.drawings.drawn import Plate
from longhaul.orchestrator.papers.figure_specs import short_name
from longhaul.orchestrator.papers.readings import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH_IN = 5.6
# Width of a column that is legible on a narrow page, in CSS pixels.
WIDTH_PX = 340

# Beyond this ratio of the largest to the smallest value the axis is logarithmic.
_WIDE = 50
# Letters of all names below an axis that fit side by side in a drawing of WIDTH_IN.
_LETTERS = 54

_VARIABLES = {INK: "--ink", FAINT: "--faint", RULE: "--rule", **{one: f"--line-{i}" for i, one in enumerate(PALETTE)}}
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
# Groups are named by their order, which a page of many drawings would repeat; no element refers to them.
_GROUP_ID = re.compile(r'<g id="[^"]*">')


def to_plate(figure: Figure, description: str, width_px: int = WIDTH_PX) -> Plate:
    """The figure as an SVG element; `description` is its text for screen readers."""
    text = to_file(figure, "svg", background="none").decode()
    svg = _GROUP_ID.sub("<g>", text[text.index("<svg") :])
    svg = _COLOUR.sub(lambda found: f"{found[1]}: {_variable(found[2])}", svg)
    return Plate(svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1), width_px)


def name_ticks(canvas: Axes, names: Sequence[str]) -> None:
    """Names below an axis at 0, 1, 2 and so on; tilted if they would overlap."""
    shown = [short_name(name) for name in names]
    canvas.set_xticks(range(len(shown)), shown)
    if sum(len(name) + 2 for name in shown) > _LETTERS:
        for label in canvas.get_xticklabels():
            label.set(rotation=35, rotation_mode="anchor", horizontalalignment="right")
    canvas.grid(visible=False, axis="x")


def number_ticks(canvas: Axes, places: dict[str, float]) -> None:
    """A logarithmic axis if the numbers are far apart, each by its own name: powers of ten would be drawn as formulas."""
    above = [place for place in places.values() if place > 0]
    if not above or max(above) <= _WIDE * min(above):
        return
    if len(above) < len(places):
        canvas.set_xscale("symlog", linthresh=min(above))
    else:
        canvas.set_xscale("log")
    canvas.set_xticks(list(places.values()), [name.split()[0] for name in places])
    canvas.minorticks_off()


def from_zero(canvas: Axes) -> None:
    """A vertical axis from 0 to a little above the largest value."""
    canvas.set_ylim(0, 1.05 * canvas.get_ylim()[1])


def whiskers(shown: Sequence[Reading], scale: float) -> list[list[float]] | None:
    """The extents of the intervals; None without repeats."""
    if all(one.n == 1 for one in shown):
        return None
    # An aggregate that drops the extremes may lie slightly outside its interval.
    return [
        [max(0.0, one.value - one.low) * scale for one in shown],
        [max(0.0, one.high - one.value) * scale for one in shown],
    ]


def _variable(colour: str) -> str:
    return f"var({_VARIABLES[colour]}, {colour})" if colour in _VARIABLES else colour
