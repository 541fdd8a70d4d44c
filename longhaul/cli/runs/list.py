"""`longhaul list`: the names that an experiment may use, kept runs, hosts."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import show_rows

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
    limit: Annotated[int, typer.Option(min=1, help="At most this many runs, newest first.")] = 50


@command(app, "list")
def list_(options: ListOptions) -> None:
    """List experiments, topologies, modules, presets, measures, series, backends, published values, kept runs or hosts."""
    if options.noun is Noun.hosts:
        from longhaul.cli.machine.hosts import show_hosts

        show_hosts(as_json=options.as_json)
    elif options.noun is Noun.runs:
        from longhaul.laboratory.kept_runs import kept_runs
        from longhaul.orchestrator.execution.run_rows import kept_runs as as_rows

        rows = kept_runs(options.limit)
        show_rows("runs", rows, as_rows(rows), as_json=options.as_json)
    else:
        from longhaul.orchestrator.execution.catalogues import CATALOGUES

        rows = CATALOGUES[options.noun.value]()
        show_rows(options.noun.value, rows, rows, as_json=options.as_json)
