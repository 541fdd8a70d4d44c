"""The verbs that deploy to hosts: check, deploy, restore."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from longhaul.cli.terminal.options import JsonOption
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.execution.deployment import HostOutcome

InventoryArgument = Annotated[
    Path, typer.Argument(metavar="INVENTORY", help="An Ansible inventory with a group `endpoints`.")
]
CheckOption = Annotated[bool, typer.Option("--check", help="Only print what would change.")]
ModulesOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER", help="Modules built elsewhere: a folder for each kernel release, with its *.ko files."
    ),
]


@dataclass(frozen=True)
class CheckOptions:
    """The options of `longhaul hosts check`."""

    inventory: InventoryArgument
    modules: ModulesOption = None
    as_json: JsonOption = False


def check(options: CheckOptions) -> int:
    """Check that hosts can be reached and are as deployed; exit code 1 if a deployment would change something."""
    outcomes = _deploy(options.inventory, options.modules, check=True, as_json=options.as_json)
    return _exit_code(outcomes) or int(any(outcome.changed for outcome in outcomes))


@dataclass(frozen=True)
class DeployOptions:
    """The options of `longhaul hosts deploy`."""

    inventory: InventoryArgument
    modules: ModulesOption = None
    check_only: CheckOption = False
    as_json: JsonOption = False


def deploy(options: DeployOptions) -> int:
    """Prepare hosts as endpoints: buffers, queue, congestion controls, the agent with the policy's limits. A second deployment changes nothing."""
    return _exit_code(_deploy(options.inventory, options.modules, check=options.check_only, as_json=options.as_json))


@dataclass(frozen=True)
class RestoreOptions:
    """The options of `longhaul hosts restore`."""

    inventory: InventoryArgument
    check_only: CheckOption = False
    as_json: JsonOption = False


def restore(options: RestoreOptions) -> int:
    """Restore hosts to their original state and remove all of Longhaul."""
    from longhaul.orchestrator.execution.deployment import print_task
    from longhaul.orchestrator.execution.deployment import restore as restore_hosts

    outcomes = restore_hosts(options.inventory, print_task, check=options.check_only)
    _report(outcomes, as_json=options.as_json)
    return _exit_code(outcomes)


def _deploy(inventory: Path, modules: Path | None, *, check: bool, as_json: bool) -> list[HostOutcome]:
    from longhaul.orchestrator.execution.deployment import deploy as deploy_hosts
    from longhaul.orchestrator.execution.deployment import print_task
    from longhaul.orchestrator.system.settings import load_settings

    outcomes = deploy_hosts(load_settings(), inventory, print_task, check=check, modules=modules)
    _report(outcomes, as_json=as_json)
    return outcomes


def _report(outcomes: list[HostOutcome], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"hosts": [outcome.as_json() for outcome in outcomes]}))
    for outcome in outcomes:
        if outcome.problem:
            typer.echo(outcome.problem, err=True)
        elif not as_json:
            print(f"{outcome.host}: {_change_text(outcome.changed)}")


def _change_text(changed: list[str]) -> str:
    return f"{len(changed)} tasks changed something" if changed else "as deployed; nothing changed"


def _exit_code(outcomes: list[HostOutcome]) -> int:
    """3 if a host cannot be reached, 4 if a task failed on one."""
    statuses = {outcome.status for outcome in outcomes}
    return 3 if "unreachable" in statuses else 4 if "failed" in statuses else 0
