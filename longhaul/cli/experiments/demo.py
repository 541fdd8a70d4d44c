"""`longhaul demo`: the first run, its chart and summary; the same as `longhaul run demo`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import JsonOption, NoCacheOption, WatchOption
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class DemoOptions:
    """The options of `longhaul demo`."""

    as_json: JsonOption = False
    report: Annotated[Path | None, typer.Option(help="Write a self-contained HTML report.")] = None
    watch: WatchOption = False
    no_cache: NoCacheOption = False


@command(app)
def demo(options: DemoOptions) -> int | None:
    """Run the demo: CUBIC against H-TCP over 622 Mbit/s and 300 ms, a few seconds, with a chart and a summary."""
    from longhaul.cli.experiments.run import RunOptions, run

    return run(
        RunOptions(
            experiment="demo",
            as_json=options.as_json,
            report=options.report,
            no_cache=options.no_cache,
            watch=options.watch,
        )
    )
