"""`longhaul bisect`: the commit, patch or change of a module that made an experiment behave otherwise."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import (
    ExperimentArgument,
    JobsOption,
    JsonOption,
    RepeatsOption,
    SeedOption,
    SetOption,
)
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_MISSED
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.results.bisection import Bisection

app = verb_app()


@dataclass(frozen=True)
class BisectOptions:
    """The options of `longhaul bisect`."""

    experiment: ExperimentArgument
    tree: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="A Git repository of Linux, whose commits are bisected; its work tree is left alone."
        ),
    ] = None
    module: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="A folder of the experiment's `modules` in a Git repository, whose commits are bisected.",
        ),
    ] = None
    patches: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="A folder of patches, in the order of their names: which of them is it?"),
    ] = None
    base: Annotated[str, typer.Option(metavar="VERSION", help="The kernel that --patches are for.")] = "6.12"
    good: Annotated[str, typer.Option(metavar="REV", help="A revision without the change.")] = ""
    bad: Annotated[str, typer.Option(metavar="REV", help="A later revision with it.")] = ""
    config: Annotated[
        list[str] | None, typer.Option(metavar="LINE", help="A line of configuration more, as in CONFIG_NET_SCH_ETF=m.")
    ] = None
    measure: Annotated[
        str | None,
        typer.Option(metavar="MEASURE", help="Judge by a measure, as in goodput(app), instead of by `expect`."),
    ] = None
    flow: Annotated[str | None, typer.Option(help="The flow of the measure.")] = None
    changes: SetOption = None
    seed: SeedOption = None
    repeats: RepeatsOption = None
    jobs: JobsOption = None
    fresh: Annotated[bool, typer.Option("--fresh", help="Judge steps again that an earlier try has judged.")] = False
    report: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write the runs of the change and of the step before as a report: .html, .svg or .png."
        ),
    ] = None
    as_json: JsonOption = False


@command(app)
def bisect(options: BisectOptions) -> int:
    """Find the commit, the patch or the change of a module that made an experiment behave otherwise; exit code 1 if several are left."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.cli.terminal.output import Files, write_report
    from longhaul.cli.terminal.progress import plan_progress
    from longhaul.laboratory import bisections
    from longhaul.laboratory.kept_runs import kept_run
    from longhaul.orchestrator.system.errors import PlanError

    Files(report=options.report).check()
    patches: list[Path] = []
    if options.patches is not None:
        patches = sorted(options.patches.glob("*.patch"))
        if not patches:
            raise PlanError("bisecting", str(options.patches), "there is no *.patch in it", "name a folder of patches")
    found = bisections.bisect(
        options.experiment, tree=options.tree, module=options.module, good=options.good, bad=options.bad, patches=patches,
        base=options.base, config=options.config or [], measure=options.measure, flow=options.flow, set=options.changes or [],
        seed=options.seed, repeats=options.repeats, jobs=options.jobs, fresh=options.fresh,
        watcher=partial(plan_progress, quiet=True), report=partial(typer.echo, err=True),
    )  # fmt: skip
    if options.report is not None and found.found and found.before:
        write_report([kept_run(step["runs"][0]) for step in (found.before, found.found)], options.report)
    if options.as_json:
        print(json.dumps(found.document))
    else:
        _print_found(found)
        print_written(options.report if found.found else None)
    return EXIT_DONE if found.found else EXIT_MISSED


def _print_found(bisection: Bisection) -> None:
    from longhaul.cli.terminal.console import plain_table, results_console

    results_console().print(plain_table(bisection.table()))
    found, before = bisection.found, bisection.before
    if found is None:
        print("the change is one of these, because the others of them could not be judged:")
        for suspect in bisection.suspects:
            print(f"  {suspect}")
        return
    print(f"the first with the change: {found['what']}")
    for name, step in (("with it", found), ("before it", before)):
        if step is not None:
            values = ", ".join(f"{value:.6g}" for value in step["values"])
            judged = (
                f"{bisection['measure']} {values}"
                if values
                else "misses `expect`"
                if step["verdict"] == "bad"
                else "meets `expect`"
            )
            print(f"{name}: {judged}; runs {', '.join(step['runs'])}")
