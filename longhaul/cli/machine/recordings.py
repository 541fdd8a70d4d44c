"""`longhaul recordings`: recordings of links, imported, listed, shown, made of measurements, generated."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.machine.recording_texts import draw, in_short, print_charts, summary_rows
from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import show_rows
from longhaul.cli.terminal.service_options import TOKEN_ENV, ServerOption, TokenEnvOption, open_client, server_of
from longhaul.orchestrator.recorded_links.formats import FORMATS
from longhaul.orchestrator.system.errors import PlanError, nearest, visible
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.client import Client

app = group_app("Recordings of links: their capacity, delay and losses over time, for `recording:` of an experiment.")

_PICTURES = (".svg", ".png")

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
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app, "import")
def import_files(options: ImportOptions) -> None:
    """Copy recordings into the cache under the hash of their content, and print the reference that `recording: {file: ...}` takes. With --server, send them to the service."""
    from longhaul.laboratory.recordings import import_recording

    kind, columns = _format(options.format), _columns(options.columns)
    rows = []
    with _service(options) as client:
        send = import_recording if client is None else partial(_sent, client)
        for file in options.files:
            with in_words(f"reading {visible(file)}"):
                rows.append(send(file, format=kind, columns=columns, step=options.step))
            if not options.as_json:
                print(f"{rows[-1]['reference']}  {visible(rows[-1]['name'])}  {', '.join(in_short(rows[-1]))}")
    if options.as_json:
        print(json.dumps(rows))


@contextmanager
def _service(options: ImportOptions | ListOptions | RemoveOptions | ShowOptions) -> Iterator[Client | None]:
    """The client of the service that is named, if one is."""
    server = server_of(options.server)
    if not server:
        yield None
        return
    with open_client(server, options.token_env) as client:
        yield client


def _sent(client: Client, file: str, **how: Any) -> dict[str, Any]:
    return client.send_recording(Path(file), **how).model_dump(mode="json")


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul recordings list`."""

    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app, "list")
def list_recordings(options: ListOptions) -> None:
    """List the imported recordings: names, references, sizes."""
    from longhaul.laboratory.recordings import recordings
    from longhaul.orchestrator.system.units import format_size

    with _service(options) as client:
        rows = recordings() if client is None else [one.model_dump(mode="json") for one in client.recordings()]
    shown = [{"name": row["name"], "reference": row["reference"], "size": format_size(row["bytes"])} for row in rows]
    show_rows("recordings", rows, shown, as_json=options.as_json)


@dataclass(frozen=True)
class RemoveOptions:
    """The options of `longhaul recordings remove`."""

    references: Annotated[
        list[str], typer.Argument(metavar="REFERENCE...", help="sha256:HASH, as `longhaul recordings list` prints it.")
    ]
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV


@command(app, "remove")
def remove(options: RemoveOptions) -> None:
    """Remove imported recordings. Runs that replayed them remain; experiments that name them are refused until they are imported again."""
    from longhaul.laboratory.recordings import remove_recording

    with _service(options) as client:
        forget = remove_recording if client is None else client.delete_recording
        for reference in options.references:
            forget(reference)
            print(f"removed {visible(reference)}")


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
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app)
def show(options: ShowOptions) -> None:
    """Show a recording: length, rates, outages, delays and losses, and charts of a part of it, over whose intervals values are means."""
    from longhaul.laboratory.recordings import describe_recording
    from longhaul.orchestrator.spec.recordings import is_imported
    from longhaul.orchestrator.system.files import check_places

    if options.output is not None:
        from longhaul.orchestrator.system.extras import need

        if options.output.suffix.lower() not in _PICTURES:
            what, hint = "its name ends in neither .svg nor .png", "name such a file"
            raise PlanError("drawing the recording in", str(options.output), what, hint)
        need("figures")
        check_places(options.output)
    with in_words(f"reading {visible(options.file)}"), _service(options) as client:
        # A file is one of this machine, also where a service has recordings.
        read = describe_recording if client is None or not is_imported(options.file) else partial(_shown, client)
        found = read(
            options.file, format=_format(options.format), columns=_columns(options.columns), step=options.step,
            begin=options.begin, length=options.length,
        )  # fmt: skip
    if options.output is not None:
        draw(found, options.output)
    if options.as_json:
        print(json.dumps(found))
        return
    width = max(map(len, rows := dict(summary_rows(found))))
    for name, value in rows.items():
        print(f"{name:{width}}  {value}")
    if options.output is None and "shown" in found:
        print_charts(found)


def _shown(client: Client, reference: str, **how: Any) -> dict[str, Any]:
    found = client.recording(reference, **how).model_dump(mode="json", exclude_none=True)
    return {"loss": None, **found}


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
