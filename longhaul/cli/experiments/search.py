"""`longhaul search`: the least severe condition that breaks a claim."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from longhaul.orchestrator.analysis.search.breaking_point import Found

app = verb_app()


@dataclass(frozen=True)
class SearchOptions:
    """The options of `longhaul search`."""

    experiment: ExperimentArgument
    claim: Annotated[str, typer.Option(metavar="CLAIM", help="The claim to break, as in goodput(app) >= 0.9 * 622e6.")]
    over: Annotated[
        list[str],
        typer.Option(metavar="FIELD=BENIGN..HARSH", help="A field and its range, as in path.rtt=1ms..500ms."),
    ]
    trials: Annotated[int, typer.Option(min=5, help="The most conditions to try before the confirmation.")] = 24
    confirm: ConfirmOption = 3
    changes: SetOption = None
    seed: SeedOption = None
    repeats: RepeatsOption = None
    jobs: JobsOption = None
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write the counterexample as an experiment.")
    ] = None
    as_json: JsonOption = False


@command(app)
def search(options: SearchOptions) -> int:
    """Search for the least severe condition that breaks a claim and confirm it on fresh seeds; exit code 1 if there is one."""
    from longhaul.cli.terminal.console import print_written
    from longhaul.cli.terminal.progress import plan_progress
    from longhaul.laboratory import searches
    from longhaul.orchestrator.spec.yaml_text import document_text
    from longhaul.orchestrator.system.files import check_places, write_whole

    check_places(options.output)
    point = searches.search(
        options.experiment, options.over, options.claim, trials=options.trials, confirm=options.confirm,
        set=options.changes or [], seed=options.seed, repeats=options.repeats, jobs=options.jobs,
        watcher=partial(plan_progress, quiet=options.as_json),
    )  # fmt: skip
    found = point.details
    if options.output is not None and found.experiment is not None:
        remark = f"A counterexample of {point.claim}, found by `longhaul search`."
        write_whole(options.output, document_text(found.experiment, [remark]))
    if options.as_json:
        print(json.dumps(point.document))
    else:
        _print_found(found, point.claim)
        print_written(options.output if found.experiment is not None else None)
    return EXIT_MISSED if found.counterexample else EXIT_DONE


def _print_found(found: Found, claim: str) -> None:
    from longhaul.cli.terminal.console import plain_table, results_console
    from longhaul.orchestrator.system.units import spell_number

    shown = sorted(found.tried, key=lambda one: one.distance)
    rows = [
        {
            "distance": f"{one.distance:.3f}",
            **{name: spell_number(str(value)) for name, value in one.values.items()},
            "the claim": "breaks" if one.breaks else one.fault or "holds",
            "margin": _per_cent(one.margins),
        }
        for one in shown
    ]
    results_console().print(plain_table(rows))
    if found.counterexample is None:
        print(
            f"{claim}: holds at each of the {len(found.tried)} conditions tried"
            if not found.unconfirmed
            else f"{claim}: breaks at {found.unconfirmed} of the conditions tried, but at none of them with every fresh seed"
        )
        return
    values = ", ".join(f"{value:.6g}" for value in found.values)
    print(
        f"{claim}: breaks at {_values(found.counterexample.values)}, {found.counterexample.distance:.3f} from the benign end"
    )
    print(f"on fresh seeds {found.seeds[0]} to {found.seeds[-1]} it is {values}")
    if found.unconfirmed:
        print(f"{found.unconfirmed} less severe conditions broke it, but not with every fresh seed")


def _per_cent(margins: Sequence[float]) -> str:
    return ", ".join(f"{margin:+.1%}" for margin in margins)


def _values(values: Mapping[str, object]) -> str:
    from longhaul.orchestrator.system.units import spell_number

    return ", ".join(f"{name}={spell_number(str(value))}" for name, value in values.items())
