"""A heat map of pairs: a cell a pair, its value in it and, with repeats, the half-width of its interval below.

Published and measured maps are side by side, in the same colours: those of cividis from low to high, or
orange and purple around a middle, which every kind of colour vision distinguishes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from longhaul.orchestrator.papers.drawings.canvas import new_figure, style, to_plate
from longhaul.orchestrator.papers.drawings.drawn import Cell, Drawn, Measured, Plate, Table, readings, scale_of
from longhaul.orchestrator.papers.figure_specs import Map, short_name
from longhaul.orchestrator.papers.load import load_matrix
from longhaul.orchestrator.papers.readings import Reading
from longhaul.orchestrator.spec.measures import read_amount

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap, Normalize

Pair = tuple[str, str]

_CELL_IN, _CELL_PX = 0.42, 33
_MARGIN_IN, _MARGIN_PX = 1.15, 75
_LEAST_IN = 3.2
# The number of colours that the eye distinguishes in the key.
_COLOURS = 40
_DARK = 0.45
_LARGE_PT, _SMALL_PT = 8.5, 6.5


def draw_map(picture: Map, measured: Measured) -> Drawn | None:
    """The chart; None without measured points."""
    found = {_pair(picture, one): one for one in readings(measured, picture.at, picture.cell)}
    if not found:
        return None
    scale = scale_of(picture.cell.measure)
    rows, columns = (list(dict.fromkeys(pair[end] for pair in found)) for end in (0, 1))
    stated = _published(picture)
    published = {pair: value * scale for pair, value in stated.items() if pair in found}
    values = {pair: one.value * scale for pair, one in found.items()}
    halves = {pair: (one.high - one.low) / 2 * scale for pair, one in found.items() if one.n > 1}
    colours = _colours(picture, [*values.values(), *published.values()], scale)
    plates = [_plate(picture, rows, columns, values, halves, colours, "measured")]
    if published:
        plates.insert(0, _plate(picture, rows, columns, published, {}, colours, "published"))
    lines: list[list[Cell]] = [
        [*one.point.values(), one.value, one.low, one.high, one.n, stated.get(pair)] for pair, one in found.items()
    ]
    fields = list(next(iter(found.values())).point)
    table = Table([*fields, picture.cell.measure, "low", "high", "n", "published"], lines)
    return Drawn(plates, table, wide=len(plates) > 1 or len(columns) > 12)


def _published(picture: Map) -> dict[Pair, float]:
    """The published cells by (value of y, value of x)."""
    if picture.published is None:
        return {}
    turned = picture.published.rows != picture.y.field
    return {pair[::-1] if turned else pair: value for pair, value in load_matrix(picture.published).items()}


def _pair(picture: Map, reading: Reading) -> Pair:
    return reading.point.get(picture.y.field, ""), reading.point.get(picture.x.field, "")


def _colours(picture: Map, values: Sequence[float], scale: float) -> tuple[Colormap, Normalize]:
    import matplotlib as mpl
    from matplotlib.colors import Normalize

    low, high = min(values), max(values)
    if picture.middle is None:
        return mpl.colormaps["cividis"].resampled(_COLOURS), Normalize(low, high if high > low else low + 1)
    middle = read_amount(picture.cell.measure, picture.middle) * scale
    reach = max(high - middle, middle - low) or 1.0
    return mpl.colormaps["PuOr_r"].resampled(_COLOURS), Normalize(middle - reach, middle + reach)


def _plate(
    picture: Map, rows: Sequence[str], columns: Sequence[str], values: Mapping[Pair, float], halves: Mapping[Pair, float],
    colours: tuple[Colormap, Normalize], title: str,
) -> Plate:  # fmt: skip
    width = max(_LEAST_IN, _MARGIN_IN + _CELL_IN * len(columns))
    with style():
        figure = new_figure(1.6 + _CELL_IN * len(rows), width)
        canvas = figure.subplots()
        canvas.set_title(title)
        _draw_cells(canvas, rows, columns, values, halves, colours)
        _name_axes(canvas, picture, rows, columns)
        _draw_key(canvas, picture, colours)
        description = f"{picture.cell.label}, {title}: {picture.y.label} by {picture.x.label}"
        return to_plate(figure, description, max(240, _MARGIN_PX + _CELL_PX * len(columns)))


def _draw_cells(
    canvas: Axes, rows: Sequence[str], columns: Sequence[str], values: Mapping[Pair, float], halves: Mapping[Pair, float],
    colours: tuple[Colormap, Normalize],
) -> None:  # fmt: skip
    import numpy as np

    colour_of, place_of = colours
    grid = np.array([[values.get((row, column), math.nan) for column in columns] for row in rows])
    canvas.pcolormesh(
        np.ma.masked_invalid(grid), cmap=colour_of, norm=place_of, edgecolors="face", linewidth=0.1, antialiased=False
    )
    decimals = _decimals(list(values.values()))
    for down, row in enumerate(rows):
        for across, column in enumerate(columns):
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


def _name_axes(canvas: Axes, picture: Map, rows: Sequence[str], columns: Sequence[str]) -> None:
    canvas.invert_yaxis()
    canvas.set_xticks([at + 0.5 for at in range(len(columns))], [short_name(one) for one in columns])
    canvas.set_yticks([at + 0.5 for at in range(len(rows))], [short_name(one) for one in rows])
    for label in canvas.get_xticklabels():
        label.set(rotation=50, rotation_mode="anchor", horizontalalignment="right")
    canvas.tick_params(length=0)
    canvas.grid(visible=False)
    canvas.spines[:].set_visible(False)
    canvas.set_aspect("equal")
    canvas.set_xlabel(picture.x.label)
    canvas.set_ylabel(picture.y.label)


def _draw_key(canvas: Axes, picture: Map, colours: tuple[Colormap, Normalize]) -> None:
    from matplotlib.cm import ScalarMappable

    colour_of, place_of = colours
    key = canvas.figure.colorbar(
        ScalarMappable(place_of, colour_of), ax=canvas, orientation="horizontal", fraction=0.04, aspect=40, pad=0.02
    )
    key.set_label(picture.cell.label)
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
