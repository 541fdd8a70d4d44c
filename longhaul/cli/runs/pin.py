"""`longhaul pin`: runs that `longhaul prune` keeps."""

from __future__ import annotations

from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.options import RunsArgument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class PinOptions:
    """The options of `longhaul pin`."""

    runs: RunsArgument
    off: Annotated[bool, typer.Option("--off", help="Remove the pin.")] = False


@command(app)
def pin(options: PinOptions) -> None:
    """Pin runs, so that `longhaul prune` keeps them."""
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings

    store = Store(load_settings())
    for run in options.runs:
        key = store.get(run)["run"]
        store.catalog.pin(key, not options.off)
        print(f"{key}: {'no longer pinned' if options.off else 'pinned'}")
