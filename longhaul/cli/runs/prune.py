"""`longhaul prune`: remove old runs."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, verb_app
from longhaul.cli.terminal.in_words import in_words
from longhaul.cli.terminal.options import JsonOption, read_seconds
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = verb_app()


@dataclass(frozen=True)
class PruneOptions:
    """The options of `longhaul prune`."""

    older_than: Annotated[str | None, typer.Option(metavar="TIME", help="Remove runs older than this: 90d.")] = None
    most: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Then remove the oldest until the rest fits: 50 GB.")
    ] = None
    dry: Annotated[bool, typer.Option("--dry-run", help="Only print what would be removed.")] = False
    as_json: JsonOption = False


@command(app)
def prune(options: PruneOptions) -> None:
    """Remove old runs, except those that are pinned, part of a baseline or wanted by an experiment."""
    from longhaul.orchestrator.results.pruning import prune as prune_runs
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings
    from longhaul.orchestrator.system.units import format_size, parse_size

    if options.older_than is None and options.most is None:
        raise PlanError("pruning", "", "no limit was given", "give --older-than, --most or both")
    try:
        most_bytes = None if options.most is None else parse_size(options.most)
    except ValueError as error:
        raise PlanError("reading --most", str(options.most), str(error)) from None
    older_s = None if options.older_than is None else read_seconds(options.older_than)
    with in_words("reading and removing runs"):
        pruned = prune_runs(Store(load_settings()), older_s, most_bytes, dry=options.dry)
    if options.as_json:
        print(json.dumps(asdict(pruned) | {"dry_run": options.dry}))
    else:
        verb = "would be removed" if options.dry else "removed"
        freed, kept = format_size(pruned.freed_bytes), format_size(pruned.kept_bytes)
        print(f"{len(pruned.runs)} runs {verb}, {freed}; {kept} kept")
