"""The response surface of two parameters as a heat map: the tried values and their scores, as text and SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_SHADES = " .:-=+*#%@"
# More different values than this are grouped, neighbours first.
_MOST = 12


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


def as_svg(surface: Surface, title: str) -> bytes:
    """The same as an image; an untried cell is empty."""
    from longhaul.orchestrator.analysis.figures.canvas import style, to_file
    from longhaul.orchestrator.analysis.figures.heat_map import HeatMap, colours_of, draw_heat_map

    values = {
        (row, column): cell
        for row, cells in zip(surface.rows, surface.cells, strict=True)
        for column, cell in zip(surface.columns, cells, strict=True)
        if cell is not None
    }
    rows, columns = ({name: name for name in names} for names in (surface.rows, surface.columns))
    heat_map = HeatMap(rows, columns, values, (surface.y, surface.x, title))
    with style():
        return to_file(draw_heat_map(heat_map, colours_of(values.values()), ""), "svg")
