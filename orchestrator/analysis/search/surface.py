"""The response surface of two parameters as a heat map: the tried values and their scores, as text and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

_SHADES = " .:-=+*#%@"
# More different values than this are grouped, neighbours first.
_MOST = 12
_CELL_PX, _MARGIN_PX, _LINE_PX = 64, 110, 16


@dataclass(frozen=True, slots=True)
class Surface:
    """`cells[y][x]` is the best value there, None if none was tried."""

    x: str
    y: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    cells: tuple[tuple[float | None, ...], ...]

    def shade(self, value: float) -> float:
        """0 for the least value there is, 1 for the largest."""
        known = [one for row in self.cells for one in row if one is not None]
        low, high = min(known), max(known)
        return (value - low) / (high - low) if high > low else 1.0


def surface_of(
    trials: Sequence[tuple[Mapping[str, Any], float | None]], numbers: Mapping[str, Mapping[str, float]]
) -> Surface:
    """The surface over the two parameters of these trials; `numbers` orders the shown values of each."""
    x, y = numbers
    columns, rows = (_bins(numbers[name]) for name in (x, y))
    best: dict[tuple[str, str], float] = {}
    for params, value in trials:
        if value is not None:
            place = columns[str(params[x])], rows[str(params[y])]
            best[place] = max(value, best.get(place, value))
    across, down = (tuple(dict.fromkeys(bins.values())) for bins in (columns, rows))
    cells = tuple(tuple(best.get((column, row)) for column in across) for row in down)
    return Surface(x, y, across, down, cells)


def _bins(numbers: Mapping[str, float]) -> dict[str, str]:
    """Each value's place on the axis, in order."""
    ordered = sorted(numbers, key=numbers.__getitem__)
    count = min(_MOST, len(ordered))
    groups = [ordered[i * len(ordered) // count : (i + 1) * len(ordered) // count] for i in range(count)]
    names = [group[0] if len(group) == 1 else f"{group[0]}-{group[-1]}" for group in groups]
    return {value: name for name, group in zip(names, groups, strict=True) for value in group}


def as_text(surface: Surface) -> str:
    """A shade and a number a cell; @ is the best, a single dot was not tried."""
    width = max([11, *(len(column) + 2 for column in surface.columns)])
    head = max(len(surface.y), *(len(row) for row in surface.rows))
    lines = [f"{surface.y:>{head}}  " + "".join(f"{column:>{width}}" for column in surface.columns) + f"  {surface.x}"]
    for row, cells in zip(surface.rows, surface.cells, strict=True):
        lines.append(f"{row:>{head}}  " + "".join(f"{_cell(surface, cell):>{width}}" for cell in cells))
    return "\n".join(lines)


def _cell(surface: Surface, value: float | None) -> str:
    return "·" if value is None else f"{_SHADES[round(surface.shade(value) * (len(_SHADES) - 1))]} {value:.4g}"


def as_svg(surface: Surface, title: str) -> str:
    """The same as a self-contained image."""
    width = _MARGIN_PX + _CELL_PX * len(surface.columns) + 20
    height = 60 + _CELL_PX // 2 * len(surface.rows) + 2 * _LINE_PX
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        _svg_text(10, 20, title, "start"),
        _svg_text(_MARGIN_PX - 8, 44, f"{surface.y} \\ {surface.x}", "end"),
    ]
    for column, name in enumerate(surface.columns):
        parts.append(_svg_text(_MARGIN_PX + _CELL_PX * (column + 0.5), 44, name, "middle"))
    for row, (name, cells) in enumerate(zip(surface.rows, surface.cells, strict=True)):
        top = 52 + _CELL_PX // 2 * row
        parts.append(_svg_text(_MARGIN_PX - 8, top + 20, name, "end"))
        for column, cell in enumerate(cells):
            left = _MARGIN_PX + _CELL_PX * column
            parts.append(
                f'<rect x="{left}" y="{top}" width="{_CELL_PX - 2}" height="{_CELL_PX // 2 - 2}" fill="{_colour(surface, cell)}"/>'
            )
            if cell is not None:
                ink = "#fff" if surface.shade(cell) > 0.6 else "#000"
                parts.append(_svg_text(left + _CELL_PX / 2 - 1, top + 20, f"{cell:.4g}", "middle", ink))
    return "\n".join([*parts, "</svg>\n"])


def _colour(surface: Surface, value: float | None) -> str:
    """From pale to dark blue; grey for untried cells."""
    if value is None:
        return "#e4e4e4"
    shade = surface.shade(value)
    return "#" + "".join(
        f"{round(pale + (dark - pale) * shade):02x}" for pale, dark in ((222, 8), (235, 69), (247, 148))
    )


def _svg_text(x: float, y: float, text: str, anchor: str, ink: str = "#000") -> str:
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="{anchor}" fill="{ink}">{escape(text)}</text>'
