"""`longhaul token`: who may use the service, and for which operations."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.options import JsonOption, read_seconds
from longhaul.cli.terminal.output import show_rows
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.database.access.tokens import Access

EXPERIMENT_DIGITS = 16

app = group_app("Tokens of the service: who may do what.")


class Scope(StrEnum):
    """The operations that a token allows."""

    read = "read"
    run = "run"
    gate = "gate"
    admin = "admin"


@dataclass(frozen=True)
class AddOptions:
    """The options of `longhaul token add`."""

    name: Annotated[str, typer.Argument(help="The token's user or purpose.")]
    scope: Annotated[Scope, typer.Option(help="What the token allows; each scope includes those before it.")] = (
        Scope.read
    )
    expires: Annotated[str | None, typer.Option(metavar="TIME", help="When the token expires, as in 90d or 12h.")] = (
        None
    )
    as_json: JsonOption = False


@command(app, "add")
def add_token(options: AddOptions) -> None:
    """Make a token and show it once."""
    expires_s = None if options.expires is None else read_seconds(options.expires)
    token, row = _access().add_token(options.name, options.scope.value, expires_s)
    print(json.dumps({**row, "token": token}) if options.as_json else token)
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    if settings.url and not options.as_json:
        # Not on stdout, which scripts read.
        print(f"log in to the web page: {settings.login_link(token)}", file=sys.stderr)


@dataclass(frozen=True)
class ShareOptions:
    """The options of `longhaul token share`."""

    results: Annotated[list[str], typer.Argument(metavar="ID...", help="Runs, or one experiment, by their whole ids.")]
    expires: Annotated[str, typer.Option(metavar="TIME", help="When the link expires, as in 90d or 12h.")] = "30d"
    as_json: JsonOption = False


@command(app, "share")
def share(options: ShareOptions) -> None:
    """Make a link that shows a run, a comparison of runs or an experiment without an account; `longhaul token revoke ID` ends it."""
    from longhaul.orchestrator.database.access.shares import Shares
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.errors import PlanError
    from longhaul.orchestrator.system.settings import load_settings

    settings = load_settings()
    experiments = [one for one in options.results if len(one) == EXPERIMENT_DIGITS]
    if len(experiments) > 1:
        what = "a link shows one experiment, and these are several"
        raise PlanError("sharing", " ".join(experiments), what, "make a link for each")
    token, row = Shares(Store(settings).database).add(
        "operator",
        read_seconds(options.expires),
        runs=[one for one in options.results if one not in experiments],
        experiment_id=experiments[0] if experiments else None,
    )
    link = settings.login_link(token, row.view)
    document = {"id": row.id, "view": row.view, "expires_s": row.expires_s, "token": token, "link": link}
    print(json.dumps(document) if options.as_json else link)


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul token list`."""

    as_json: JsonOption = False


@command(app, "list")
def list_tokens(options: ListOptions) -> None:
    """List tokens, without their secrets."""
    rows = _access().tokens()
    show_rows("tokens", rows, rows, as_json=options.as_json)


@dataclass(frozen=True)
class RevokeOptions:
    """The options of `longhaul token revoke`."""

    name: Annotated[str, typer.Argument(help="The token's name or id.")]


@command(app, "revoke")
def revoke_token(options: RevokeOptions) -> None:
    """Revoke a token and every session that was opened with it."""
    print(f"revoked {_access().revoke(options.name)['name']}")


def _access() -> Access:
    from longhaul.orchestrator.database.access.tokens import Access
    from longhaul.orchestrator.results.store import Store
    from longhaul.orchestrator.system.settings import load_settings

    return Access(Store(load_settings()).database)
