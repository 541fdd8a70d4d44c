"""Notifications: subscriptions of users to events of experiments, by e-mail or webhook, and trials of them."""

from __future__ import annotations

import re
import secrets
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import APIRouter, Path, Response

from longhaul.api.auth import Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import MADE, ROOT
from longhaul.api.http.threads import takes_long
from longhaul.api.lab import Lab
from longhaul.api.schemas.notifications import (
    LastMessage,
    NewSubscription,
    ShownSubscription,
    Subscription,
    Subscriptions,
    TrialMessage,
)
from longhaul.orchestrator.analysis.objective import read_objective
from longhaul.orchestrator.database.access import subscriptions
from longhaul.orchestrator.database.access.tokens import Caller
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.statuses import EMAIL
from longhaul.orchestrator.execution.notifications.addresses import read_url
from longhaul.orchestrator.execution.notifications.messages import TRIAL, trial
from longhaul.orchestrator.execution.notifications.sending import Receiver, send
from longhaul.orchestrator.execution.notifications.webhook import SECRET_PREFIX
from longhaul.orchestrator.system.access_settings import is_mail_address
from longhaul.orchestrator.system.errors import NotAllowed, PlanError

router = APIRouter(route_class=Reading, prefix="/notifications", tags=["notifications"])

_MADE: dict[int | str, dict[str, Any]] = {**MADE, 404: {"description": "The experiment does not exist."}}
Key = Annotated[
    str, Path(alias="id", pattern=r"^[0-9a-f]{12}$", description="The id of a subscription.", examples=["5d41402abc4b"])
]


@router.get("", summary="List notifications", operation_id="list_notifications")
def list_notifications(lab: TheLab, caller: Runner) -> Subscriptions:
    """The caller's subscriptions, for admins all, without secrets; the newest first."""
    found = lab.subscriptions.of(None if caller.may("admin") else caller.name)
    return Subscriptions(email=lab.settings.mail is not None, items=[Subscription(**_fields(one)) for one in found])


@router.post(
    "", status_code=201, summary="Subscribe to notifications", operation_id="make_notification", responses=_MADE
)
def make_notification(asked: NewSubscription, lab: TheLab, caller: Runner, response: Response) -> ShownSubscription:
    """Subscribe to events. Only this response contains the secret that signs a webhook's messages."""
    _check(lab, asked)
    wish = subscriptions.Wish(
        **{**asked.model_dump(), "events": tuple(asked.events), "measures": tuple(asked.measures)}
    )
    made, secret = lab.subscriptions.add(caller, wish)
    response.headers["Location"] = f"{ROOT}/notifications/{made.id}"
    return ShownSubscription(secret=None if secret is None else SECRET_PREFIX + secret, **_fields(made))


@router.delete("/{id}", status_code=204, summary="Delete a notification", operation_id="delete_notification")
def delete_notification(key: Key, lab: TheLab, caller: Runner) -> None:
    """End a subscription; messages that wait are not sent. Its owner and admins may."""
    _owned(lab, key, caller)
    lab.subscriptions.remove(key)


@router.post("/{id}/test", summary="Send a trial notification", operation_id="try_notification")
@takes_long
def try_notification(key: Key, lab: TheLab, caller: Runner) -> TrialMessage:
    """Send a trial message now, once, and return the receiver's reply."""
    one = _owned(lab, key, caller)
    lab.subscriptions.begin_trial(key)
    to = Receiver(one.wish, one.owner, lab.subscriptions.secret(key))
    found = send(lab.settings, to, secrets.token_hex(12), trial(lab.settings, now()))
    lab.subscriptions.end_trial(key, TRIAL, found.status, found.answer)
    return TrialMessage(status=found.status, answer=found.answer)


def _owned(lab: Lab, key: str, caller: Caller) -> subscriptions.Subscription:
    found = lab.subscriptions.get(key)
    if found.owner != caller.name and not caller.may("admin"):
        raise NotAllowed("using notification", key, f"it belongs to {found.owner}", "ask its owner or an admin")
    return found


def _check(lab: Lab, asked: NewSubscription) -> None:
    """PlanError if messages could never be delivered."""
    if asked.way == EMAIL:
        mail = lab.settings.mail
        if mail is None:
            what = "this service sends no e-mail: LONGHAUL_SMTP_HOST is not set"
            raise PlanError("subscribing", asked.target, what, "ask the operator to set it, or use a webhook")
        if not is_mail_address(asked.target):
            raise PlanError("subscribing", asked.target, "it is not an e-mail address", "give ada@example.org")
        if not mail.allows(asked.target):
            what = f"mail goes only to addresses in {', '.join(mail.domains)} (LONGHAUL_SMTP_DOMAINS)"
            raise PlanError("subscribing", asked.target, what, "give one of these, or ask the operator")
    else:
        read_url(asked.target, lab.settings.webhook_networks)
    for text in asked.measures:
        # The flows of the experiments are not known yet.
        read_objective(text, [name.strip(" '\"") for name in re.findall(r"\(([^()]+)\)", text)])


def _fields(one: subscriptions.Subscription) -> dict[str, Any]:
    last = None
    if one.last_at is not None:
        last = LastMessage(at=one.last_at, event=one.last_event, status=one.last_status, answer=one.last_answer)
    return {"id": one.id, "owner": one.owner, "created_at": one.created_at, "last": last, **asdict(one.wish)}
