"""`longhaul list`: the names that an experiment may use, kept runs, hosts."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import show_rows
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


class Noun(StrEnum):
    """The lists."""

    experiments = "experiments"
    topologies = "topologies"
    modules = "modules"
    presets = "presets"
    measures = "measures"
    series = "series"
    backends = "backends"
    published = "published"
    runs = "runs"
    hosts = "hosts"


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul list`."""

    noun: Annotated[Noun, typer.Argument(help="What to list.")] = Noun.experiments
    as_json: JsonOption = False
    limit: Annotated[int, typer.Option(min=1, help="At most this many runs.")] = 50
    find: Annotated[
        str,
        typer.Option(metavar="TEXT", help="Only runs with all these words, as in 'cubic rtt=300ms'."),
    ] = ""
    sort: Annotated[
        str,
        typer.Option(
            metavar="ORDER",
            help="newest, oldest, a column or a swept field of runs, as in goodput or point.path.rtt; with a minus the largest first.",
        ),
    ] = "newest"
    group: Annotated[
        bool, typer.Option("--group", help="One row for each experiment, with the means of its runs' results.")
    ] = False
    as_csv: Annotated[bool, typer.Option("--csv", help="Print all runs that match as CSV, whatever --limit says.")] = (
        False
    )
    columns: Annotated[
        str, typer.Option(metavar="NAME,...", help="The columns of --csv, as in goodput,rtt; all without it.")
    ] = ""


@command(app, "list")
def list_(options: ListOptions) -> None:
    """List experiments, topologies, modules, presets, measures, series, backends, published values, kept runs or hosts."""
    if options.noun is not Noun.runs and (
        options.find or options.group or options.as_csv or options.columns or options.sort != "newest"
    ):
        from longhaul.orchestrator.system.errors import PlanError

        what = "--find, --sort, --group, --csv and --columns are for kept runs"
        raise PlanError("listing", options.noun.value, what, "leave them out, or use `longhaul list runs`")
    if options.noun is Noun.hosts:
        from longhaul.cli.machine.hosts import show_hosts

        show_hosts(as_json=options.as_json)
    elif options.noun is Noun.runs:
        from longhaul.laboratory.kept_runs import kept_run_groups, kept_run_lines, kept_runs
        from longhaul.orchestrator.execution import run_rows

        if options.group and options.as_csv:
            from longhaul.orchestrator.system.errors import PlanError

            raise PlanError("listing", "runs", "--group and --csv exclude each other", "leave one of them out")
        if options.as_csv:
            for lines in kept_run_lines(options.columns, sort=options.sort, text=options.find):
                print(lines, end="")
            return
        if options.group:
            groups = kept_run_groups(options.limit, sort=options.sort, text=options.find)
            show_rows("groups of runs", groups, run_rows.kept_run_groups(groups), as_json=options.as_json)
            return
        rows = kept_runs(options.limit, sort=options.sort, text=options.find)
        show_rows("runs", rows, run_rows.kept_runs(rows), as_json=options.as_json)
    else:
        from longhaul.orchestrator.execution.catalogues import CATALOGUES

        rows = CATALOGUES[options.noun.value]()
        show_rows(options.noun.value, rows, rows, as_json=options.as_json)
