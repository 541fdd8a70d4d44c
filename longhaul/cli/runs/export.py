"""`longhaul export`: a kept run for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import RunArgument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


class ExportFormat(StrEnum):
    """The formats."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    prometheus = "prometheus"
    openmetrics = "openmetrics"
    pcapng = "pcapng"
    tcptrace = "tcptrace"
    iperf3 = "iperf3"
    flent = "flent"
    qlog = "qlog"


PACKETS = (ExportFormat.pcapng, ExportFormat.tcptrace)


@dataclass(frozen=True)
class ExportOptions:
    """The options of `longhaul export`."""

    run: RunArgument
    to: Annotated[
        ExportFormat,
        typer.Option(
            "--to", help="The format: tables, samples, packets (pcapng, tcptrace), or the file of another tool."
        ),
    ] = ExportFormat.csv
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="The folder to write into, ./<run> by default; for openmetrics and pcapng, the file."
        ),
    ] = None
    at: Annotated[
        list[str] | None,
        typer.Option("--at", help="Where packets are captured: bottleneck, a host, a link as in s1-s2, or all."),
    ] = None
    snap: Annotated[int | None, typer.Option("--snap", help="Bytes of each packet; its headers by default.")] = None
    flow: Annotated[list[str] | None, typer.Option("--flow", help="Only packets of this flow.")] = None


@command(app)
def export(options: ExportOptions) -> None:
    """Export a kept run: its trace as tables, its samples, its packets, or as iperf3, flent or qlog would have written it."""
    from longhaul.orchestrator.system.errors import SpecError

    asked = [f"--{name}" for name in ("at", "snap", "flow") if getattr(options, name)]
    if asked and options.to not in PACKETS:
        raise SpecError(asked[0], [f"it chooses packets, and --to {options.to.value} has none; use --to pcapng"])
    with in_words(f"exporting {options.run}"):
        if options.to in PACKETS:
            from longhaul.laboratory.packets import export_packets

            files = export_packets(
                options.run, options.to.value, options.output, at=options.at, snap=options.snap, flows=options.flow
            )
            for file in files:
                print(file)
        else:
            from longhaul.orchestrator.live.export_run import export_run

            export_run(options.run, options.to.value, options.output)
