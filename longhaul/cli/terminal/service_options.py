"""The options that name a service and its token."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.orchestrator.system.errors import PlanError

if TYPE_CHECKING:
    from longhaul.client import Client

TOKEN_ENV = "LONGHAUL_TOKEN"  # noqa: S105 (the name of a variable)
ServerOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Use this service instead of this machine; LONGHAUL_SERVER by default."),
]
TokenEnvOption = Annotated[
    str, typer.Option("--token-env", metavar="VAR", help="The environment variable with the service's token.")
]


def server_of(given: str | None, *, needed_for: str = "") -> str:
    """The address of the service; empty for this machine, or a PlanError if there is something that only a service has."""
    from longhaul.orchestrator.system.settings import load_settings

    server = given or load_settings().server
    if needed_for and not server:
        hint = "give --server, or set LONGHAUL_SERVER"
        raise PlanError(f"looking for {needed_for}", "", f"{needed_for} are kept by a service, and none is named", hint)
    return server


def open_client(server: str, token_env: str) -> Client:
    """The service at this address, with the token of this environment variable."""
    from longhaul.client import Client
    from longhaul.orchestrator.system.settings import secret

    return Client(server, secret(token_env))


def refuse_with_server(server: str, given: Mapping[str, bool]) -> None:
    """PlanError for an option that is for this machine only."""
    for option, used in given.items():
        if used:
            raise PlanError("running on", server, f"{option} is for runs on this machine only", "leave it out")
