"""A heat map of pairs; published and measured maps are side by side, in the same colours."""

from __future__ import annotations

from collections.abc import Mapping

from longhaul.orchestrator.analysis.figures.canvas import style
from longhaul.orchestrator.analysis.figures.heat_map import HeatMap, Pair, colours_of, draw_heat_map
from longhaul.orchestrator.papers.drawings.axes import to_plate
from longhaul.orchestrator.papers.drawings.drawn import Cell, Drawn, Measured, Table, readings, scale_of
from longhaul.orchestrator.papers.figure_specs import Map, short_name
from longhaul.orchestrator.papers.load import load_matrix
from longhaul.orchestrator.papers.readings import Reading
from longhaul.orchestrator.spec.amounts import read_amount

_CELL_PX, _MARGIN_PX, _LEAST_PX = 33, 75, 240


def draw_map(picture: Map, measured: Measured) -> Drawn | None:
    """The chart; None without measured points."""
    found = {_pair(picture, one): one for one in readings(measured, picture.at, picture.cell)}
    if not found:
        return None
    scale = scale_of(picture.cell.measure)
    stated = _published(picture)
    published = {pair: value * scale for pair, value in stated.items() if pair in found}
    values = {pair: one.value * scale for pair, one in found.items()}
    halves = {pair: (one.high - one.low) / 2 * scale for pair, one in found.items() if one.n > 1}
    maps = [("measured", _heat_map(picture, values, values, halves))]
    if published:
        maps.insert(0, ("published", _heat_map(picture, values, published, {})))
    middle = None if picture.middle is None else read_amount(picture.cell.measure, picture.middle) * scale
    colours = colours_of([*values.values(), *published.values()], middle)
    plates = []
    with style():
        for title, drawn in maps:
            description = f"{picture.cell.label}, {title}: {picture.y.label} by {picture.x.label}"
            width_px = max(_LEAST_PX, _MARGIN_PX + _CELL_PX * len(drawn.columns))
            plates.append(to_plate(draw_heat_map(drawn, colours, title), description, width_px))
    lines: list[list[Cell]] = [
        [*one.point.values(), one.value, one.low, one.high, one.n, stated.get(pair)] for pair, one in found.items()
    ]
    fields = list(next(iter(found.values())).point)
    table = Table([*fields, picture.cell.measure, "low", "high", "n", "published"], lines)
    return Drawn(plates, table, wide=len(plates) > 1 or len(maps[0][1].columns) > 12)


def _heat_map(
    picture: Map, measured: Mapping[Pair, float], values: Mapping[Pair, float], halves: Mapping[Pair, float]
) -> HeatMap:
    """The rows and columns are those of the measured pairs, in all maps."""
    rows, columns = ({pair[end]: short_name(pair[end]) for pair in measured} for end in (0, 1))
    return HeatMap(rows, columns, values, (picture.y.label, picture.x.label, picture.cell.label), halves)


def _published(picture: Map) -> dict[Pair, float]:
    """The published cells by (value of y, value of x)."""
    if picture.published is None:
        return {}
    turned = picture.published.rows != picture.y.field
    return {pair[::-1] if turned else pair: value for pair, value in load_matrix(picture.published).items()}


def _pair(picture: Map, reading: Reading) -> Pair:
    return reading.point.get(picture.y.field, ""), reading.point.get(picture.x.field, "")
