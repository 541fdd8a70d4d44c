"""The service's verbs: serve, worker, token."""

from __future__ import annotations

import json
import re
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from orchestrator.cli_guest import JsonOption
from orchestrator.errors import PlanError

if TYPE_CHECKING:
    from orchestrator.results.access import Access

token_app = typer.Typer(help="Tokens of the service: who may do what.", no_args_is_help=True)


class Scope(StrEnum):
    """What a token allows."""

    read = "read"
    run = "run"
    admin = "admin"


def serve(
    host: Annotated[str, typer.Option(help="The address to listen on; only this machine can reach the default.")] = (
        "127.0.0.1"
    ),
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port; 0 for any that is free.")] = 8080,
) -> None:
    """Start the service: the REST API, and the dispatcher that carries out what is queued."""
    from api.serving import serve as start

    raise typer.Exit(start(host, port))


def worker(
    scheduler: Annotated[
        str | None, typer.Option(metavar="tcp://HOST:PORT", help="The Dask scheduler; LONGHAUL_DASK by default.")
    ] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Guests at once; one a processor by default.")] = None,
) -> None:
    """Carry runs out on this machine for a service elsewhere, through a Dask scheduler; until it is stopped."""
    from orchestrator.cluster.worker import watch_over_worker
    from orchestrator.settings import load_settings, scheduler_address

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
    from orchestrator.console import plain_table, results_console

    results_console().print(plain_table(rows) if rows else "no tokens yet")


@token_app.command("revoke")
def revoke_token(name: Annotated[str, typer.Argument(help="Its name or id.")]) -> None:
    """End a token, and every session that was opened with it."""
    print(f"revoked {_access().revoke(name)['name']}")


def _access() -> Access:
    from orchestrator.results.access import Access
    from orchestrator.results.store import Store
    from orchestrator.settings import load_settings

    return Access(Store(load_settings()).database)


def _seconds(text: str) -> float:
    match = re.fullmatch(r"([1-9][0-9]{0,4})([hdw])", text)
    if match is None:
        raise PlanError("reading --expires", text, "it is no time", "give hours, days or weeks, as in 12h, 90d, 4w")
    return int(match[1]) * {"h": 3600.0, "d": 86_400.0, "w": 604_800.0}[match[2]]
