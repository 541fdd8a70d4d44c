"""`longhaul backup`: a home in one file."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class BackupOptions:
    """The options of `longhaul backup`."""

    output: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, a tar archive.")]


@command(app)
def backup(options: BackupOptions) -> None:
    """Write the whole home, database and runs, into one file; the service may keep running."""
    from longhaul.orchestrator.results.backup import back_up
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings
    from longhaul.orchestrator.system.units import format_size

    with in_words(f"writing {options.output}"):
        saved = back_up(Store(load_settings()), options.output)
    print(f"{saved.runs} runs in {options.output}, {format_size(saved.file_bytes)}")
    warn_of_damage(saved.damaged)


def warn_of_damage(runs: Sequence[str]) -> None:
    """Name the runs of a backup whose files are damaged."""
    if runs:
        print(f"longhaul: damaged: {', '.join(runs)}; `longhaul verify --all --repair` repairs them", file=sys.stderr)
