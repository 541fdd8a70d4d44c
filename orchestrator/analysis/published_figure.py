"""A published figure drawn again from what was measured, over the paper's own axes, and the numbers behind it as CSV.

Numbers of one unit along the axis make lines, names make bars; whiskers are the 95 % intervals of the repeats. Points whose runs
failed are left out. Same runs, same bytes.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from orchestrator.analysis.figure import PALETTE, STYLE
from orchestrator.analysis.readings import Reading, Unreadable, by_point, read_point
from orchestrator.expectation import MEASURES
from orchestrator.papers import Axes as PublishedAxes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_QUANTITY = re.compile(r"([-+0-9.eE]+) ?(.*)")
_SIZE_IN = (6.4, 3.4)
_MARKERS = "osD^vP*X"
# Beyond this ratio of the largest to the smallest value the axis is logarithmic.
_WIDE = 50


def figure_readings(axes: PublishedAxes, documents: Sequence[dict[str, Any]], aggregate: str) -> list[Reading]:
    """What was measured at every point of the figure's experiment, in the order of the sweep."""
    readings = []
    for group in by_point(documents):
        try:
            readings.append(read_point(group, axes.y.measure or "goodput", axes.y.flow, aggregate))
        except Unreadable:
            continue
    return readings


def readings_csv(axes: PublishedAxes, readings: Sequence[Reading]) -> str:
    """The numbers of the figure, one point a line, in the units of the document of a run."""
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    fields = list(readings[0].point) if readings else []
    rows.writerow([*fields, axes.y.measure, "low", "high", "n"])
    for reading in readings:
        rows.writerow([*reading.point.values(), repr(reading.value), repr(reading.low), repr(reading.high), reading.n])
    return text.getvalue()


def draw_published(axes: PublishedAxes, readings: Sequence[Reading]) -> str:
    """The figure as an SVG element."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    field = axes.x.field or ""
    names = list(dict.fromkeys(reading.point.get(field, "") for reading in readings))
    places = _numbers(names)
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=_SIZE_IN, layout="constrained")
        canvas = figure.subplots()
        if places is None:
            _draw_bars(canvas, axes, readings, names)
        else:
            _draw_lines(canvas, axes, readings, dict(zip(names, places, strict=True)))
        canvas.set_xlabel(axes.x.label)
        canvas.set_ylabel(axes.y.label)
        canvas.set_ylim(0, 1.05 * canvas.get_ylim()[1])
        if axes.curves and places is not None:
            figure.legend(loc="outside right center", frameon=False, fontsize=8)
        page = io.StringIO()
        figure.savefig(page, format="svg", metadata={"Date": None, "Creator": None})
    svg = page.getvalue()
    return svg[svg.index("<svg") :]


def _numbers(names: Sequence[str]) -> list[float] | None:
    """The values along the axis, where all are numbers of one unit."""
    found = [_QUANTITY.fullmatch(name) for name in names]
    try:
        values = [float(one[1]) for one in found if one]
    except ValueError:
        return None
    return values if len(values) == len(names) and len({one[2] for one in found if one}) == 1 else None


def _scale(measure: str | None) -> float:
    return 1e-6 if MEASURES[measure or "goodput"][1] == "rate" else 1.0


def _whiskers(readings: Sequence[Reading], scale: float) -> list[list[float]]:
    # An aggregate that drops the extremes may lie a hair outside of its interval.
    return [
        [max(0.0, one.value - one.low) * scale for one in readings],
        [max(0.0, one.high - one.value) * scale for one in readings],
    ]


def _draw_lines(canvas: Axes, axes: PublishedAxes, readings: Sequence[Reading], places: dict[str, float]) -> None:
    scale, field = _scale(axes.y.measure), axes.x.field or ""
    curves = dict.fromkeys(reading.point.get(axes.curves or "", "") for reading in readings)
    for index, curve in enumerate(curves):
        mine = [one for one in readings if one.point.get(axes.curves or "", "") == curve]
        canvas.errorbar(
            [places[one.point[field]] for one in mine], [one.value * scale for one in mine], yerr=_whiskers(mine, scale),
            color=PALETTE[index % len(PALETTE)], marker=_MARKERS[index % len(_MARKERS)], markersize=4, linewidth=1, label=curve,
        )  # fmt: skip
    above = [place for place in places.values() if place > 0]
    if above and max(above) > _WIDE * min(above):
        if len(above) < len(places):
            canvas.set_xscale("symlog", linthresh=min(above))
        else:
            canvas.set_xscale("log")
        # Every point by its own number: powers of ten would be drawn as formulas.
        canvas.set_xticks(list(places.values()), [name.split()[0] for name in places])
        canvas.minorticks_off()


def _draw_bars(canvas: Axes, axes: PublishedAxes, readings: Sequence[Reading], names: Sequence[str]) -> None:
    scale, field = _scale(axes.y.measure), axes.x.field or ""
    positions = [names.index(one.point.get(field, "")) for one in readings]
    canvas.bar(
        positions, [one.value * scale for one in readings], yerr=_whiskers(readings, scale), color=PALETTE[0], width=0.6
    )
    canvas.set_xticks(range(len(names)), names)
    canvas.grid(visible=False, axis="x")
    canvas.set_axisbelow(True)
