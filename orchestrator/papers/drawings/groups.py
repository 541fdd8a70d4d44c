"""Bars in groups: a group a value of a field, in it a bar a measure, or a bar a value of another field."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from longhaul.orchestrator.analysis.figures.canvas import INK, PUBLISHED, key_above, line_style, new_figure, style
from longhaul.orchestrator.papers.claims import Claim
from longhaul.orchestrator.papers.drawings.axes import WIDTH_IN, from_zero, name_ticks, to_plate, whiskers
from longhaul.orchestrator.papers.drawings.drawn import Drawn, Measured, Table, published_value, readings, scale_of
from longhaul.orchestrator.papers.figure_specs import Groups, Measure, short_name
from longhaul.orchestrator.papers.readings import Reading
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_HEIGHT_IN = 3.2
# The share of the distance between two groups that a group of bars takes.
_GROUP = 0.8


@dataclass(frozen=True, slots=True)
class _Bar:
    """The bars of one colour."""

    label: str
    read: Measure
    shown: Sequence[Reading]
    stated: Sequence[float | None]


def draw_groups(picture: Groups, measured: Measured, claims: Sequence[Claim]) -> Drawn | None:
    """The chart; None without measured points."""
    bars = [bar for read in picture.bars for bar in _bars(picture, read, readings(measured, picture.at, read), claims)]
    if not bars:
        return None
    groups = list(dict.fromkeys(_group(picture, one.point) for bar in bars for one in bar.shown))
    with style():
        figure = new_figure(WIDTH_IN, _HEIGHT_IN)
        canvas = figure.subplots()
        for index, bar in enumerate(bars):
            _draw(canvas, picture, bar, groups, index, len(bars))
        _marks(canvas, picture, bars, groups)
        name_ticks(canvas, groups)
        canvas.set_xlabel(picture.x.label if picture.x else "")
        canvas.set_ylabel(picture.y)
        from_zero(canvas)
        if len(bars) > 1 or any(value is not None for bar in bars for value in bar.stated):
            key_above(figure, [canvas])
        plate = to_plate(figure, f"{picture.y}: {', '.join(groups)}")
    fields = list(bars[0].shown[0].point)
    rows = [
        [
            *one.point.values(),
            bar.read.label,
            bar.read.measure,
            bar.read.flow,
            bar.read.phase,
            one.value,
            one.low,
            one.high,
            one.n,
            value,
        ]
        for bar in bars
        for one, value in zip(bar.shown, bar.stated, strict=True)
    ]
    return Drawn(
        [plate], Table([*fields, "bar", "measure", "flow", "phase", "value", "low", "high", "n", "published"], rows)
    )


def _group(picture: Groups, point: Mapping[str, str]) -> str:
    return point.get(picture.x.field, "") if picture.x else ""


def _bars(picture: Groups, read: Measure, shown: Sequence[Reading], claims: Sequence[Claim]) -> list[_Bar]:
    """The bars of one measure: one colour, or one a value of the field that splits them."""
    apart: dict[str, list[Reading]] = {}
    for one in shown:
        apart.setdefault(one.point.get(picture.split, "") if picture.split else "", []).append(one)
    several = len(picture.bars) > 1
    return [
        _Bar(
            ", ".join(part for part in (short_name(value), read.label if several or not value else "") if part),
            read,
            mine,
            [published_value(claims, read, one.point) for one in mine],
        )
        for value, mine in apart.items()
    ]


def _draw(canvas: Axes, picture: Groups, bar: _Bar, groups: Sequence[str], index: int, count: int) -> None:
    scale, colour = scale_of(bar.read.measure), line_style(index)[0]
    canvas.bar(
        [_place(groups.index(_group(picture, one.point)), index, count) for one in bar.shown],
        [one.value * scale for one in bar.shown], yerr=whiskers(bar.shown, scale), width=0.92 * _GROUP / count,
        color=colour, label=bar.label, error_kw={"ecolor": INK, "elinewidth": 1, "capsize": 2},
    )  # fmt: skip


def _marks(canvas: Axes, picture: Groups, bars: Sequence[_Bar], groups: Sequence[str]) -> None:
    """The paper's value, as a thin mark across the bar."""
    half, label = _GROUP / len(bars) / 2, PUBLISHED
    for index, bar in enumerate(bars):
        for one, value in zip(bar.shown, bar.stated, strict=True):
            if value is not None:
                middle = _place(groups.index(_group(picture, one.point)), index, len(bars))
                height = value * scale_of(bar.read.measure)
                canvas.plot(
                    [middle - half, middle + half], [height, height], color=INK, linewidth=1.4,
                    linestyle=(0, (3, 1.5)), label=label,
                )  # fmt: skip
                label = "_"


def _place(group: int, index: int, count: int) -> float:
    return group + _GROUP * ((index + 0.5) / count - 0.5)
