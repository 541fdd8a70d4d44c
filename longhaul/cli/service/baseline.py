"""`longhaul baseline`: the experiments of a service with which later ones are compared, by branch."""

from __future__ import annotations

from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import show_rows
from longhaul.cli.terminal.service_options import TOKEN_ENV, ServerOption, TokenEnvOption, open_client, server_of
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

app = group_app("Baselines of the service: the experiments with which later ones are compared, by branch.")


@dataclass(frozen=True)
class SetOptions:
    """The options of `longhaul baseline set`."""

    experiment: Annotated[str, typer.Argument(metavar="EXPERIMENT_ID", help="An experiment of the service.")]
    branch: Annotated[str, typer.Option(help="The branch that it was measured on.")] = "main"
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV


@command(app, "set")
def set_baseline(options: SetOptions) -> None:
    """Make an experiment the baseline of its name on a branch."""
    with open_client(server_of(options.server, needed_for="baselines"), options.token_env) as client:
        name = client.experiment(options.experiment).name
        baseline = client.set_baseline(name, options.branch, options.experiment)
        print(f"baseline of {baseline.name} on {baseline.branch}: {baseline.experiment_id}")


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul baseline list`."""

    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app, "list")
def list_baselines(options: ListOptions) -> None:
    """List the baselines."""
    from longhaul.orchestrator.execution.run_rows import baseline_rows

    with open_client(server_of(options.server, needed_for="baselines"), options.token_env) as client:
        rows = [baseline.model_dump() for baseline in client.baselines()]
    show_rows("baselines", rows, baseline_rows(rows), as_json=options.as_json)
