"""`longhaul show`: a kept run."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption, RunArgument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

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
    of: Annotated[
        list[str] | None,
        typer.Option("--of", metavar="NAME", help="Only moments of this flow or link; as often as needed."),
    ] = None
    as_csv: Annotated[bool, typer.Option("--csv", help="Print the moments as CSV.")] = False


@command(app)
def show(options: ShowOptions) -> None:
    """Show a kept run: summary, chart, fidelity, or its moments."""
    from longhaul.cli.terminal.output import show_run
    from longhaul.laboratory.kept_runs import kept_run
    from longhaul.orchestrator.plan.traffic.programs import programs_note
    from longhaul.orchestrator.spec.model import PROGRAM
    from longhaul.orchestrator.system.errors import SpecError

    run = kept_run(options.run, thorough=True)
    if options.moments:
        _list_moments(run, options)
        return
    if options.of or options.as_csv:
        raise SpecError("--of" if options.of else "--csv", ["it is about moments; use it with --moments all"])
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


def _list_moments(run: Run, options: ShowOptions) -> None:
    kinds = [kind for kind in options.moments or () if kind != "all"]
    moments = run.moments(*kinds, about=options.of or ())
    if options.as_json:
        print(json.dumps([asdict(one) for one in moments]))
        return
    if options.as_csv:
        from longhaul.orchestrator.analysis.trace_moments import moments_csv

        print(moments_csv(moments), end="")
        return
    for one in moments:
        print(f"{one.t_s:14.9f} s  {one.kind:<9}  {one.text}")
    if not moments:
        print(f"the run has no {' or '.join(kinds) or 'moments'}", file=sys.stderr)
