"""`longhaul tune`: the parameters of a congestion control that maximise an objective."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import (
    ConfirmOption,
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
    from longhaul.orchestrator.analysis.search.tuning import Tuned

app = verb_app()

# How many of the best candidates a table shows.
_SHOWN = 20


@dataclass(frozen=True)
class TuneOptions:
    """The options of `longhaul tune`."""

    experiment: ExperimentArgument
    objective: Annotated[
        str,
        typer.Option(
            "--for", metavar="OBJECTIVE", help="The objective to maximise, as in goodput(app)/1e6 - queue_mean."
        ),
    ]
    params: Annotated[
        list[str],
        typer.Option(
            "--param", metavar="FLOW.NAME=VALUES", help="A parameter with its values 1,2,4 or its range 1..16."
        ),
    ]
    sampler: Annotated[str, typer.Option(help="The search method: grid, tpe, random or cmaes.")] = "grid"
    trials: Annotated[int, typer.Option(min=1, help="Candidates that a sampler tries; a grid tries all.")] = 40
    over: Annotated[str, typer.Option(help="How to combine the points of a sweep: mean or worst.")] = "mean"
    confirm: ConfirmOption = 5
    changes: SetOption = None
    seed: SeedOption = None
    repeats: RepeatsOption = None
    jobs: JobsOption = None
    output: Annotated[Path | None, typer.Option("--output", "-o", help="Write the tuned experiment as YAML.")] = None
    heat_map: Annotated[Path | None, typer.Option(help="Draw the surface of two parameters as SVG.")] = None
    as_json: JsonOption = False


@command(app)
def tune(options: TuneOptions) -> int:
    """Search for the module parameters that maximise an objective and confirm the best on fresh seeds; exit code 1 if they are not better."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.cli.terminal.progress import plan_progress
    from longhaul.laboratory import searches
    from longhaul.orchestrator.spec.yaml_text import document_text
    from longhaul.orchestrator.system.extras import need
    from longhaul.orchestrator.system.files import check_places, write_whole

    check_places(options.output, options.heat_map)
    if options.heat_map is not None:
        need("figures")
    found = searches.tune(
        options.experiment, options.params, options.objective, sampler=options.sampler, trials=options.trials,
        over=options.over, confirm=options.confirm, set=options.changes or [], seed=options.seed,
        repeats=options.repeats, jobs=options.jobs, watcher=partial(plan_progress, quiet=options.as_json),
    )  # fmt: skip
    tuned = found.details
    if options.output is not None:
        remarks = ["By `longhaul tune`:", *_verdict(tuned, found.objective, found.over)]
        write_whole(options.output, document_text(tuned.experiment, remarks))
    if options.heat_map is not None and found.surface is not None:
        from longhaul.orchestrator.analysis.search.surface import as_svg

        write_whole(options.heat_map, as_svg(found.surface, f"{found['experiment']}: {found.objective}"))
    if options.as_json:
        print(json.dumps(found.document))
    else:
        _print_tuned(tuned, found.objective, found.over, found.surface)
        print_written(options.output, options.heat_map if found.surface is not None else None)
    return EXIT_DONE if found.confirmed else EXIT_MISSED


def _print_tuned(tuned: Tuned, objective: str, over: str, surface: Any) -> None:
    from longhaul.cli.terminal.console import plain_table, results_console

    console = results_console()
    worked = sorted((one for one in tuned.trials if one.value is not None), key=lambda one: -(one.value or 0.0))
    rows = []
    for trial in [tuned.untuned, *worked[:_SHOWN]]:
        row: dict[str, Any] = {name: trial.params.get(name, "as written") for name in tuned.best.params}
        if len(tuned.places) > 1:
            row |= {", ".join(place.values()): value for place, value in zip(tuned.places, trial.points, strict=True)}
        rows.append(row | {objective if len(tuned.places) == 1 else over: trial.value})
    console.print(plain_table(rows))
    if len(worked) > _SHOWN:
        print(f"and {len(worked) - _SHOWN} more")
    for trial in tuned.trials:
        if trial.fault:
            print(f"{_settings(trial.params)}: {trial.fault}")
    if surface is not None:
        from longhaul.orchestrator.analysis.search.surface import as_text

        print(f"\n{as_text(surface)}\n")
    for line in _verdict(tuned, objective, over):
        print(line)


def _verdict(tuned: Tuned, objective: str, over: str) -> list[str]:
    confirmation = tuned.confirmation
    if confirmation is None:
        return [f"no candidate is better than the experiment as written ({tuned.untuned.value:.6g})"]
    seeds = f"{len(confirmation.seeds)} fresh seeds ({confirmation.seeds[0]} to {confirmation.seeds[-1]})"
    whole = f"{objective}{f', {over} of {len(tuned.places)} points' if len(tuned.places) > 1 else ''}"
    return [
        f"best: {_settings(tuned.best.params)}",
        f"on {seeds}, {whole}: {confirmation.untuned:.6g} as written, {confirmation.tuned:.6g} tuned",
        f"difference {confirmation.difference:.6g} ({confirmation.low:.6g} to {confirmation.high:.6g}, 95 %, paired by seed): "
        + ("confirmed" if confirmation.better else "not confirmed"),
    ]


def _settings(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())
