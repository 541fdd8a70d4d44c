"""A measure over a field of the sweep: lines if the field's values are numbers of one unit, else bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from longhaul.orchestrator.analysis.figures.canvas import (
    DASHES,
    INK,
    MEASURED,
    PUBLISHED,
    key_above,
    line_style,
    new_figure,
    style,
)
from longhaul.orchestrator.papers.claims import Claim
from longhaul.orchestrator.papers.drawings.axes import WIDTH_IN, from_zero, number_ticks, to_plate, whiskers
from longhaul.orchestrator.papers.drawings.drawn import Drawn, Measured, Table, published_value, readings, scale_of
from longhaul.orchestrator.papers.drawings.groups import draw_groups
from longhaul.orchestrator.papers.figure_specs import Curves, Groups, numbers, short_name
from longhaul.orchestrator.papers.load import load_matrix
from longhaul.orchestrator.papers.readings import Reading

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT_IN = 3.2


def draw_curves(picture: Curves, measured: Measured, claims: Sequence[Claim]) -> Drawn | None:
    """The chart; None without measured points."""
    shown = readings(measured, picture.at, picture.y)
    if not shown:
        return None
    names = list(dict.fromkeys(one.point.get(picture.x.field, "") for one in shown))
    places = numbers(names)
    if places is None:
        return draw_groups(_as_bars(picture), measured, claims)
    stated = [published_value(claims, picture.y, one.point) for one in shown]
    published = _published(picture, names)
    with style():
        figure = new_figure(WIDTH_IN, _HEIGHT_IN)
        canvas = figure.subplots()
        at = dict(zip(names, places, strict=True))
        drawn = _draw_lines(canvas, picture, shown, stated, at)
        _draw_published(canvas, published, at, scale_of(picture.y.measure), drawn)
        canvas.set_xlabel(picture.x.label)
        canvas.set_ylabel(picture.y.label)
        from_zero(canvas)
        key_above(figure, [canvas])
        plate = to_plate(figure, f"{picture.y.label} over {picture.x.label}")
    fields = list(shown[0].point)
    rows = [
        [
            *one.point.values(), one.value, one.low, one.high, one.n, value,
            *(curve.get(one.point.get(picture.x.field, "")) for curve in published.values()),
        ]
        for one, value in zip(shown, stated, strict=True)
    ]  # fmt: skip
    columns = [
        *fields,
        picture.y.measure,
        "low",
        "high",
        "n",
        "published",
        *(f"published: {name}" for name in published),
    ]
    return Drawn([plate], Table(columns, rows))


def _as_bars(picture: Curves) -> Groups:
    label = picture.y.label
    return Groups(
        kind="groups", title=picture.title, experiment=picture.experiment, at=picture.at,
        x=picture.x, y=label, bars=[picture.y], split=picture.curves,
    )  # fmt: skip


def _published(picture: Curves, names: Sequence[str]) -> dict[str, dict[str, float]]:
    """The published curves by name, each the values at the names along x that it has."""
    curves: dict[str, dict[str, float]] = {}
    if picture.published is not None:
        for (name, curve), value in load_matrix(picture.published).items():
            if name in names:
                curves.setdefault(curve, {})[name] = value
    return curves


def _draw_published(
    canvas: Axes, curves: dict[str, dict[str, float]], places: dict[str, float], scale: float, first: int
) -> None:
    """Dashed lines with hollow markers, in the colours after those of the `first` measured ones."""
    for index, (name, values) in enumerate(curves.items(), first):
        colour, _, marker = line_style(index)
        canvas.plot(
            [places[at] for at in values], [value * scale for value in values.values()],
            color=colour, linestyle=DASHES[1], marker=marker, markersize=4, markerfacecolor="none", linewidth=1.0,
            label=f"{PUBLISHED}: {name}",
        )  # fmt: skip


def _draw_lines(
    canvas: Axes, picture: Curves, shown: Sequence[Reading], stated: Sequence[float | None], places: dict[str, float]
) -> int:
    """The measured lines; how many they are."""
    scale, field = scale_of(picture.y.measure), picture.x.field
    curve_of = [one.point.get(picture.curves, "") if picture.curves else "" for one in shown]
    curves = list(dict.fromkeys(curve_of))
    for index, curve in enumerate(curves):
        mine = [one for one, its in zip(shown, curve_of, strict=True) if its == curve]
        colour, dashes, marker = line_style(index)
        canvas.errorbar(
            [places[one.point.get(field, "")] for one in mine], [one.value * scale for one in mine], yerr=whiskers(mine, scale),
            color=colour, linestyle=dashes, marker=marker, markersize=4, linewidth=1.2, elinewidth=1, capsize=2,
            label=short_name(curve) or (MEASURED if picture.published else "_"),
        )  # fmt: skip
    marks = [
        (places[one.point.get(field, "")], value * scale)
        for one, value in zip(shown, stated, strict=True)
        if value is not None
    ]
    if marks:
        canvas.plot(*zip(*marks, strict=True), linestyle="none", marker="_", markersize=14, color=INK, label=PUBLISHED)
    number_ticks(canvas, places)
    return len(curves)
