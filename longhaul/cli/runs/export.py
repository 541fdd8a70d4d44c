"""`longhaul export`: a kept run for other programs."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import RunArgument

app = verb_app()


class ExportFormat(StrEnum):
    """The formats."""

    csv = "csv"
    parquet = "parquet"
    json = "json"
    prometheus = "prometheus"
    openmetrics = "openmetrics"


@dataclass(frozen=True)
class ExportOptions:
    """The options of `longhaul export`."""

    run: RunArgument
    to: Annotated[ExportFormat, typer.Option("--to", help="The format.")] = ExportFormat.csv
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="The folder to write into, ./<run> by default; for openmetrics, the file."),
    ] = None


@command(app)
def export(options: ExportOptions) -> None:
    """Export a kept run's trace, or the samples that are streamed while it runs: to Prometheus or as OpenMetrics."""
    from longhaul.orchestrator.live.export_run import export_run

    with in_words(f"exporting {options.run}"):
        export_run(options.run, options.to.value, options.output)
