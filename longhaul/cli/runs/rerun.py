"""`longhaul rerun`: run a kept run again and compare the traces."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import JsonOption, RunArgument
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_MISSED
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class RerunOptions:
    """The options of `longhaul rerun`."""

    run: RunArgument
    original: Annotated[
        bool, typer.Option("--original", help="Use the kernel, agent and modules that made the run, not today's.")
    ] = False
    as_json: JsonOption = False


@command(app)
def rerun(options: RerunOptions) -> int:
    """Run a kept run again from its manifest; print that it is identical, or what differs (exit code 1)."""
    from longhaul.laboratory.kept_runs import rerun as run_again

    with in_words(f"running {options.run} again"):
        again = run_again(options.run, original=options.original)
    then, now = again.kept_trace_sha256[:16], again["trace_sha256"][:16]
    if options.as_json:
        print(json.dumps(again.document))
    else:
        same = again.identical
        print(f"{again['run']}: {f'identical, trace {now}' if same else f'differs, trace {then} then, {now} now'}")
        for line in again.differences:
            print(line)
    return EXIT_DONE if again.identical else EXIT_MISSED
