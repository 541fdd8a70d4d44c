"""Shared parts of all drawings: the style, axes of names or numbers, and the conversion to an SVG element.

Ink and lines become variables of the page's style sheet, so that a drawing follows the reader's light or dark page;
alone it falls back to the light colours.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from html import escape
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.analysis.report.figure import DASHES, PALETTE, STYLE, Dashes
from longhaul.orchestrator.papers.drawings.drawn import Plate
from longhaul.orchestrator.papers.figure_specs import short_name
from longhaul.orchestrator.papers.readings import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, FAINT, RULE = "#1c2024", "#5b6570", "#dde1e6"
MARKERS = "osD^vP*X"
WIDTH_IN = 5.6
# Width of a column that is legible on a narrow page, in CSS pixels.
WIDTH_PX = 340

_QUANTITY = re.compile(r"([-+0-9.eE]+) ?(.*)")
# Beyond this ratio of the largest to the smallest value the axis is logarithmic.
_WIDE = 50
# Letters of all names below an axis that fit side by side in a drawing of WIDTH_IN.
_LETTERS = 54
# The key's label of the paper's numbers.
PUBLISHED = "published"
# Letters of a line of the key, with room for the strokes.
_KEY_LETTERS = 84

_VARIABLES = {INK: "--ink", FAINT: "--faint", RULE: "--rule", **{one: f"--line-{i}" for i, one in enumerate(PALETTE)}}
_COLOUR = re.compile(r"(fill|stroke): (#[0-9a-f]{6})")
# Groups are named by their order, which a page of many drawings would repeat; no element refers to them.
_GROUP_ID = re.compile(r'<g id="[^"]*">')

_STYLE: Any = STYLE | {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.edgecolor": FAINT,
    "xtick.color": FAINT,
    "ytick.color": FAINT,
    "xtick.labelcolor": INK,
    "ytick.labelcolor": INK,
    "grid.color": RULE,
    "axes.facecolor": "none",
    "axes.axisbelow": True,
    "figure.facecolor": "none",
    "savefig.facecolor": "none",
    "axes.titlesize": 9.0,
    "axes.titlelocation": "left",
    "axes.titleweight": "bold",
}


def style() -> AbstractContextManager[None]:
    """The style, while a drawing is made."""
    import matplotlib as mpl

    return mpl.rc_context(_STYLE)


def new_figure(height_in: float, width_in: float = WIDTH_IN) -> Figure:
    """An empty figure."""
    from matplotlib.figure import Figure

    return Figure(figsize=(width_in, height_in), layout="constrained")


def to_plate(figure: Figure, description: str, width_px: int = WIDTH_PX, title: str = "") -> Plate:
    """The figure as an SVG element; `description` is its text for screen readers."""
    page = io.StringIO()
    figure.savefig(page, format="svg", metadata={"Date": None, "Creator": None})
    text = page.getvalue()
    svg = _GROUP_ID.sub("<g>", text[text.index("<svg") :])
    svg = _COLOUR.sub(lambda found: f"{found[1]}: {_variable(found[2])}", svg)
    return Plate(svg.replace("<svg", f'<svg role="img" aria-label="{escape(description)}"', 1), width_px, title)


def line_style(index: int) -> tuple[str, Dashes, str]:
    """Colour, dashes and marker of one of several lines."""
    return PALETTE[index % len(PALETTE)], DASHES[index // len(PALETTE) % len(DASHES)], MARKERS[index % len(MARKERS)]


def numbers(names: Sequence[str]) -> list[float] | None:
    """The values along an axis, if all are numbers of one unit."""
    found = [_QUANTITY.fullmatch(name) for name in names]
    try:
        values = [float(one[1]) for one in found if one]
    except ValueError:
        return None
    return values if len(values) == len(names) and len({one[2] for one in found if one}) == 1 else None


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


def key_above(figure: Figure, plots: Sequence[Axes]) -> None:
    """The key above the drawing: every line once, from its first plot."""
    found = {label: handle for plot in plots for handle, label in zip(*plot.get_legend_handles_labels(), strict=True)}
    if found:
        # Measured values first, in any order of drawing.
        found |= {PUBLISHED: found.pop(PUBLISHED)} if PUBLISHED in found else {}
        columns = max(1, min(6, int(_KEY_LETTERS / (max(map(len, found)) + 8))))
        figure.legend(found.values(), found.keys(), loc="outside upper left", ncols=columns, frameon=False, fontsize=8)


def _variable(colour: str) -> str:
    return f"var({_VARIABLES[colour]}, {colour})" if colour in _VARIABLES else colour
