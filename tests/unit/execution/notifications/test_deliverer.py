"""Deliverers of several homes on one database send each message once, and none is lost while receivers fail."""

from __future__ import annotations

import ipaddress
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import update

from longhaul.orchestrator.database.access import deliveries
from longhaul.orchestrator.database.access.subscriptions import Subscriptions, Wish
from longhaul.orchestrator.database.access.tokens import Access, Caller
from longhaul.orchestrator.database.statuses import EXPERIMENT_FINISHED
from longhaul.orchestrator.database.tables import DELIVERIES
from longhaul.orchestrator.execution.notifications.deliverer import Deliverer
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.supervise import Stop
from tests.support.queue import Lab
from tests.support.receivers.webhooks import WebhookServer, receiving
from tests.support.waiting import wait_for

EXPERIMENTS = 12
USERS = 3


@pytest.fixture
def hooks() -> Iterator[WebhookServer]:
    with receiving() as server:
        yield server


def test_several_deliverers_send_each_message_once(
    tmp_path: Path, hooks: WebhookServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deliveries, "PAUSES_S", (0.2,) * 7)
    networks = (ipaddress.ip_network("127.0.0.0/8"),)
    settings = replace(load_settings(), home=tmp_path, database="", webhook_networks=networks)
    store = Store(settings)
    lab = Lab(store.database)
    for number in range(USERS):
        Access(lab.database).add_token(f"user{number}", "run")
        caller = Caller("", f"user{number}", "run")
        Subscriptions(lab.database).add(caller, Wish("webhook", hooks.url, (EXPERIMENT_FINISHED,), everyone=True))
    # Every third reply is an error.
    hooks.answers = [200, 500, 200] * EXPERIMENTS * USERS
    stop = Stop()
    threads = [threading.Thread(target=Deliverer(settings, store, f"home{n}").serve, args=[stop]) for n in range(3)]
    for thread in threads:
        thread.start()
    try:
        for number in range(EXPERIMENTS):
            lab.submit(f"{number:016x}", [f"{number:020x}"])
            lab.claim(1)
            lab.keep(f"{number:020x}")
        wait_for(lambda: not _waiting(lab), 120, lambda: _waiting(lab))
    finally:
        stop.set()
        for thread in threads:
            thread.join()
    received = Counter(post.id for post in hooks.posts)
    assert len(received) == EXPERIMENTS * USERS
    # A message came again only after an error, and each with one text.
    assert sum(received.values()) - len(received) == _errors(hooks)
    assert len({(post.id, post.body) for post in hooks.posts}) == len(received)
    store.database.close()


def _waiting(lab: Lab) -> int:
    with lab.database.write() as connection:
        waits = DELIVERIES.c.status == deliveries.WAITING
        return connection.execute(update(DELIVERIES).where(waits).values(made_at=DELIVERIES.c.made_at)).rowcount


def _errors(hooks: WebhookServer) -> int:
    """How many of the replies so far were errors."""
    return sum(place % 3 == 1 for place in range(len(hooks.posts)))
