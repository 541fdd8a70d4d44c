"""The types of notifications: subscriptions to events of experiments, and trials of them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import TEXT, Wire
from longhaul.orchestrator.database.statuses import NOTIFIED

Event = Literal["experiment.finished", "expectation.missed", "baseline.broken"]
Way = Literal["email", "webhook"]


class NewSubscription(Wire):
    """What to be notified of, and how: of one experiment, or of those of the caller or of everyone, by name."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"way": "webhook", "target": "https://hooks.example.org/longhaul", "events": ["expectation.missed"]},
            ]
        },
    )

    way: Way
    target: str = Field(min_length=1, max_length=500, pattern=TEXT, description="The e-mail address, or the URL.")
    events: list[Event] = Field(
        min_length=1, max_length=len(NOTIFIED), description="The events (docs/notifications.md)."
    )
    experiment_id: str | None = Field(None, pattern=r"^[0-9a-f]{16}$", description="Only this experiment.")
    name: str = Field(
        "",
        max_length=128,
        pattern=r"^[A-Za-z0-9*?._/-]*$",
        description="Only experiments of this name; * stands for any letters.",
    )
    everyone: bool = Field(False, strict=True, description="Experiments of all users, instead of the caller's.")
    branch: str = Field(
        "main",
        pattern=r"^[^\x00-\x20\x7f~^:?*\[\\]{1,128}$",
        description="Of baseline.broken: the branch of the baseline.",
    )
    measures: list[Annotated[str, Field(min_length=1, max_length=200, pattern=TEXT)]] = Field(
        default=[],
        max_length=20,
        description="Of baseline.broken: the measures that must not be worse; without any, the goodput of every flow.",
    )


class LastMessage(Wire):
    """The last message of a subscription."""

    at: str
    event: str
    status: Literal["waiting", "delivered", "failed", "refused"] = Field(
        description="waiting: the last attempt failed, and another follows; refused: its user has no valid token."
    )
    answer: str = Field(description="The receiver's reply, or why there is none.")


class Subscription(Wire):
    """A subscription, without its secret."""

    id: str
    owner: str
    way: Way
    target: str
    events: list[Event]
    experiment_id: str | None
    name: str
    everyone: bool
    branch: str
    measures: list[str]
    created_at: str
    last: LastMessage | None


class ShownSubscription(Subscription):
    """A new subscription; of a webhook with the secret that signs its messages, which is shown once."""

    secret: str | None


class Subscriptions(Wire):
    """The caller's subscriptions, and whether the service sends e-mail."""

    email: bool = Field(description="Whether the service sends e-mail: its operator named a mail server.")
    items: list[Subscription]


class TrialMessage(Wire):
    """The outcome of a trial message."""

    status: Literal["delivered", "waiting", "failed"] = Field(
        description="waiting: a real message would be sent again; failed: it would not."
    )
    answer: str = Field(description="The receiver's reply, or why there is none.")
