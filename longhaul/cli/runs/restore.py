"""`longhaul restore`: a home from a backup."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.runs.backup import warn_of_damage
from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class RestoreOptions:
    """The options of `longhaul restore`."""

    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `longhaul backup` wrote.")]


@command(app)
def restore(options: RestoreOptions) -> None:
    """Restore a backup into an empty home."""
    from longhaul.orchestrator.results.backup import restore as restore_home
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings

    store = Store(load_settings())
    with in_words(f"restoring {options.source}"):
        saved = restore_home(store, options.source)
    print(f"{saved.runs} runs restored into {store.home}")
    warn_of_damage(saved.damaged)
