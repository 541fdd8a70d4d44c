"""Sends one message to one receiver, by e-mail or to a webhook."""

from __future__ import annotations

from dataclasses import field

from longhaul.orchestrator.database.access.subscriptions import Wish
from longhaul.orchestrator.database.statuses import EMAIL
from longhaul.orchestrator.execution.notifications import mail, messages, webhook
from longhaul.orchestrator.execution.notifications.messages import Message
from longhaul.orchestrator.execution.notifications.outcome import Outcome, failed
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings


@dataclass(frozen=True, slots=True)
class Receiver:
    """Where messages of a subscription go; the secret is that of a webhook."""

    wish: Wish
    owner: str
    secret: str = field(repr=False)


def send(settings: Settings, to: Receiver, key: str, message: Message) -> Outcome:
    """Send a message once, under its id."""
    if to.wish.way != EMAIL:
        return webhook.post(to.wish.target, to.secret, key, messages.as_bytes(message), settings.webhook_networks)
    if settings.mail is None:
        return failed("the service sends no e-mail any more: LONGHAUL_SMTP_HOST is not set")
    return mail.send(settings.mail, to.wish.target, key, *messages.text_of(message, to.owner, settings.url))
