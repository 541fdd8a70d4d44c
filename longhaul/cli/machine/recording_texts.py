"""A recording of a link on the terminal and in a figure: its numbers in words, and charts of a part of it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.cli.terminal.output import chart_columns
from longhaul.orchestrator.recorded_links.formats import LOSSES, MAHIMAHI, format_of
from longhaul.orchestrator.system.errors import PlanError, visible

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.panels import Panel

# Inches of a figure.
_WIDTH_IN, _PANEL_IN, _HEAD_IN = 9.0, 1.5, 0.8


def in_short(row: Mapping[str, Any]) -> list[str]:
    """The numbers of an imported recording, for one line."""
    from longhaul.orchestrator.system.units import format_rate

    found = []
    if row["format"] == LOSSES:
        found.append(f"{row['packets']} packets")
    else:
        found.append(f"{row['length_s']:g} s")
    if row.get("mean_bps") is not None:
        found.append(f"mean {format_rate(float(row['mean_bps']))}")
    if row.get("delay_ms"):
        found.append(f"mean delay {row['delay_ms']['mean']:.4g} ms")
    if row["loss"] is not None:
        found.append(f"loss {_share(row['loss'])}")
    if row["format"] != format_of(Path(row["name"])):
        found.append(f"beside it in the experiment: `format: {row['format']}`")
    return found


def summary_rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The names and values of the summary."""
    from longhaul.orchestrator.system.units import format_rate

    rows = [("recording", visible(found["file"])), ("format", found["format"])]
    if found["format"] == LOSSES:
        rows.append(("length", f"{found['packets']} packets"))
    else:
        rows.append(("length", f"{found['length_s']:g} s"))
    if found.get("mean_bps") is not None:
        outages = found["outages"]
        mean, highest = (format_rate(float(found[name])) for name in ("mean_bps", "highest_bps"))
        # Opportunities have no rate at an instant.
        highest += " over 0.1 s" if found["format"] == MAHIMAHI else ""
        longest = (
            f", the longest {outages['longest_s']:g} s, together {outages['total_s']:g} s" if outages["count"] else ""
        )
        rows += [("capacity", f"mean {mean}, highest {highest}"), ("outages", f"{outages['count'] or 'none'}{longest}")]
    if found.get("delay_ms"):
        rows.append(("delay", ", ".join(f"{name} {ms:.4g} ms" for name, ms in found["delay_ms"].items())))
    if found["loss"] is not None:
        rows.append(("loss", _share(found["loss"])))
    return rows


def _share(share: float) -> str:
    from longhaul.orchestrator.system.units import format_share

    return format_share(float(f"{share:.3g}"))


def _panels(shown: Mapping[str, Any]) -> list[Panel]:
    """The shown part over seconds from its begin; outages only where there are any."""
    import numpy as np

    from longhaul.orchestrator.analysis.panels import Panel, Series

    length_s = shown["to_s"] - shown["from_s"]
    panels = []
    for name, title, unit, a_unit in (
        ("rate_bps", "Capacity", "Mbit/s", 1e6),
        ("delay_ms", "Delay", "ms", 1.0),
        ("loss", "Loss", "% of packets", 0.01),
        ("outage", "Outages", "% of the time", 0.01),
    ):
        if name in shown and (name != "outage" or any(shown[name])):
            values = np.array(shown[name]) / a_unit
            begins_s = np.arange(len(values)) * shown["every_s"]
            # A value holds until the end of its interval.
            ends_s = np.minimum(begins_s + shown["every_s"], length_s)
            x_s = np.column_stack([begins_s, ends_s]).ravel()
            panels.append(Panel(title, unit, [Series(title.lower(), x_s, np.repeat(values, 2))]))
    return panels


def _part(found: Mapping[str, Any]) -> str:
    shown = found["shown"]
    return f"{shown['from_s']:g} s to {shown['to_s']:g} s of {found['length_s']:g} s, means over {shown['every_s']:g} s"


def print_charts(found: Mapping[str, Any]) -> None:
    """Print charts of the shown part."""
    from longhaul.cli.terminal.console import results_console
    from longhaul.orchestrator.analysis.report.chart import panel_charts

    console, shown = results_console(), found["shown"]
    colour = console.color_system is not None
    length_s = shown["to_s"] - shown["from_s"]
    print(f"shown      {_part(found)}\n")
    console.print(panel_charts(_panels(shown), length_s, chart_columns(console), colour=colour), highlight=False)


def draw(found: Mapping[str, Any], output: Path) -> None:
    """The panels over the time of the recording, as SVG or PNG."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.orchestrator.analysis.figures.canvas import line_style, new_figure, style, to_file
    from longhaul.orchestrator.system.files import write_whole

    if "shown" not in found:
        what, hint = "a pattern of losses has no times", "leave out -o"
        raise PlanError("drawing the recording", found["file"], what, hint)
    shown, panels = found["shown"], _panels(found["shown"])
    with style():
        figure = new_figure(_WIDTH_IN, _HEAD_IN + _PANEL_IN * len(panels))
        figure.suptitle(f"{Path(found['file']).name[:80]}: {_part(found)}", fontsize=11)
        rows = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
        for axes, panel in zip(rows, panels, strict=True):
            for series in panel.series:
                axes.plot(shown["from_s"] + series.x_s, series.y, color=line_style(0)[0], linewidth=0.9)
            axes.set_xlim(shown["from_s"], shown["to_s"])
            axes.set_ylim(bottom=0)
            axes.set_ylabel(f"{panel.title}\n{panel.unit}")
        rows[-1].set_xlabel("time, s")
        figure.align_ylabels(list(rows))
        content = to_file(figure, output.suffix[1:].lower())
    write_whole(output, content)
    print_written(output)
