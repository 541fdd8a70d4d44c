"""`longhaul show`: a kept run."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption, RunArgument

app = verb_app()


@dataclass(frozen=True)
class ShowOptions:
    """The options of `longhaul show`."""

    run: RunArgument
    as_json: JsonOption = False


@command(app)
def show(options: ShowOptions) -> None:
    """Show a kept run: summary, chart, fidelity."""
    from longhaul.cli.terminal.output import show_run
    from longhaul.laboratory.kept_runs import kept_run

    run = kept_run(options.run, thorough=True)
    if options.as_json:
        print(json.dumps(run.document))
        return
    show_run(run, kept=True)
    notes = [run["caveat"]] if "caveat" in run else []
    if others := run["other_programs"]:
        notes.append(
            f"made by programs other than today's ({'; '.join(others)}); `longhaul rerun --original` uses those"
        )
    for note in notes:
        print(f"note: {note}", file=sys.stderr)
