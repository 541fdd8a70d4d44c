"""The static figure of runs: stacked panels over one time axis, as SVG or PNG; and the distributions of one run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from longhaul.orchestrator.analysis.distributions import queue_delay_curves, round_trip_curves
from longhaul.orchestrator.analysis.figures.canvas import (
    DASHES,
    FAINT,
    INK,
    SOLID,
    Dashes,
    line_style,
    new_figure,
    style,
    to_file,
)
from longhaul.orchestrator.analysis.panels import Panel, overlaid, run_panels
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.trace.records import Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import SubFigure

Styles = dict[str, tuple[str, Dashes]]

_WIDTH_IN = 9.0
_PANEL_IN, _HEAD_IN, _DISTRIBUTIONS_IN = 1.5, 0.8, 3.0
# More points than the figure's dots across would only make the file larger.
_POINTS = 2000
_MOST_RUNS = 12
_MOST_LEGEND = 14
# The width of a mark's text, as a part of the time axis.
_LETTER_WIDTH = 0.0065


def draw_figure(runs: Sequence[tuple[Run, Trace]], ending: str, recorded: Sequence[Panel] = ()) -> bytes:
    """The figure of these runs in the format of this ending, svg or png, with series of recordings over theirs."""
    if len(runs) > _MOST_RUNS:
        what = f"{len(runs)} runs do not fit into one figure, which has room for {_MOST_RUNS}"
        raise PlanError("drawing", "a figure", what, "name fewer runs, or an output that ends in .html")
    drawn = [(run, overlaid(run_panels(run, trace, _POINTS), recorded)) for run, trace in runs]
    heights_in = [_HEAD_IN + _PANEL_IN * max(1, len(panels)) for _, panels in drawn]
    with style():
        figure = new_figure(_WIDTH_IN, sum(heights_in))
        parts = figure.subfigures(len(drawn), 1, squeeze=False, height_ratios=heights_in)[:, 0]
        for part, (run, panels) in zip(parts, drawn, strict=True):
            _draw_run(part, run, panels)
        return to_file(figure, ending)


def draw_distributions(run: Run, trace: Trace) -> bytes | None:
    """Round trips and queue delays of one run, each as the share that is at most so large, in SVG; None without any."""
    parts = (("Round trip", round_trip_curves(run, trace)), ("Queue delay", queue_delay_curves(run, trace)))
    drawn = [(title, curves) for title, curves in parts if curves]
    if not drawn:
        return None
    with style():
        figure = new_figure(_WIDTH_IN, _DISTRIBUTIONS_IN)
        for axes, (title, curves) in zip(
            figure.subplots(1, len(drawn), sharey=True, squeeze=False)[0], drawn, strict=True
        ):
            for index, curve in enumerate(curves):
                colour, dashes = line_style(index)[:2] if title == "Round trip" else (INK, DASHES[index % len(DASHES)])
                axes.plot(curve.ms, 100 * curve.share, color=colour, linestyle=dashes, linewidth=1.1, label=curve.label)
            axes.set_xlim(left=0)
            axes.set_ylim(0, 100)
            axes.set_xlabel(f"{title}, ms")
            if len(curves) <= _MOST_LEGEND:
                axes.legend(frameon=False, fontsize=8, loc="lower right")
        figure.supylabel("at most as long, %", fontsize=9)
        return to_file(figure, "svg")


def _flow_styles(panels: Sequence[Panel]) -> Styles:
    """Colour and dashes of every series, the same in all panels."""
    labels = dict.fromkeys(series.label for panel in panels if panel.title != "Queue" for series in panel.series)
    return {label: line_style(index)[:2] for index, label in enumerate(labels)}


def _draw_run(part: SubFigure, run: Run, panels: Sequence[Panel]) -> None:
    part.suptitle(run.title, fontsize=11)
    if not panels:
        return
    styles = _flow_styles(panels)
    rows = part.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(rows, panels, strict=True):
        _draw_panel(axes, run, panel, styles)
        _draw_marks(axes, run, labelled=axes is rows[0])
    rows[-1].set_xlabel("time, s")
    part.align_ylabels(list(rows))
    _draw_legend(part, styles)


def _draw_panel(axes: Axes, run: Run, panel: Panel, styles: Styles) -> None:
    for series in panel.series:
        colour, dashes = styles.get(series.label, (INK, SOLID)) if panel.title != "Queue" else (INK, SOLID)
        axes.plot(series.x_s, series.y, color=colour, linestyle=dashes, linewidth=0.9)
    axes.set_xlim(0, run.duration_us / 1e6)
    axes.set_ylim(bottom=0)
    axes.set_ylabel(f"{panel.title}\n{panel.unit}")
    if run.window_us[0] > 0:
        axes.axvspan(0, run.window_us[0] / 1e6, color="#f2f2f2", zorder=0, linewidth=0)


def _draw_marks(axes: Axes, run: Run, *, labelled: bool) -> None:
    letter_s = _LETTER_WIDTH * run.duration_us / 1e6
    free_s = 0.0
    for mark in run_marks(run):
        axes.axvline(mark.t_s, color=FAINT, linewidth=0.8, linestyle=":")
        # A text that would overlap the previous one is left out; its line stays.
        if labelled and mark.t_s >= free_s:
            free_s = mark.t_s + letter_s * len(mark.text)
            axes.text(
                mark.t_s, 1.01, mark.text, transform=axes.get_xaxis_transform(), fontsize=7, va="bottom", color=FAINT
            )


def _draw_legend(part: SubFigure, styles: Styles) -> None:
    from matplotlib.lines import Line2D

    shown = list(styles.items())[:_MOST_LEGEND]
    handles = [Line2D([], [], color=colour, linestyle=dashes) for _, (colour, dashes) in shown]
    labels = [label for label, _ in shown]
    if len(styles) > len(shown):
        handles.append(Line2D([], [], linestyle="none"))
        labels.append(f"and {len(styles) - len(shown)} more")
    part.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=8)
