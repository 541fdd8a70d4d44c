"""Messages about experiments: queued in the transaction of their event, delivered until the receiver has them or the attempts are over.

    waiting --claim, send--> delivered
       ^          |--the receiver is away--> waiting, later       failed after the last attempt, or when no repeat can help
       '----------'--no message is needed--> void, refused

A subscription gets one message about an event of an experiment. A claim is a lease: when its holder dies, another one sends the message
once more, under the same id and with the same text, so that a receiver can drop the repeat.
"""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase
from typing import Any

from sqlalchemy import Connection, and_, delete, or_, select, update

from longhaul.orchestrator.database.access.subscriptions import Wish, last_message, wish_of
from longhaul.orchestrator.database.connection import InDatabase, insert_new
from longhaul.orchestrator.database.counters import add_counts
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.search_fields import rerun_in
from longhaul.orchestrator.database.statuses import BASELINE_BROKEN, ENDS, EXPERIMENT_FINISHED, KEPT, LIVE
from longhaul.orchestrator.database.tables import BASELINES, DELIVERIES, EXPERIMENTS, SUBSCRIPTIONS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Facts = dict[str, Any]
WAITING, DELIVERED, FAILED, VOID, REFUSED = "waiting", "delivered", "failed", "void", "refused"
# Before the second attempt, the third, ...; the last attempt is some nine hours after the event.
PAUSES_S = (5.0, 30.0, 120.0, 600.0, 1800.0, 7200.0, 21600.0)
# The counters of the lab (counters.py).
_COUNTED = {DELIVERED: "messages_delivered", FAILED: "messages_failed"}
# Messages that have ended are kept this long.
_KEPT_S = 30 * 86_400.0


@dataclass(frozen=True, slots=True)
class Delivery:
    """A claimed message; `message` is its text as JSON, unless this is the first attempt."""

    id: str
    event: str
    made_at: str
    attempt: int
    facts: Facts
    message: str | None
    subscription_id: str
    owner: str
    by_proxy: bool
    secret: str
    wish: Wish


def queue_end(connection: Connection, experiment: str) -> None:
    """Within the transaction that ends an experiment: queue the messages about its end, and comparisons with its baselines."""
    row = connection.execute(select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)).one()
    _queue(connection, row, EXPERIMENT_FINISHED, {})
    if row.status not in KEPT or rerun_in(row.words):
        return
    its = and_(BASELINES.c.name == row.name, BASELINES.c.experiment_id != experiment)
    for baseline in connection.execute(select(BASELINES).where(its)).all():
        compared = {"branch": baseline.branch, "experiment_id": baseline.experiment_id}
        _queue(connection, row, BASELINE_BROKEN, {"baseline": compared})


def queue_event(connection: Connection, experiment: str, event: str) -> None:
    """Within the transaction of another event: queue the messages about it."""
    row = connection.execute(select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)).one()
    _queue(connection, row, event, {})


def _queue(connection: Connection, row: Any, event: str, more: Facts) -> None:
    of_all = and_(
        SUBSCRIPTIONS.c.experiment_id.is_(None), or_(SUBSCRIPTIONS.c.everyone, SUBSCRIPTIONS.c.owner == row.owner)
    )
    query = select(SUBSCRIPTIONS).where(or_(SUBSCRIPTIONS.c.experiment_id == row.id, of_all))
    meant = [one for one in connection.execute(query).all() if _wants(wish_of(one), row.name, event, more)]
    facts = {
        "experiment": {name: getattr(row, name) for name in ("id", "name", "owner", "status")},
        "counts": {name: getattr(row, name) for name in ("total", *ENDS)},
        **more,
    }
    at, at_s = now(), time.time()
    rows = [
        {
            "id": secrets.token_hex(12),
            "subscription_id": one.id,
            "event": event,
            "experiment_id": row.id,
            "facts": json.dumps(facts),
            "made_at": at,
            "status": WAITING,
            "attempts": 0,
            "due_s": at_s,
        }
        for one in meant
    ]
    insert_new(connection, DELIVERIES, rows)


def _wants(wish: Wish, name: str, event: str, more: Mapping[str, Any]) -> bool:
    if event not in wish.events or (wish.experiment_id is None and wish.name and not fnmatchcase(name, wish.name)):
        return False
    return event != BASELINE_BROKEN or more["baseline"]["branch"] == wish.branch


class Deliveries(InDatabase):
    """The messages of one database, for those who send them."""

    def claim(self, holder: str, lease_s: float) -> Delivery | None:
        """The message that is due first. An owner has one at a time, so that no slow receiver delays the messages of others."""
        at_s = time.time()
        due = and_(DELIVERIES.c.status == WAITING, DELIVERIES.c.due_s <= at_s)
        free = or_(DELIVERIES.c.claimed_by.is_(None), DELIVERIES.c.lease_until_s < at_s)
        sent = and_(DELIVERIES.c.status == WAITING, DELIVERIES.c.lease_until_s >= at_s)
        busy = (
            select(SUBSCRIPTIONS.c.owner)
            .join(DELIVERIES, DELIVERIES.c.subscription_id == SUBSCRIPTIONS.c.id)
            .where(sent, DELIVERIES.c.claimed_by.is_not(None))
        )
        columns = [column for column in DELIVERIES.c if column.name not in ("experiment_id", "status")]
        more = [column for column in SUBSCRIPTIONS.c if column.name not in ("id", "created_at")]
        query = (
            select(*columns, *more)
            .join(SUBSCRIPTIONS, SUBSCRIPTIONS.c.id == DELIVERIES.c.subscription_id)
            .where(due, free, SUBSCRIPTIONS.c.owner.not_in(busy))
            .order_by(DELIVERIES.c.due_s, DELIVERIES.c.id)
            .limit(1)
        )
        # Usually there is none, and a reader waits for no writer.
        with self._database.read() as connection:
            if connection.execute(query).first() is None:
                return None
        with self._database.write() as connection:
            row = connection.execute(query).one_or_none()
            if row is None:
                return None
            claimed = {"claimed_by": holder, "lease_until_s": at_s + lease_s, "attempts": row.attempts + 1}
            connection.execute(update(DELIVERIES).where(DELIVERIES.c.id == row.id).values(claimed))
        return Delivery(
            row.id,
            row.event,
            row.made_at,
            row.attempts + 1,
            json.loads(row.facts),
            row.message,
            row.subscription_id,
            row.owner,
            bool(row.by_proxy),
            row.secret or "",
            wish_of(row),
        )

    def give_back(self, holder: str) -> None:
        """Free the messages that this holder had claimed before its restart; an attempt that was cut off counts."""
        mine = and_(DELIVERIES.c.status == WAITING, DELIVERIES.c.claimed_by == holder)
        with self._database.write() as connection:
            connection.execute(update(DELIVERIES).where(mine).values(claimed_by=None, lease_until_s=None))

    def keep_message(self, delivery: Delivery, message: str) -> bool:
        """Record the text of a message before it is first sent; False if another holder has it by now."""
        return self._change(delivery, {"message": message})

    def record(self, delivery: Delivery, status: str, answer: str) -> None:
        """Record the outcome of an attempt: FAILED means that no repeat can help, WAITING that the message is sent again if attempts are left."""
        values: dict[str, Any] = {"claimed_by": None, "lease_until_s": None}
        if status == WAITING and delivery.attempt > len(PAUSES_S):
            status, answer = FAILED, f"{answer}; this was the last of {delivery.attempt} attempts"
        elif status == WAITING:
            values["due_s"] = time.time() + PAUSES_S[delivery.attempt - 1]
        last = None if status == VOID else last_message(delivery.event, status, answer)
        self._change(delivery, {**values, "status": status}, last, _COUNTED.get(status))

    def prune(self) -> int:
        """Delete messages that ended long ago, and old subscriptions to one experiment that has ended; how many messages."""
        ended = and_(DELIVERIES.c.status != WAITING, DELIVERIES.c.due_s < time.time() - _KEPT_S)
        live = select(EXPERIMENTS.c.id).where(EXPERIMENTS.c.status.in_(LIVE))
        long_ago = (datetime.now(UTC) - timedelta(seconds=_KEPT_S)).isoformat(timespec="milliseconds")
        over = and_(SUBSCRIPTIONS.c.experiment_id.not_in(live), SUBSCRIPTIONS.c.created_at < long_ago)
        with self._database.write() as connection:
            connection.execute(delete(SUBSCRIPTIONS).where(SUBSCRIPTIONS.c.experiment_id.is_not(None), over))
            return connection.execute(delete(DELIVERIES).where(ended)).rowcount

    def statuses(self, subscription_id: str) -> Sequence[tuple[str, str, int]]:
        """The messages of a subscription, the oldest first: event, status, attempts."""
        query = select(DELIVERIES.c.event, DELIVERIES.c.status, DELIVERIES.c.attempts)
        its = DELIVERIES.c.subscription_id == subscription_id
        with self._database.read() as connection:
            ordered = query.where(its).order_by(DELIVERIES.c.made_at, DELIVERIES.c.id)
            return [(row.event, row.status, row.attempts) for row in connection.execute(ordered)]

    def _change(
        self,
        delivery: Delivery,
        values: Mapping[str, Any],
        last: Mapping[str, str] | None = None,
        count: str | None = None,
    ) -> bool:
        mine = and_(DELIVERIES.c.id == delivery.id, DELIVERIES.c.attempts == delivery.attempt)
        with self._database.write() as connection:
            held = connection.execute(update(DELIVERIES).where(mine).values(dict(values))).rowcount
            if held and last is not None:
                its = SUBSCRIPTIONS.c.id == delivery.subscription_id
                connection.execute(update(SUBSCRIPTIONS).where(its).values(dict(last)))
            if held and count is not None:
                add_counts(connection, {count: 1})
        return bool(held)
