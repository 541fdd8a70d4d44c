"""The calls of the client about notifications: subscriptions to events of experiments, and trials of them."""

from __future__ import annotations

from typing import Any

from longhaul.api.schemas.experiments import ROOT
from longhaul.api.schemas.notifications import (
    NewSubscription,
    ShownSubscription,
    Subscription,
    Subscriptions,
    TrialMessage,
)
from longhaul.client.connection import Connection

# A receiver may take its time.
_TRIAL_S = 120.0


class Notifications:
    """Calls on one connection."""

    _connection: Connection

    def notifications(self) -> list[Subscription]:
        """The caller's subscriptions, with the last message of each; for admins all."""
        answer = self._connection.ask("GET", f"{ROOT}/notifications")
        return Subscriptions.model_validate_json(answer.content, extra="ignore").items

    def notify(self, **asked: Any) -> ShownSubscription:
        """Subscribe to events: fields of NewSubscription, such as way="email", target="ada@example.org", events=["experiment.finished"]."""
        body = NewSubscription(**asked).model_dump(mode="json")
        answer = self._connection.ask("POST", f"{ROOT}/notifications", repeatable=False, json=body)
        return ShownSubscription.model_validate_json(answer.content, extra="ignore")

    def try_notification(self, subscription: str) -> TrialMessage:
        """Send a trial message now; the receiver's reply."""
        path = f"{ROOT}/notifications/{subscription}/test"
        answer = self._connection.ask("POST", path, repeatable=False, longest_s=_TRIAL_S)
        return TrialMessage.model_validate_json(answer.content, extra="ignore")

    def delete_notification(self, subscription: str) -> None:
        """End a subscription."""
        self._connection.ask("DELETE", f"{ROOT}/notifications/{subscription}")
