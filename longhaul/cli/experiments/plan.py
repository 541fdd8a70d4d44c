"""`longhaul plan`: every resolved number of an experiment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import ExperimentOptions, JsonOption
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.results.plan import Plan

app = verb_app()


@dataclass(frozen=True)
class PlanOptions(ExperimentOptions):
    """The options of `longhaul plan`."""

    picture: Annotated[Path | None, typer.Option(help="Draw the topology as this SVG file.")] = None
    as_json: JsonOption = False


@command(app)
def plan(options: PlanOptions) -> None:
    """Show the resolved plan: topology, every number, the place of each impairment, cost, lint."""
    found = plan_of(options)
    if options.picture is not None:
        found.picture(options.picture)
    if not options.as_json:
        print(found)
        return
    for part in found.json_parts():
        print(part, end="")
    print()


def plan_of(options: ExperimentOptions) -> Plan:
    """Compile the runs of these options."""
    from longhaul.laboratory import experiments

    return experiments.plan(
        options.experiment, set=options.changes or [], seed=options.seed, repeats=options.repeats,
        backend=options.backend, where=options.where, clock=options.clock, hosts=options.host_names,
    )  # fmt: skip
