"""Heat maps: a cell a pair of names, its value in it and, with repeats, the half-width of its interval below.

The colours are cividis from low to high, or orange and purple around a middle, which every kind of colour vision distinguishes.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING

from longhaul.orchestrator.analysis.figures.canvas import new_figure
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

# The names of a row and a column.
Pair = tuple[str, str]

_CELL_IN, _MARGIN_IN, _LEAST_IN = 0.42, 1.15, 3.2
# The number of colours that the eye distinguishes in the key.
_COLOURS = 40
_DARK = 0.45
_LARGE_PT, _SMALL_PT = 8.5, 6.5


@dataclass(frozen=True, slots=True)
class HeatMap:
    """The values of pairs; `halves` are the half-widths of their intervals."""

    # Names and how they are shown, in order.
    rows: Mapping[str, str]
    columns: Mapping[str, str]
    values: Mapping[Pair, float]
    # Of the vertical axis, of the horizontal one, of the values.
    labels: tuple[str, str, str]
    halves: Mapping[Pair, float] = field(default_factory=dict)


def colours_of(values: Collection[float], middle: float | None = None) -> tuple[Colormap, Normalize]:
    """The colours of these values, the same for all maps that show them."""
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    low, high = min(values), max(values)
    if middle is None:
        return mpl.colormaps["cividis"].resampled(_COLOURS), Normalize(low, high if high > low else low + 1)
    reach = max(high - middle, middle - low) or 1.0
    return mpl.colormaps["PuOr_r"].resampled(_COLOURS), Normalize(middle - reach, middle + reach)


def draw_heat_map(heat_map: HeatMap, colours: tuple[Colormap, Normalize], title: str) -> Figure:
    """The figure of a map, to be drawn within `style()`."""
    width_in = max(_LEAST_IN, _MARGIN_IN + _CELL_IN * len(heat_map.columns))
    figure = new_figure(width_in, 1.6 + _CELL_IN * len(heat_map.rows))
    canvas = figure.subplots()
    canvas.set_title(title)
    _draw_cells(canvas, heat_map, colours)
    _name_axes(canvas, heat_map)
    _draw_key(canvas, heat_map.labels[2], colours)
    return figure


def _draw_cells(canvas: Axes, heat_map: HeatMap, colours: tuple[Colormap, Normalize]) -> None:
    import numpy as np

    colour_of, place_of = colours
    values, halves = heat_map.values, heat_map.halves
    grid = np.array([[values.get((row, column), math.nan) for column in heat_map.columns] for row in heat_map.rows])
    canvas.pcolormesh(
        np.ma.masked_invalid(grid), cmap=colour_of, norm=place_of, edgecolors="face", linewidth=0.1, antialiased=False
    )
    decimals = _decimals(list(values.values()))
    for down, row in enumerate(heat_map.rows):
        for across, column in enumerate(heat_map.columns):
            value, half = values.get((row, column)), halves.get((row, column))
            if value is None:
                continue
            ink = _ink(colour_of(place_of(value)))
            middle = down + 0.5 - (0.15 if half is not None else 0)
            text = f"{value:.{decimals}f}"
            canvas.text(across + 0.5, middle, text, ha="center", va="center", color=ink, fontsize=_fitting(text))
            if half is not None:
                below = f"±{half:.{decimals}f}"
                canvas.text(across + 0.5, down + 0.76, below, ha="center", va="center", color=ink, fontsize=_SMALL_PT)


def _name_axes(canvas: Axes, heat_map: HeatMap) -> None:
    canvas.invert_yaxis()
    canvas.set_xticks([at + 0.5 for at in range(len(heat_map.columns))], list(heat_map.columns.values()))
    canvas.set_yticks([at + 0.5 for at in range(len(heat_map.rows))], list(heat_map.rows.values()))
    for label in canvas.get_xticklabels():
        label.set(rotation=50, rotation_mode="anchor", horizontalalignment="right")
    canvas.tick_params(length=0)
    canvas.grid(visible=False)
    canvas.spines[:].set_visible(False)
    canvas.set_aspect("equal")
    canvas.set_ylabel(heat_map.labels[0])
    canvas.set_xlabel(heat_map.labels[1])


def _draw_key(canvas: Axes, label: str, colours: tuple[Colormap, Normalize]) -> None:
    from matplotlib.cm import ScalarMappable

    colour_of, place_of = colours
    key = canvas.figure.colorbar(
        ScalarMappable(place_of, colour_of), ax=canvas, orientation="horizontal", fraction=0.04, aspect=40, pad=0.02
    )
    key.set_label(label)
    key.outline.set_visible(False)


def _decimals(values: Sequence[float]) -> int:
    """As many that the largest value has three digits."""
    largest = max(map(abs, values), default=0.0)
    return 3 if largest < 1 else max(0, 2 - int(math.log10(largest)))


def _fitting(text: str) -> float:
    return min(_LARGE_PT, 5.2 * _LARGE_PT / max(1, len(text)))


def _ink(colour: tuple[float, float, float, float]) -> str:
    """Black or white, whichever has more contrast."""
    red, green, blue, _ = colour
    return "#ffffff" if 0.299 * red + 0.587 * green + 0.114 * blue < _DARK else "#000000"
