"""`longhaul report`: kept runs as a page or a chart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import RunsArgument
from longhaul.cli.terminal.output import write_report
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class ReportOptions:
    """The options of `longhaul report`."""

    runs: RunsArgument
    output: Annotated[Path, typer.Option("--output", "-o", help="The file to write: .html, .svg or .png.")] = Path(
        "report.html"
    )


@command(app)
def report(options: ReportOptions) -> None:
    """Write a report of kept runs."""
    from longhaul.laboratory.kept_runs import kept_run

    with in_words(f"drawing {options.output}"):
        write_report([kept_run(run) for run in options.runs], options.output)
