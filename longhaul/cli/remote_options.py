"""How the command line names a service elsewhere and its token, and the verbs that only a service has: `longhaul baseline`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from longhaul.cli.options import JsonOption
from longhaul.orchestrator.system.errors import PlanError

TOKEN_ENV = "LONGHAUL_TOKEN"  # noqa: S105 (the name of a variable)
ServerOption = Annotated[
    str | None,
    typer.Option(metavar="URL", help="Do it on this service instead of here; LONGHAUL_SERVER by default."),
]
TokenEnvOption = Annotated[
    str, typer.Option("--token-env", metavar="VAR", help="The environment variable that holds the service's token.")
]

baseline_app = typer.Typer(
    help="Baselines of the service: what experiments are compared with, by branch.", no_args_is_help=True
)


def server_of(given: str | None, *, needed: bool = False) -> str:
    """The service that is meant; nothing where it is this machine."""
    from longhaul.orchestrator.system.settings import load_settings

    server = given or load_settings().server
    if needed and not server:
        hint = "give --server, or set LONGHAUL_SERVER"
        raise PlanError("looking for baselines", "", "they are kept by a service, and none is named", hint)
    return server


def refuse_with_server(server: str, given: Mapping[str, bool]) -> None:
    """PlanError for an option that is this machine's business alone."""
    for option, used in given.items():
        if used:
            raise PlanError("running on", server, f"{option} is the service's own business", "leave it out")


@baseline_app.command("set")
def set_(
    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT_ID", help="An experiment of the service.")],
    branch: Annotated[str, typer.Option(help="The branch that it was measured on.")] = "main",
    server: ServerOption = None,
    token_env: TokenEnvOption = TOKEN_ENV,
) -> None:
    """Compare others of that experiment's name with this one, on this branch, from now on."""
    from longhaul.cli.remote import set_baseline

    set_baseline(experiment, branch, server=server_of(server, needed=True), token_env=token_env)


@baseline_app.command("list")
def list_(server: ServerOption = None, token_env: TokenEnvOption = TOKEN_ENV, as_json: JsonOption = False) -> None:
    """List what is compared with what."""
    from longhaul.cli.remote import list_baselines

    list_baselines(server=server_of(server, needed=True), token_env=token_env, as_json=as_json)
