"""Delivers messages in the background of the dispatcher: several at once, each in a thread of its own, so that a receiver that is away delays
no run and no other user's message.

It has no state of its own: a message is claimed in the database, with a lease that is longer than an attempt. After a kill the next
deliverer of the home sends the claimed messages once more, under the same ids.
"""

from __future__ import annotations

import json
import logging
import threading
import time

from longhaul.orchestrator.database.access.deliveries import DELIVERED, FAILED, REFUSED, VOID, Deliveries, Delivery
from longhaul.orchestrator.database.access.subscriptions import Subscriptions
from longhaul.orchestrator.execution.notifications.messages import Message, compose
from longhaul.orchestrator.execution.notifications.outcome import Outcome, failed
from longhaul.orchestrator.execution.notifications.sending import Receiver, send
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, RecordUnreachable
from longhaul.orchestrator.system.folder_names import FolderNames
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.system.supervise import Stop

_LOG = logging.getLogger("longhaul.notifications")
_AT_ONCE = 4
_LOOK_S = 0.5
_PAUSE_S = 5.0
# Longer than an attempt, with a comparison of large experiments before it.
_LEASE_S = 600.0
_PRUNE_S = 3600.0


class Deliverer:
    """Delivers the messages of one database."""

    def __init__(self, settings: Settings, store: Store, name: str) -> None:
        self._settings, self._store, self._name = settings, store, name
        self._deliveries = Deliveries(store.database)
        self._subscriptions = Subscriptions(store.database)
        self._free = threading.Semaphore(_AT_ONCE)
        self._pruned_s = -_PRUNE_S

    def serve(self, stop: Stop) -> None:
        """Deliver until stopped; wait for an unreachable database."""
        recovered = False
        while not stop.is_set():
            try:
                if not recovered:
                    self._deliveries.give_back(self._name)
                    recovered = True
                self._round()
                stop.wait(_LOOK_S)
            except LonghaulError as error:
                _LOG.warning("%s; trying again in %.0f s", error, _PAUSE_S)
                stop.wait(_PAUSE_S)
            except Exception:
                _LOG.exception("delivering messages")
                stop.wait(_PAUSE_S)

    def _round(self) -> None:
        if time.monotonic() - self._pruned_s > _PRUNE_S:
            self._deliveries.prune()
            self._pruned_s = time.monotonic()
        while self._free.acquire(blocking=False):
            try:
                delivery = self._deliveries.claim(self._name, _LEASE_S)
            except BaseException:
                self._free.release()
                raise
            if delivery is None:
                self._free.release()
                return
            # The end of the process does not wait for a receiver.
            threading.Thread(target=self._attempt, args=[delivery], name=f"message {delivery.id}", daemon=True).start()

    def _attempt(self, delivery: Delivery) -> None:
        try:
            self._deliver(delivery)
        except RecordUnreachable as error:
            # The lease ends, and the message is sent again.
            _LOG.warning("message %s: %s", delivery.id, error)
        except Exception:
            _LOG.exception("message %s", delivery.id)
            self._deliveries.record(delivery, FAILED, "an error of Longhaul, which its log has")
        finally:
            self._free.release()

    def _deliver(self, delivery: Delivery) -> None:
        by_proxy = delivery.by_proxy and self._settings.proxy_sign_in is not None
        if not self._subscriptions.may_receive(delivery.owner, by_proxy=by_proxy):
            self._deliveries.record(delivery, REFUSED, f"{delivery.owner} has no valid token any more")
            return
        try:
            message = self._message(delivery)
        except RecordUnreachable:
            raise
        except LonghaulError as error:
            self._record(delivery, failed(FolderNames(self._settings).in_text(str(error))))
            return
        if message is None:
            self._deliveries.record(delivery, VOID, "")
            return
        to = Receiver(delivery.wish, delivery.owner, delivery.secret)
        self._record(delivery, send(self._settings, to, delivery.id, message))

    def _message(self, delivery: Delivery) -> Message | None:
        """The message, which is composed once: a repeat has the same text."""
        if delivery.message is not None:
            kept: Message = json.loads(delivery.message)
            return kept
        message = compose(self._settings, self._store, delivery)
        if message is not None and not self._deliveries.keep_message(delivery, json.dumps(message)):
            return None
        return message

    def _record(self, delivery: Delivery, outcome: Outcome) -> None:
        self._deliveries.record(delivery, outcome.status, outcome.answer)
        about = (delivery.id, delivery.event, delivery.attempt, outcome.status)
        if outcome.status == DELIVERED:
            _LOG.info("message %s (%s), attempt %d: %s", *about)
        else:
            _LOG.warning("message %s (%s), attempt %d: %s: %s", *about, outcome.answer)


def deliver(settings: Settings, store: Store, stop: Stop) -> None:
    """Deliver the messages of a home's database until stopped."""
    Deliverer(settings, store, settings.origin).serve(stop)
