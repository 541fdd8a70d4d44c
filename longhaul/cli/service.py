"""The verbs of the service, its home and its machine: serve, worker, token, prune, pin, verify, backup, restore, doctor."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.options import JobsOption, JsonOption
from longhaul.orchestrator.system.errors import PlanError

if TYPE_CHECKING:
    from longhaul.orchestrator.database.access import Access
    from longhaul.orchestrator.results.store import Store

token_app = typer.Typer(help="Tokens of the service: who may do what.", no_args_is_help=True)


class Scope(StrEnum):
    """What a token allows."""

    read = "read"
    run = "run"
    gate = "gate"
    admin = "admin"


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; only this machine can reach the default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080,
) -> None:
    """Start the service: the REST API, and the dispatcher that carries out what is queued."""
    from longhaul.api.serve import serve as start

    raise typer.Exit(start(host, port))


def worker(
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="The Dask scheduler; LONGHAUL_DASK by default.")
    ] = None,
    slots: JobsOption = None,
) -> None:
    """Carry runs out on this machine for a service elsewhere, through a Dask scheduler; until it is stopped."""
    from longhaul.orchestrator.execution.cluster.worker import watch_over_worker
    from longhaul.orchestrator.system.settings import load_settings, scheduler_address

    settings = load_settings()
    address = scheduler_address(scheduler, "--scheduler") if scheduler else settings.dask
    if not address:
        raise PlanError("starting a worker", "", "no scheduler is named", "give --scheduler, or set LONGHAUL_DASK")
    raise typer.Exit(watch_over_worker(address, slots or settings.jobs))


@token_app.command("add")
def add_token(
    name: Annotated[str, typer.Argument(help="Whose it is, or what for.")],
    scope: Annotated[Scope, typer.Option(help="What it allows: each scope includes those before it.")] = Scope.read,
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="When it ends, as in 90d or 12h.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token and show it, this once."""
    token, row = _access().add_token(name, scope.value, None if expires is None else _seconds(expires))
    print(json.dumps({**row, "token": token}) if as_json else token)


@token_app.command("list")
def list_tokens(as_json: JsonOption = False) -> None:
    """List tokens, without their secrets."""
    rows = _access().tokens()
    if as_json:
        print(json.dumps(rows))
        return
    from longhaul.cli.console import plain_table, results_console

    results_console().print(plain_table(rows) if rows else "no tokens yet")


@token_app.command("revoke")
def revoke_token(name: Annotated[str, typer.Argument(help="Its name or id.")]) -> None:
    """End a token, and every session that was opened with it."""
    print(f"revoked {_access().revoke(name)['name']}")


def prune(
    older_than: Annotated[str | None, typer.Option(metavar="TIME", help="Remove runs older than this: 90d.")] = None,
    most: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Then the oldest, until the rest fits: 50 GB.")
    ] = None,
    dry: Annotated[bool, typer.Option("--dry-run", help="Only say what would go.")] = False,
    as_json: JsonOption = False,
) -> None:
    """Remove old runs, except those that are pinned, wanted or part of a baseline."""
    from longhaul.orchestrator.results.pruning import prune as carry_out
    from longhaul.orchestrator.system.units import format_size, parse_size

    if older_than is None and most is None:
        raise PlanError("pruning", "", "nothing says what may go", "give --older-than, --most or both")
    try:
        most_bytes = None if most is None else parse_size(most)
    except ValueError as error:
        raise PlanError("reading --most", str(most), str(error)) from None
    pruned = carry_out(_store(), None if older_than is None else _seconds(older_than), most_bytes, dry=dry)
    if as_json:
        print(json.dumps(asdict(pruned) | {"dry_run": dry}))
    else:
        verb = "would go" if dry else "removed"
        print(
            f"{len(pruned.runs)} runs {verb}, {format_size(pruned.freed_bytes)}; {format_size(pruned.kept_bytes)} stay"
        )


def pin(
    runs: Annotated[list[str], typer.Argument(metavar="RUN...", help="Run ids, or their beginnings.")],
    off: Annotated[bool, typer.Option("--off", help="Let them go with the others again.")] = False,
) -> None:
    """Keep runs whatever their age and size."""
    store = _store()
    for run in runs:
        key = store.get(run)["run"]
        store.catalog.pin(key, not off)
        print(f"{key}: {'no longer pinned' if off else 'pinned'}")


def verify(
    run: Annotated[str | None, typer.Argument(metavar="[RUN]", help="A run id, or the start of one.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every kept run.")] = False,
    repair: Annotated[
        bool, typer.Option("--repair", help="Make damaged runs again, with the programs that made them.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Compare every file of kept runs with what was kept; exit code 4 if one is damaged and was not repaired."""
    from longhaul.cli.verify import verify_runs

    raise typer.Exit(verify_runs(run, everything=everything, repair=repair, as_json=as_json))


def backup(output: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write, a tar archive.")]) -> None:
    """Write the whole home, record and runs, into one file; the service may go on meanwhile."""
    from longhaul.orchestrator.results.backup import back_up
    from longhaul.orchestrator.system.units import format_size

    saved = back_up(_store(), output)
    print(f"{saved.runs} runs in {output}, {format_size(saved.file_bytes)}")
    _warn_of_damage(saved.damaged)


def restore(
    source: Annotated[Path, typer.Argument(metavar="FILE", help="A file that `longhaul backup` wrote.")],
) -> None:
    """Make an empty home what a backup holds."""
    from longhaul.orchestrator.results.backup import restore as carry_out

    store = _store()
    saved = carry_out(store, source)
    print(f"{saved.runs} runs restored into {store.home}")
    _warn_of_damage(saved.damaged)


def _warn_of_damage(runs: Sequence[str]) -> None:
    if runs:
        print(
            f"longhaul: damaged: {', '.join(runs)}; `longhaul verify --all --repair` makes them again", file=sys.stderr
        )


def doctor(
    needed: Annotated[
        list[str] | None,
        typer.Option(
            "--need", metavar="CAPABILITY", help="What the exit code is about, as in hosts; sandbox by default."
        ),
    ] = None,
    in_full: Annotated[
        bool, typer.Option("--all", help="Name all that is missing, also for what is not needed.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Show what this machine can do, and how to get what is missing; exit code 3 if something needed is missing."""
    from longhaul.cli.doctor import examine

    raise typer.Exit(examine(needed or [], in_full=in_full, as_json=as_json))


def _access() -> Access:
    from longhaul.orchestrator.database.access import Access

    return Access(_store().database)


def _store() -> Store:
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings

    return Store(load_settings())


def _seconds(text: str) -> float:
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None:
        raise PlanError("reading the time", text, "it is no time", "give hours, days or weeks, as in 12h, 90d, 4w")
    return int(match[1]) * {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}[match[2]]
