"""A quantity over the time of runs: stacked plots with a line a point and flow, of the first repeat.

Lines are thinned like those of a report, so that every spike is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from longhaul.orchestrator.analysis.aggregate import by_point
from longhaul.orchestrator.analysis.figures.canvas import FAINT, key_above, line_style, new_figure, style
from longhaul.orchestrator.analysis.panels import Series, flow_label, run_panels
from longhaul.orchestrator.papers.claims import selects
from longhaul.orchestrator.papers.drawings.axes import WIDTH_IN, from_zero, to_plate
from longhaul.orchestrator.papers.drawings.drawn import Cell, Drawn, Measured, Table
from longhaul.orchestrator.papers.figure_specs import OverTime, short_name
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_PANELS = {"cwnd": "Congestion window", "goodput": "Goodput", "rtt": "Round trip", "queue": "Queue"}
_COLUMNS = {"cwnd": "cwnd_packets", "goodput": "goodput_mbps", "rtt": "rtt_ms", "queue": "queue_packets"}
_PLOT_IN, _REST_IN = 1.9, 0.9
# A ten-thousandth of a second or of a unit is below the resolution of a drawing.
_DECIMALS = 4


@dataclass(frozen=True, slots=True)
class _Line:
    """A line and its run."""

    run: Run
    label: str
    series: Series


def draw_over_time(picture: OverTime, measured: Measured, points: int) -> Drawn | None:
    """The chart; None without measured points."""
    done = [document for document in measured.documents if document["status"] != "failed"]
    firsts = [group[0] for group in by_point(one for one in done if selects(picture.at, one["point"]))]
    plots: dict[str, list[RunDocument]] = {}
    for document in firsts:
        plots.setdefault(document["point"].get(picture.plots, "") if picture.plots else "", []).append(document)
    lines = {plot: _lines(picture, documents, measured, points) for plot, documents in plots.items()}
    lines = {plot: found for plot, found in lines.items() if found}
    if not lines:
        return None
    with style():
        figure = new_figure(WIDTH_IN, _REST_IN + _PLOT_IN * len(lines))
        rows = figure.subplots(len(lines), 1, sharex=True, squeeze=False)[:, 0]
        styles = {label: index for index, label in enumerate(_labels(lines))}
        for canvas, (plot, found) in zip(rows, lines.items(), strict=True):
            for line in found:
                colour, dashes, _ = line_style(styles[line.label])
                canvas.plot(
                    line.series.x_s, line.series.y, color=colour, linestyle=dashes, linewidth=1.0, label=line.label
                )
            for mark in run_marks(found[0].run):
                canvas.axvline(mark.t_s, color=FAINT, linewidth=0.8, linestyle=":")
            canvas.set_xlim(0, max(line.run.duration_us for line in found) / 1e6)
            from_zero(canvas)
            canvas.set_ylabel(picture.label)
            canvas.set_title(short_name(plot))
        rows[-1].set_xlabel("time, s")
        key_above(figure, list(rows))
        plate = to_plate(figure, f"{picture.label} over time: {', '.join(_labels(lines))}")
    return Drawn([plate], _table(picture, lines))


def _lines(picture: OverTime, documents: Sequence[RunDocument], measured: Measured, points: int) -> list[_Line]:
    varied = _varied(picture, documents)
    lines = []
    for document in documents:
        run, trace = measured.kept(document)
        wanted = {flow_label(flow): flow.name for flow in run.flows if not picture.flows or flow.name in picture.flows}
        panels = [panel for panel in run_panels(run, trace, points) if panel.title == _PANELS[picture.quantity]]
        found = [one for panel in panels for one in panel.series if picture.quantity == "queue" or one.label in wanted]
        place = ", ".join(short_name(document["point"].get(field, "")) for field in varied)
        for series in found:
            # If points differ in a flow's congestion control, the point's value is a better label than the flow's name.
            whose = series.label if not place else wanted.get(series.label, series.label) if len(found) > 1 else ""
            lines.append(_Line(run, ", ".join(part for part in (place, whose) if part), series))
    return lines


def _varied(picture: OverTime, documents: Sequence[RunDocument]) -> list[str]:
    """The fields in which the lines of a plot differ."""
    fields = documents[0]["point"]
    return [
        field
        for field in fields
        if field != picture.plots and len({one["point"].get(field, "") for one in documents}) > 1
    ]


def _labels(lines: Mapping[str, Sequence[_Line]]) -> list[str]:
    return list(dict.fromkeys(line.label for found in lines.values() for line in found))


def _table(picture: OverTime, lines: Mapping[str, Sequence[_Line]]) -> Table:
    rows: list[list[Cell]] = [
        [plot, line.label, line.run.seed, round(float(t_s), _DECIMALS), round(float(value), _DECIMALS)]
        for plot, found in lines.items()
        for line in found
        for t_s, value in zip(line.series.x_s, line.series.y, strict=True)
    ]
    return Table([picture.plots or "plot", "line", "seed", "t_s", _COLUMNS[picture.quantity]], rows)
