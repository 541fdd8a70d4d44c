"""`longhaul show`: a kept run."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption, RunArgument

if TYPE_CHECKING:
    from longhaul.results.run import Run

app = verb_app()


@dataclass(frozen=True)
class ShowOptions:
    """The options of `longhaul show`."""

    run: RunArgument
    as_json: JsonOption = False
    moments: Annotated[
        list[str] | None,
        typer.Option(
            "--moments", help="List moments of this kind instead: drop, timeout, ... or all; as often as needed."
        ),
    ] = None


@command(app)
def show(options: ShowOptions) -> None:
    """Show a kept run: summary, chart, fidelity, or its moments."""
    from longhaul.cli.terminal.output import show_run
    from longhaul.laboratory.kept_runs import kept_run
    from longhaul.orchestrator.plan.traffic.programs import programs_note
    from longhaul.orchestrator.spec.model import PROGRAM

    run = kept_run(options.run, thorough=True)
    if options.moments:
        _list_moments(run, [kind for kind in options.moments if kind != "all"], as_json=options.as_json)
        return
    if options.as_json:
        print(json.dumps(run.document))
        return
    show_run(run, kept=True)
    notes = [run["caveat"]] if "caveat" in run else []
    if others := run["other_programs"]:
        notes.append(
            f"made by programs other than today's ({'; '.join(others)}); `longhaul rerun --original` uses those"
        )
    notes += filter(None, [programs_note([flow["name"] for flow in run["flows"] if flow["kind"] == PROGRAM])])
    for note in notes:
        print(f"note: {note}", file=sys.stderr)


def _list_moments(run: Run, kinds: list[str], *, as_json: bool) -> None:
    moments = run.moments(*kinds)
    if as_json:
        print(json.dumps([asdict(one) for one in moments]))
        return
    for one in moments:
        print(f"{one.t_s:14.9f} s  {one.kind:<9}  {one.text}")
    if not moments:
        print(f"the run has no {' or '.join(kinds) or 'moments'}", file=sys.stderr)
