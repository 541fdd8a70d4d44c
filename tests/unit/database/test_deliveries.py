"""Messages are queued with their event, once for a subscription, and claimed by one deliverer at a time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from longhaul.orchestrator.database.access.deliveries import (
    DELIVERED,
    FAILED,
    PAUSES_S,
    REFUSED,
    VOID,
    WAITING,
    Deliveries,
    Delivery,
)
from longhaul.orchestrator.database.access.subscriptions import Subscriptions, Wish
from longhaul.orchestrator.database.access.tokens import Access, Caller
from longhaul.orchestrator.database.dump import dump, load
from longhaul.orchestrator.database.statuses import MOST_SUBSCRIPTIONS, NOTIFIED
from longhaul.orchestrator.database.tables import DELIVERIES, SUBSCRIPTIONS
from longhaul.orchestrator.system.errors import Conflict, NotFound, OverLimit
from tests.support.queue import Lab
from tests.support.queue import on_sqlite as on_sqlite

FINISHED, MISSED, BROKEN = NOTIFIED


def _subscribes(lab: Lab, *events: str, owner: str = "ada", **more: Any) -> str:
    wish = Wish("webhook", "https://hooks.example.org", events, **more)
    return Subscriptions(lab.database).add(Caller("", owner, "run"), wish)[0].id


def _messages(lab: Lab, subscription: str) -> list[tuple[str, str, int]]:
    return list(Deliveries(lab.database).statuses(subscription))


def _runs(lab: Lab, experiment: str, runs: list[str], status: str = "done", **more: Any) -> str:
    lab.submit(experiment, runs, **more)
    for claim in lab.claim(len(runs)):
        lab.keep(claim.run_id, status)
    return experiment


def _claims(lab: Lab, holder: str = "one", lease_s: float = 60.0) -> Delivery:
    found = Deliveries(lab.database).claim(holder, lease_s)
    assert found is not None
    return found


def _make_due(lab: Lab) -> None:
    with lab.database.write() as connection:
        connection.execute(update(DELIVERIES).values(due_s=0.0))


def test_an_end_is_queued_for_those_who_want_it(lab: Lab) -> None:
    own = _subscribes(lab, FINISHED)
    others = _subscribes(lab, FINISHED, owner="bob")
    everyone = _subscribes(lab, FINISHED, owner="bob", everyone=True)
    named, otherwise = _subscribes(lab, FINISHED, name="x*"), _subscribes(lab, FINISHED, name="y*")
    only_missed = _subscribes(lab, MISSED)
    _runs(lab, "e", ["a", "b"])
    assert [len(_messages(lab, one)) for one in (own, others, everyone, named, otherwise, only_missed)] == [
        1,
        0,
        1,
        1,
        0,
        0,
    ]
    # One that wants a single experiment of another user.
    lab.submit("f", ["c"], owner="bob")
    lab.claim(1)
    single = _subscribes(lab, FINISHED, experiment_id="f")
    _runs(lab, "g", ["d"], owner="bob")
    assert _messages(lab, single) == []
    lab.keep("c")
    assert _messages(lab, single) == [(FINISHED, WAITING, 0)]


def test_nothing_is_queued_before_the_end(lab: Lab) -> None:
    one = _subscribes(lab, *NOTIFIED)
    lab.submit("e", ["a", "b"])
    lab.claim(1)
    lab.keep("a")
    assert _messages(lab, one) == []
    lab.experiments.cancel("e")
    assert _messages(lab, one) == [(FINISHED, WAITING, 0)]
    assert _claims(lab).facts["experiment"]["status"] == "cancelled"


def test_the_first_missed_run_is_reported_at_once_and_no_other(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED, MISSED)
    lab.submit("e", ["a", "b", "c"])
    for run, status in (("a", "done"), ("b", "missed"), ("c", "missed")):
        lab.claim(1)
        lab.keep(run, status)
        expected = {"a": [], "b": [MISSED], "c": [MISSED, FINISHED]}[run]
        assert sorted(event for event, _, _ in _messages(lab, one)) == sorted(expected)
    # An experiment whose runs are kept ends in its submission.
    lab.submit("f", ["b"])
    assert sorted(event for event, _, _ in _messages(lab, one)) == sorted([MISSED, FINISHED] * 2)


def test_an_end_is_compared_with_the_baseline_of_the_branch(lab: Lab) -> None:
    main, other = _subscribes(lab, BROKEN), _subscribes(lab, BROKEN, branch="other")
    base = _runs(lab, "base", ["a"])
    lab.experiments.set_baseline("of-another-name", "main", base, "ada")
    _runs(lab, "d", ["d"])
    lab.experiments.set_baseline("x", "main", base, "ada")
    assert _messages(lab, main) == []
    _runs(lab, "e", ["b"])
    assert (len(_messages(lab, main)), len(_messages(lab, other))) == (1, 0)
    assert _claims(lab).facts["baseline"] == {"branch": "main", "experiment_id": "base"}
    # What failed is not compared.
    lab.submit("f", ["c"])
    (claim,) = lab.claim(1)
    lab.work.end("c", claim.fence, "failed", None)
    assert len(_messages(lab, main)) == 1


def test_one_holder_at_a_time_sends_a_message(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    found: list[Delivery | None] = []
    deliveries = Deliveries(lab.database)
    threads = [threading.Thread(target=lambda name=f"d{n}": found.append(deliveries.claim(name, 60))) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (claimed,) = [one for one in found if one is not None]
    deliveries.record(claimed, DELIVERED, "200 OK")
    assert _messages(lab, one) == [(FINISHED, DELIVERED, 1)]
    assert deliveries.claim("other", 60) is None
    assert lab.counted.all()["messages_delivered"] == 1
    last = Subscriptions(lab.database).get(one)
    assert (last.last_event, last.last_status, last.last_answer) == (FINISHED, DELIVERED, "200 OK")


def test_a_slow_receiver_of_one_user_leaves_the_others_theirs(lab: Lab) -> None:
    _subscribes(lab, FINISHED)
    _subscribes(lab, FINISHED)
    _subscribes(lab, FINISHED, owner="bob", everyone=True)
    _runs(lab, "e", ["a"])
    first, second = _claims(lab), _claims(lab)
    assert {first.owner, second.owner} == {"ada", "bob"}
    assert Deliveries(lab.database).claim("one", 60) is None


def test_a_killed_holder_is_followed_by_another_with_the_same_message(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    deliveries = Deliveries(lab.database)
    first = _claims(lab, "one", lease_s=-1.0)
    assert deliveries.keep_message(first, '{"type":"x"}')
    again = _claims(lab, "two")
    assert (again.id, again.attempt, again.message) == (first.id, 2, '{"type":"x"}')
    # The first one is too late.
    deliveries.record(first, DELIVERED, "late")
    assert _messages(lab, one) == [(FINISHED, WAITING, 2)]
    assert not deliveries.keep_message(first, "{}")
    # After a restart the same holder has its own claims again at once.
    deliveries.give_back("two")
    assert _claims(lab, "two").attempt == 3


def test_a_receiver_that_is_away_is_tried_later_and_not_forever(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    deliveries = Deliveries(lab.database)
    for attempt in range(1, len(PAUSES_S) + 2):
        claimed = _claims(lab)
        assert claimed.attempt == attempt
        deliveries.record(claimed, WAITING, "no route to host")
        assert deliveries.claim("one", 60) is None
        _make_due(lab)
    assert _messages(lab, one) == [(FINISHED, FAILED, len(PAUSES_S) + 1)]
    assert lab.counted.all()["messages_failed"] == 1
    last = Subscriptions(lab.database).get(one)
    assert last.last_answer == f"no route to host; this was the last of {len(PAUSES_S) + 1} attempts"
    assert list(PAUSES_S) == sorted(PAUSES_S)


def test_a_message_that_is_not_needed_is_not_shown(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    Deliveries(lab.database).record(_claims(lab), VOID, "")
    assert _messages(lab, one) == [(FINISHED, VOID, 1)]
    assert Subscriptions(lab.database).get(one).last_at is None


def test_ended_messages_are_deleted_after_a_month_and_waiting_ones_never(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    _runs(lab, "f", ["b"])
    deliveries = Deliveries(lab.database)
    deliveries.record(_claims(lab), REFUSED, "")
    assert deliveries.prune() == 0
    _make_due(lab)
    assert deliveries.prune() == 1
    assert [status for _, status, _ in _messages(lab, one)] == [WAITING]


def test_old_subscriptions_to_an_ended_experiment_are_deleted(lab: Lab) -> None:
    lab.submit("e", ["a"])
    lab.submit("f", ["b"])
    ended, live, all_of_them = (_subscribes(lab, FINISHED, experiment_id=one) for one in ("e", "f", None))
    lab.claim(1)
    lab.keep("a")
    Deliveries(lab.database).prune()
    assert len(Subscriptions(lab.database).of("ada")) == 3
    with lab.database.write() as connection:
        connection.execute(update(SUBSCRIPTIONS).values(created_at="2020-01-01T00:00:00.000+00:00"))
    Deliveries(lab.database).prune()
    assert {one.id for one in Subscriptions(lab.database).of("ada")} == {live, all_of_them}
    assert ended not in {live, all_of_them}


def test_a_deleted_subscription_takes_its_messages_along(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    Subscriptions(lab.database).remove(one)
    assert Deliveries(lab.database).claim("one", 60) is None
    with pytest.raises(NotFound):
        Subscriptions(lab.database).get(one)


def test_subscriptions_and_trials_have_limits(lab: Lab) -> None:
    one = _subscribes(lab, FINISHED)
    for _ in range(MOST_SUBSCRIPTIONS - 1):
        _subscribes(lab, FINISHED)
    with pytest.raises(Conflict, match="no more are allowed"):
        _subscribes(lab, FINISHED)
    _subscribes(lab, FINISHED, owner="bob")
    with pytest.raises(NotFound):
        _subscribes(lab, FINISHED, owner="bob", experiment_id="nowhere")
    subscriptions = Subscriptions(lab.database)
    subscriptions.begin_trial(one)
    with pytest.raises(OverLimit, match="try again"):
        subscriptions.begin_trial(one)


def test_only_users_with_access_receive(lab: Lab) -> None:
    subscriptions, access = Subscriptions(lab.database), Access(lab.database)
    assert not subscriptions.may_receive("ada", by_proxy=False)
    assert subscriptions.may_receive("ada", by_proxy=True)
    access.add_token("ada", "run")
    assert subscriptions.may_receive("ada", by_proxy=False)
    access.revoke("ada")
    assert not subscriptions.may_receive("ada", by_proxy=False)
    # A token of the same name brings them back; one that has expired does not.
    access.add_token("ada", "run", 1e-6)
    assert not subscriptions.may_receive("ada", by_proxy=False)
    access.revoke("ada")
    access.add_token("ada", "read", 3600.0)
    assert subscriptions.may_receive("ada", by_proxy=False)


def test_a_restored_database_sends_what_waited_under_the_same_ids(lab: Lab, tmp_path: Path) -> None:
    one = _subscribes(lab, FINISHED)
    _runs(lab, "e", ["a"])
    claimed = _claims(lab)
    other = Lab(f"sqlite:///{tmp_path / 'restored.sqlite'}")
    load(other.database, dump(lab.database), "a backup", lambda: None)
    assert _claims(other, "elsewhere").id == claimed.id
    assert Subscriptions(other.database).secret(one) == Subscriptions(lab.database).secret(one) != ""
    other.database.close()
