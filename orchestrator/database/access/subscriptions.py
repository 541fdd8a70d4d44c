"""Subscriptions: the events of experiments that a user is notified of, and the e-mail address or webhook to which the messages go.

The secret of a webhook signs its messages, so the database has it as it is, unlike tokens. It is shown once.
"""

from __future__ import annotations

import base64
import json
import secrets
import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import delete, func, insert, or_, select, update

from longhaul.orchestrator.database.access.tokens import SHARED, Caller
from longhaul.orchestrator.database.connection import InDatabase
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.statuses import MOST_SUBSCRIPTIONS, NOTIFIED, WEBHOOK
from longhaul.orchestrator.database.tables import EXPERIMENTS, SUBSCRIPTIONS, TOKENS
from longhaul.orchestrator.system.errors import Conflict, NotFound, OverLimit, PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_SECRET_BYTES = 24
# Between two trials of a subscription: each sends a message to an address that may be another person's.
_TRIAL_PAUSE_S = 10.0


@dataclass(frozen=True, slots=True)
class Wish:
    """The content of a subscription: of which events and experiments, and where the messages go."""

    way: str
    target: str
    events: tuple[str, ...]
    # One experiment; without it those whose name matches, of the user or of everyone.
    experiment_id: str | None = None
    name: str = ""
    everyone: bool = False
    # Of `baseline.broken`: the branch, and the measures that must not be worse.
    branch: str = "main"
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subscription:
    """A subscription, without its secret, and its last message."""

    id: str
    owner: str
    by_proxy: bool
    wish: Wish
    created_at: str
    last_at: str | None
    last_event: str | None
    last_status: str | None
    last_answer: str | None


class Subscriptions(InDatabase):
    """The subscriptions in one database."""

    def add(self, caller: Caller, wish: Wish) -> tuple[Subscription, str | None]:
        """A new subscription, and the secret of a webhook, which is shown once; NotFound, PlanError."""
        if unknown := [event for event in wish.events if event not in NOTIFIED]:
            raise PlanError(
                "subscribing to", unknown[0], "there is no event of this name", f"known: {', '.join(NOTIFIED)}"
            )
        secret = base64.b64encode(secrets.token_bytes(_SECRET_BYTES)).decode() if wish.way == WEBHOOK else None
        key = secrets.token_hex(6)
        row = {
            "id": key,
            "owner": caller.name,
            "by_proxy": caller.by_proxy,
            "way": wish.way,
            "target": wish.target,
            "secret": secret,
            "events": json.dumps(sorted(set(wish.events))),
            "experiment_id": wish.experiment_id,
            "name": wish.name,
            "everyone": wish.everyone,
            "branch": wish.branch,
            "measures": json.dumps(wish.measures),
            "created_at": now(),
            "tried_s": 0.0,
        }
        with self._database.write() as connection:
            known = select(EXPERIMENTS.c.id).where(EXPERIMENTS.c.id == wish.experiment_id)
            if wish.experiment_id is not None and connection.execute(known).first() is None:
                raise NotFound("subscribing to experiment", wish.experiment_id, "there is no experiment with this id")
            its = select(func.count()).select_from(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.owner == caller.name)
            if connection.execute(its).scalar_one() >= MOST_SUBSCRIPTIONS:
                what = f"{caller.name} has {MOST_SUBSCRIPTIONS} subscriptions, and no more are allowed"
                raise Conflict("subscribing to", ", ".join(wish.events), what, "delete one first")
            connection.execute(insert(SUBSCRIPTIONS).values(row))
        return self.get(key), secret

    def get(self, key: str) -> Subscription:
        """A subscription by its id; NotFound."""
        return _subscription(self._row(key))

    def secret(self, key: str) -> str:
        """The secret of a webhook, for those who sign its messages."""
        return str(self._row(key).secret or "")

    def of(self, owner: str | None = None) -> list[Subscription]:
        """All subscriptions, or those of one owner, the newest first."""
        query = select(SUBSCRIPTIONS).order_by(SUBSCRIPTIONS.c.created_at.desc(), SUBSCRIPTIONS.c.id.desc())
        if owner is not None:
            query = query.where(SUBSCRIPTIONS.c.owner == owner)
        with self._database.read() as connection:
            return [_subscription(row) for row in connection.execute(query)]

    def remove(self, key: str) -> None:
        """Delete a subscription, and its messages that wait."""
        with self._database.write() as connection:
            connection.execute(delete(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == key))

    def begin_trial(self, key: str) -> None:
        """Record that a trial is being sent; OverLimit if the last one was a moment ago."""
        at_s = time.time()
        free = (SUBSCRIPTIONS.c.id == key) & (SUBSCRIPTIONS.c.tried_s <= at_s - _TRIAL_PAUSE_S)
        with self._database.write() as connection:
            if not connection.execute(update(SUBSCRIPTIONS).where(free).values(tried_s=at_s)).rowcount:
                what = f"its last trial was less than {_TRIAL_PAUSE_S:.0f} s ago"
                raise OverLimit("sending a trial of", key, what, "try again in a moment", int(_TRIAL_PAUSE_S))

    def end_trial(self, key: str, event: str, status: str, answer: str) -> None:
        """Record the outcome of a trial."""
        with self._database.write() as connection:
            connection.execute(
                update(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == key).values(last_message(event, status, answer))
            )

    def may_receive(self, owner: str, *, by_proxy: bool) -> bool:
        """Whether an owner has access to the lab: by a valid token of this name, or by the proxy that named it (`by_proxy`)."""
        if by_proxy:
            return True
        unexpired = or_(TOKENS.c.expires_s.is_(None), TOKENS.c.expires_s > time.time())
        named = (TOKENS.c.name == owner) & (TOKENS.c.scope != SHARED)
        query = select(TOKENS.c.id).where(named, TOKENS.c.revoked_at.is_(None), unexpired)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None

    def _row(self, key: str) -> Any:
        with self._database.read() as connection:
            row = connection.execute(select(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.id == key)).one_or_none()
        if row is None:
            raise NotFound(
                "looking for notification", key, "there is no subscription with this id", "see GET /notifications"
            )
        return row


def last_message(event: str, status: str, answer: str) -> dict[str, str]:
    """The columns of a subscription that its last message changes."""
    return {"last_at": now(), "last_event": event, "last_status": status, "last_answer": answer}


def wish_of(row: Any) -> Wish:
    """The content of a row that has a subscription's columns."""
    return Wish(
        row.way,
        row.target,
        tuple(json.loads(row.events)),
        row.experiment_id,
        row.name,
        bool(row.everyone),
        row.branch,
        tuple(json.loads(row.measures)),
    )


def _subscription(row: Any) -> Subscription:
    last: Sequence[str | None] = (row.last_at, row.last_event, row.last_status, row.last_answer)
    return Subscription(row.id, row.owner, bool(row.by_proxy), wish_of(row), row.created_at, *last)
