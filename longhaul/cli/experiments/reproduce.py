"""`longhaul reproduce`: run a paper's experiments and compare its published values with the measured ones."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JobsOption, JsonOption, NoCacheOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_FAILED, EXIT_MISSED
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from rich.table import Table

    from longhaul.laboratory.reproductions import Reproduced
    from longhaul.orchestrator.papers.verdicts import Verdict

app = verb_app()


@dataclass(frozen=True)
class ReproduceOptions:
    """The options of `longhaul reproduce`."""

    target: Annotated[
        str | None,
        typer.Argument(metavar="[PAPER[/FIGURE]]", help="A paper or one of its figures; every paper by default."),
    ] = None
    quick: Annotated[bool, typer.Option("--quick", help="Run the fewest points that give all verdicts.")] = False
    jobs: JobsOption = None
    as_json: JsonOption = False
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Also write the documents and a page for each paper into this folder."),
    ] = None
    no_cache: NoCacheOption = False


@command(app)
def reproduce(options: ReproduceOptions) -> int:
    """Run a paper's experiments and compare the published values with the measured ones; exit code 1 if a gating claim differs."""
    from longhaul.cli.terminal.progress import shown_progress
    from longhaul.laboratory import reproductions
    from longhaul.orchestrator.system.extras import need

    if options.output is not None:
        # The pages have figures.
        need("figures")
    use_cache = not options.no_cache
    progress = partial(shown_progress, options.target or "all", quiet=options.as_json, use_cache=use_cache)
    found = reproductions.reproduce(
        options.target, quick=options.quick, jobs=options.jobs, cache=use_cache, watcher=progress
    )
    if options.as_json:
        print(json.dumps(found.document))
    else:
        _print(found)
    if options.output is not None:
        found.write(options.output)
    if any(run["status"] == "failed" for run in found["runs"]):
        return EXIT_FAILED
    return EXIT_DONE if found.ok else EXIT_MISSED


def _print(found: Reproduced) -> None:
    from longhaul.cli.terminal.console import results_console
    from longhaul.orchestrator.papers.reproduction import verdict_line

    console = results_console()
    for paper, verdicts in found.judged.items():
        console.print(_verdict_table(paper, verdicts))
        for one in verdicts:
            if one.why:
                console.print(f"{one.figure} {one.claim}: {one.why}", highlight=False, markup=False)
        console.print(verdict_line(verdicts), highlight=False)


def _verdict_table(paper: str, verdicts: Sequence[Verdict]) -> Table:
    """One line for each published claim."""
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    from longhaul.orchestrator.papers.reproduction import outcome

    table = Table(title=None, header_style="bold", pad_edge=False, box=None)
    for column in ("figure", "claim", "class", "published", "measured", "verdict", "gates"):
        table.add_column(column)
    for one in verdicts:
        style = {"agrees": "green", "differs": "red" if one.gate else "yellow"}.get(one.verdict, "")
        table.add_row(
            *(escape(cell) for cell in (f"{paper}/{one.figure}", one.claim, one.grade, one.published, one.measured)),
            Text(outcome(one), style),
            "yes" if one.gate else "",
        )
    return table
