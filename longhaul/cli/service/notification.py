"""`longhaul notification`: e-mail and webhooks about experiments of a service."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from longhaul.cli.terminal.commands import command, group_app
from longhaul.cli.terminal.options import JsonOption
from longhaul.cli.terminal.output import EXIT_DONE, EXIT_FAILED, show_rows
from longhaul.cli.terminal.service_options import TOKEN_ENV, ServerOption, TokenEnvOption, open_client, server_of
from longhaul.orchestrator.database.statuses import EMAIL, NOTIFIED, WEBHOOK
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_THEM = "notifications"

app = group_app("Messages of a service when an experiment ends, misses an expectation or is worse than its baseline.")


class Event(StrEnum):
    """The events that a subscription may name."""

    finished = "experiment.finished"
    missed = "expectation.missed"
    broken = "baseline.broken"


SubscriptionArgument = Annotated[str, typer.Argument(metavar="ID", help="The id of a subscription.")]


@dataclass(frozen=True)
class AddOptions:
    """The options of `longhaul notification add`."""

    email: Annotated[str | None, typer.Option(metavar="ADDRESS", help="Send e-mail to this address.")] = None
    webhook: Annotated[str | None, typer.Option(metavar="URL", help="Send signed POST requests to this URL.")] = None
    events: Annotated[
        list[Event] | None, typer.Option("--on", help="The event, as often as needed; all of them by default.")
    ] = None
    experiment: Annotated[str | None, typer.Option(metavar="ID", help="Only this experiment.")] = None
    name: Annotated[
        str, typer.Option(metavar="PATTERN", help="Only experiments of this name; * stands for any letters.")
    ] = ""
    everyone: Annotated[bool, typer.Option("--everyone", help="Experiments of all users, not only yours.")] = False
    branch: Annotated[str, typer.Option(help="Of baseline.broken: the branch of the baseline.")] = "main"
    measures: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="MEASURE",
            help="Of baseline.broken: a measure that must not be worse, as in `longhaul compare`; by default every flow's goodput.",
        ),
    ] = None
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False

    @property
    def place(self) -> tuple[str, str]:
        """The way and the target; PlanError unless there is one."""
        if (self.email is None) == (self.webhook is None):
            raise PlanError("subscribing", "", "a subscription has one target", "give --email or --webhook")
        return (EMAIL, self.email) if self.email is not None else (WEBHOOK, str(self.webhook))


@command(app, "add")
def add_notification(options: AddOptions) -> None:
    """Subscribe to events. The secret that signs a webhook's messages is shown once."""
    way, target = options.place
    with open_client(server_of(options.server, needed_for=_THEM), options.token_env) as client:
        made = client.notify(
            way=way,
            target=target,
            events=[event.value for event in options.events or []] or list(NOTIFIED),
            experiment_id=options.experiment,
            name=options.name,
            everyone=options.everyone,
            branch=options.branch,
            measures=options.measures or [],
        )
    if options.as_json:
        print(made.model_dump_json())
        return
    print(f"{made.id} sends {', '.join(made.events)} to {made.target}")
    if made.secret:
        print(f"its messages are signed with this secret, shown only once: {made.secret}")


@dataclass(frozen=True)
class ListOptions:
    """The options of `longhaul notification list`."""

    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV
    as_json: JsonOption = False


@command(app, "list")
def list_notifications(options: ListOptions) -> None:
    """List subscriptions, with the last message of each; for admins those of all users."""
    with open_client(server_of(options.server, needed_for=_THEM), options.token_env) as client:
        found = client.notifications()
    shown = [
        {
            "id": one.id,
            "owner": one.owner,
            "target": one.target,
            "events": " ".join(one.events),
            "experiments": one.experiment_id or " ".join(filter(None, ("all" if one.everyone else "own", one.name))),
            "last message": f"{one.last.status}, {one.last.at[:19]}: {one.last.answer}" if one.last else "none yet",
        }
        for one in found
    ]
    show_rows("subscriptions", [one.model_dump() for one in found], shown, as_json=options.as_json)


@dataclass(frozen=True)
class OneOptions:
    """The options of `longhaul notification try` and `longhaul notification remove`."""

    subscription: SubscriptionArgument
    server: ServerOption = None
    token_env: TokenEnvOption = TOKEN_ENV


@command(app, "try")
def try_notification(options: OneOptions) -> int:
    """Send a trial message now, and print the receiver's reply; exit code 4 if it was not delivered."""
    with open_client(server_of(options.server, needed_for=_THEM), options.token_env) as client:
        found = client.try_notification(options.subscription)
    print(f"{'delivered' if found.status == 'delivered' else 'not delivered'}: {found.answer}")
    return EXIT_DONE if found.status == "delivered" else EXIT_FAILED


@command(app, "remove")
def remove_notification(options: OneOptions) -> None:
    """End a subscription; its messages that wait are not sent."""
    with open_client(server_of(options.server, needed_for=_THEM), options.token_env) as client:
        client.delete_notification(options.subscription)
    print(f"removed {options.subscription}")
