"""`longhaul recordings`: recordings of links, imported, listed, shown, made of measurements, generated."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import chart_columns, show_rows
from longhaul.orchestrator.recorded_links.formats import FORMATS, LOSSES, MAHIMAHI, format_of
from longhaul.orchestrator.system.errors import PlanError, nearest, visible

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.panels import Panel

app = group_app("Recordings of links: their capacity, delay and losses over time, for `recording:` of an experiment.")

_PICTURES = (".svg", ".png")
# Inches of a figure.
_WIDTH_IN, _PANEL_IN, _HEAD_IN = 9.0, 1.5, 0.8

FormatOption = Annotated[
    str | None,
    typer.Option(
        metavar="FORMAT",
        help=f"{', '.join(FORMATS)}; by default table for .csv and .parquet, mahimahi for other files.",
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--columns",
        metavar="KIND=COLUMN",
        help='A column of a table, as in rate="dl in Mbit/s"; time, rate, delay or loss.',
    ),
]
StepOption = Annotated[
    str | None, typer.Option(metavar="TIME", help="How long each row of a table without times lasts, as in 1s.")
]


def _columns(written: Sequence[str] | None) -> dict[str, str]:
    pairs = [text.partition("=") for text in written or ()]
    if wrong := next((name for name, _, column in pairs if not name or not column), None):
        hint = 'for example --columns rate="dl in Mbit/s"'
        raise PlanError("reading --columns", wrong, "it has no KIND=COLUMN", hint)
    return {name: column for name, _, column in pairs}


def _format(written: str | None) -> str | None:
    if written is not None and written not in FORMATS:
        hint = f"known: {', '.join(FORMATS)}{nearest(written, FORMATS)}"
        raise PlanError("reading --format", written, "there is no format of this name", hint)
    return written


@dataclass(frozen=True)
class ImportOptions:
    """The options of `longhaul recordings import`."""

    files: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files in a format of recordings.")]
    format: FormatOption = None
    columns: ColumnsOption = None
    step: StepOption = None
    as_json: JsonOption = False


@command(app, "import")
def import_files(options: ImportOptions) -> None:
    """Copy recordings into the cache under the hash of their content, and print the reference that `recording: {file: ...}` takes."""
    from longhaul.laboratory.recordings import import_recording

    kind, columns = _format(options.format), _columns(options.columns)
    rows = []
    for file in options.files:
        with in_words(f"reading {visible(file)}"):
            rows.append(import_recording(file, format=kind, columns=columns, step=options.step))
        if not options.as_json:
            print(f"{rows[-1]['reference']}  {visible(rows[-1]['name'])}  {', '.join(_in_short(rows[-1]))}")
    if options.as_json:
        print(json.dumps(rows))


def _in_short(row: Mapping[str, Any]) -> list[str]:
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


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul recordings list`."""

    as_json: JsonOption = False


@command(app, "list")
def list_recordings(options: ListOptions) -> None:
    """List the imported recordings: names, references, sizes."""
    from longhaul.laboratory.recordings import recordings
    from longhaul.orchestrator.system.units import format_size

    rows = recordings()
    shown = [{"name": row["name"], "reference": row["reference"], "size": format_size(row["bytes"])} for row in rows]
    show_rows("recordings", rows, shown, as_json=options.as_json)


@dataclass(frozen=True)
class ShowOptions:
    """The options of `longhaul recordings show`."""

    file: Annotated[str, typer.Argument(metavar="FILE", help="A file, or sha256:HASH of an imported recording.")]
    format: FormatOption = None
    columns: ColumnsOption = None
    step: StepOption = None
    begin: Annotated[str, typer.Option("--from", metavar="TIME", help="Where the shown part begins, as in 90s.")] = "0s"
    length: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="How long it is; by default the rest, at most an hour.")
    ] = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Draw the part into this file, .svg or .png, instead.")
    ] = None
    as_json: JsonOption = False


@command(app)
def show(options: ShowOptions) -> None:
    """Show a recording: length, rates, outages, delays and losses, and charts of a part of it, over whose intervals values are means."""
    from longhaul.laboratory.recordings import describe_recording
    from longhaul.orchestrator.system.files import check_places

    if options.output is not None:
        from longhaul.orchestrator.system.extras import need

        if options.output.suffix.lower() not in _PICTURES:
            what, hint = "its name ends in neither .svg nor .png", "name such a file"
            raise PlanError("drawing the recording in", str(options.output), what, hint)
        need("figures")
        check_places(options.output)
    with in_words(f"reading {visible(options.file)}"):
        found = describe_recording(
            options.file, format=_format(options.format), columns=_columns(options.columns), step=options.step,
            begin=options.begin, length=options.length,
        )  # fmt: skip
    if options.output is not None:
        _draw(found, options.output)
    if options.as_json:
        print(json.dumps(found))
        return
    width = max(map(len, rows := dict(_rows(found))))
    for name, value in rows.items():
        print(f"{name:{width}}  {value}")
    if options.output is None and "shown" in found:
        _print_charts(found)


def _rows(found: Mapping[str, Any]) -> list[tuple[str, str]]:
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


def _print_charts(found: Mapping[str, Any]) -> None:
    from longhaul.cli.terminal.console import results_console
    from longhaul.orchestrator.analysis.report.chart import panel_charts

    console, shown = results_console(), found["shown"]
    colour = console.color_system is not None
    length_s = shown["to_s"] - shown["from_s"]
    print(f"shown      {_part(found)}\n")
    console.print(panel_charts(_panels(shown), length_s, chart_columns(console), colour=colour), highlight=False)


def _draw(found: Mapping[str, Any], output: Path) -> None:
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


@dataclass(frozen=True)
class ConvertOptions:
    """The options of `longhaul recordings convert`."""

    source: Annotated[
        str,
        typer.Argument(
            metavar="SOURCE",
            help="A packet capture, the output of iperf3 -J, flent's data, a kept run, the output of `longhaul hosts measure --json`, "
            "or a recording of the other format.",
        ),
    ]
    output: Annotated[
        Path, typer.Argument(metavar="OUT", help="The file to write: .csv, or .mahi for mahimahi's format.")
    ]
    every: Annotated[
        str | None, typer.Option(metavar="TIME", help="The interval of the rates of a .csv file; 100 ms by default.")
    ] = None
    flow: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Only the transfers whose name contains this; by default the sum of all."),
    ] = None
    link: Annotated[
        str | None, typer.Option(metavar="NAME", help="The link of a kept run; the first bottleneck by default.")
    ] = None
    columns: ColumnsOption = None
    step: StepOption = None


@command(app)
def convert(options: ConvertOptions) -> None:
    """Make a recording of a measurement, from the bytes that arrived in each interval. The rate that a transfer reached is the capacity of its path only while it filled the path."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.laboratory.recordings import convert_recording

    notes: list[str] = []
    with in_words(f"converting {visible(options.source)}"):
        convert_recording(
            options.source, options.output, every=options.every, flow=options.flow, link=options.link,
            columns=_columns(options.columns), step=options.step, report=notes.append,
        )  # fmt: skip
    for note in notes:
        print(f"note: {visible(note)}", file=sys.stderr)
    print_written(options.output)


def _generators(begun: str) -> list[str]:
    """Names for the shell's completion."""
    from longhaul.orchestrator.recorded_links.generators import GENERATORS

    return [name for name in GENERATORS if name.startswith(begun)]


@dataclass(frozen=True)
class GenerateOptions:
    """The options of `longhaul recordings generate`."""

    name: Annotated[
        str, typer.Argument(metavar="MODEL", help="lte or leo, a satellite in low orbit.", autocompletion=_generators)
    ]
    output: Annotated[
        Path | None, typer.Argument(metavar="OUT", help="The file to write: .mahi for lte, .csv for leo.")
    ] = None
    length: Annotated[str, typer.Option(metavar="TIME", help="How long the recording is.")] = "60s"
    seed: Annotated[int, typer.Option(min=0, help="The seed of all random choices.")] = 1
    changes: Annotated[
        list[str] | None, typer.Option("--set", metavar="PARAMETER=NUMBER", help="A parameter, as in snr_db=15.")
    ] = None
    listing: Annotated[bool, typer.Option("--list", help="List the parameters instead: defaults and ranges.")] = False
    as_json: JsonOption = False


@command(app, "generate")
def generate_file(options: GenerateOptions) -> None:
    """Generate a recording from a published model, instead of a measured one; `--list` lists the model's parameters."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.laboratory.recordings import generate_recording
    from longhaul.orchestrator.recorded_links.generators import GENERATORS

    attempting = "generating a recording"
    if options.name not in GENERATORS:
        hint = f"known: {', '.join(GENERATORS)}{nearest(options.name, GENERATORS)}"
        raise PlanError(attempting, options.name, "there is no model of this name", hint)
    if options.listing:
        rows = [
            {"parameter": one.name, "default": one.default, **one.metadata}
            for one in fields(GENERATORS[options.name].parameters)
        ]
        show_rows("parameters", rows, rows, as_json=options.as_json)
        return
    if options.output is None:
        raise PlanError(attempting, options.name, "no file is named", "name one, or list the parameters with --list")
    parameters = dict(_parameter(text) for text in options.changes or ())
    with in_words("generating the recording"):
        generate_recording(
            options.name, options.output, length=options.length, seed=options.seed, parameters=parameters
        )
    if options.as_json:
        print(json.dumps({"file": str(options.output)}))
    print_written(options.output)


def _parameter(written: str) -> tuple[str, float]:
    name, _, value = written.partition("=")
    try:
        return name.strip(), float(value)
    except ValueError:
        hint = "for example --set snr_db=15"
        raise PlanError("reading --set", written, "it has no PARAMETER=NUMBER", hint) from None
