"""The run queue: its order, its claims, and how ends are counted, once."""

from __future__ import annotations

import random
import time

import pytest

from longhaul.orchestrator.database.queue_view import read_queue
from longhaul.orchestrator.system.errors import Conflict
from tests.support.queue import RUN, Lab, document, failure
from tests.support.queue import on_sqlite as on_sqlite


def test_an_experiment_is_done_when_its_last_run_is(lab: Lab) -> None:
    lab.submit("e", ["a", "b"])
    first, second = lab.claim(2)
    assert (first.run_id, first.fence, first.attempts, first.run["duration_us"]) == ("a", 1, 1, 3_000_000)
    lab.keep("a")
    assert lab.counts("e") | {"done": 1, "status": "running"} == lab.counts("e")
    lab.keep("b", "missed")
    assert lab.counts("e") == {
        "status": "missed", "total": 2, "cached": 0, "done": 1, "missed": 1, "failed": 0, "cancelled": 0
    }  # fmt: skip
    assert second.run_id == "b"
    kinds = [event["kind"] for event in lab.events.of_experiment("e", 0)]
    assert kinds == ["experiment.queued", "run.queued", "run.queued", "run.started", "run.started", "run.finished", "run.finished", "experiment.finished"]  # fmt: skip


def test_a_run_that_is_kept_twice_counts_once(lab: Lab) -> None:
    lab.submit("e", ["a", "b"])
    lab.claim(1)
    lab.keep("a")
    lab.keep("a")
    assert lab.counts("e")["done"] == 1


def test_a_kept_run_is_not_run_again(lab: Lab) -> None:
    lab.keep("a")
    lab.submit("e", ["a", "b"])
    assert lab.names(5) == ["b"]
    lab.keep("b")
    assert lab.counts("e") | {"cached": 1, "done": 2, "status": "done"} == lab.counts("e")
    lab.submit("f", ["a", "b"])
    assert lab.counts("f") | {"cached": 2, "status": "done"} == lab.counts("f")
    assert lab.events.of_experiment("f", 0)[-1]["kind"] == "experiment.finished"


def test_a_run_of_two_experiments_is_run_once_and_ends_for_both(lab: Lab) -> None:
    lab.submit("e", ["a"])
    lab.submit("f", ["a", "a"], owner="ben")
    assert lab.names(5) == ["a"]
    lab.keep("a")
    assert (lab.counts("e")["status"], lab.counts("f")["status"], lab.counts("f")["done"]) == ("done", "done", 2)


def test_the_order_is_priority_then_fair_then_first_come(lab: Lab) -> None:
    lab.submit("e", ["a1", "a2", "a3"], owner="ada")
    lab.submit("f", ["b1", "b2"], owner="ben")
    lab.submit("g", ["c1"], owner="cy", priority=1)
    # Ada has one running when Ben's first comes, and so on, turn by turn.
    assert lab.names(6) == ["c1", "a1", "b1", "a2", "b2", "a3"]


@pytest.mark.parametrize("seed", range(5))
def test_runs_are_taken_in_the_order_that_the_queue_shows(lab: Lab, seed: int) -> None:
    chance = random.Random(seed)
    for number in range(8):
        runs = [f"{number}-{place}" for place in range(chance.randrange(1, 6))]
        lab.submit(f"e{number}", runs, owner=chance.choice(("ada", "ben", "cy")), priority=chance.choice((0, 0, 1)))
    while waiting := read_queue(lab.database, time.time(), 100).next:
        assert lab.names(1) == [waiting[0]["run_id"]]
        if chance.random() < 0.3:
            running = read_queue(lab.database, time.time(), 100).running
            lab.keep(chance.choice(running)["run_id"])


def test_one_run_does_not_wait_for_the_sweep_of_its_owner(lab: Lab) -> None:
    lab.submit("sweep", [f"s{number}" for number in range(5)])
    assert lab.names(1) == ["s0"]
    lab.submit("short", ["a"])
    lab.submit("urgent", ["b1", "b2", "b3", "b4", "b5"], priority=1)
    assert lab.names(20) == ["b1", "b2", "b3", "b4", "b5", "a", "s1", "s2", "s3", "s4"]


def test_a_changed_priority_moves_waiting_runs_and_none_below_what_others_want(lab: Lab) -> None:
    lab.submit("e", ["a", "both"], owner="ada")
    lab.submit("f", ["b", "both"], owner="ben", priority=3)
    lab.submit("g", ["c"], owner="ada")
    assert lab.experiments.give_priority("g", 9)
    assert lab.names(1) == ["c"]
    assert lab.experiments.give_priority("f", 5)
    assert lab.experiments.give_priority("f", -5)
    assert lab.experiments.give_priority("e", 2)
    assert [(row["run_id"], row["priority"]) for row in read_queue(lab.database, time.time(), 9).next] == [
        ("a", 2), ("both", 2), ("b", -5),
    ]  # fmt: skip
    lab.experiments.cancel("g")
    assert not lab.experiments.give_priority("g", 1)


def test_no_owner_gets_more_than_their_share(lab: Lab) -> None:
    lab.submit("e", ["a1", "a2", "a3"], owner="ada")
    lab.submit("f", ["b1"], owner="ben")
    assert lab.names(9, most_each=2) == ["a1", "b1", "a2"]
    lab.keep("a1")
    assert lab.names(9, most_each=2) == ["a3"]


def test_an_expired_claim_goes_to_another_holder_and_the_old_one_is_informed(lab: Lab) -> None:
    lab.submit("e", ["a"])
    (late,) = lab.claim(lease_s=0.0)
    time.sleep(0.01)
    (now,) = lab.claim(holder="two")
    assert (now.fence, now.attempts) == (2, 2)
    assert lab.work.renew("one", {"a": (late.fence, 1.0)}, 10.0) == ({"a"}, set())
    assert lab.work.renew("two", {"a": (now.fence, 1.0)}, 10.0) == (set(), set())
    assert not lab.work.end("a", late.fence, "failed", failure())
    assert lab.counts("e")["status"] == "queued"
    assert lab.work.end("a", now.fence, "failed", failure())
    assert lab.counts("e") | {"status": "failed", "failed": 1} == lab.counts("e")


def test_a_result_counts_from_any_holder(lab: Lab) -> None:
    lab.submit("e", ["a"])
    lab.claim(lease_s=0.0)
    time.sleep(0.01)
    lab.claim(holder="two")
    lab.keep("a")
    assert lab.counts("e")["status"] == "done"
    assert lab.work.renew("two", {"a": (2, 1.0)}, 10.0) == ({"a"}, set())


def test_runs_of_a_dead_holder_are_queued_again_in_their_old_place(lab: Lab) -> None:
    lab.submit("e", ["a", "b", "c"])
    assert lab.names(2) == ["a", "b"]
    assert lab.work.reclaim("two") == 0
    assert lab.work.reclaim("one") == 2
    assert lab.names(5) == ["a", "b", "c"]


def test_cancelling_gives_up_runs_that_no_other_experiment_wants(lab: Lab) -> None:
    lab.submit("e", ["a", "b", "shared"])
    lab.submit("f", ["shared"], owner="ben")
    assert lab.names(1) == ["a"]
    lab.experiments.cancel("e")
    assert lab.counts("e") | {"status": "cancelled", "cancelled": 3} == lab.counts("e")
    finished = lab.events.of_experiment("e", 0)[-1]
    assert finished["kind"] == "experiment.finished"
    assert finished["data"] == {"status": "cancelled", "total": 3, "done": 0, "missed": 0, "failed": 0, "cancelled": 3}
    assert lab.work.cancelled("one") == {"a"}
    assert lab.names(5) == ["shared"]
    assert lab.work.end("a", 1, "cancelled", None)
    lab.keep("shared")
    assert lab.counts("f")["status"] == "done"
    assert lab.counts("e")["cancelled"] == 3, "an end after the cancellation changes nothing"
    lab.experiments.cancel("e")
    statuses = {row["id"]: row["status"] for row in lab.catalog.page(10)}
    assert statuses == {"a": "cancelled", "b": "cancelled", "shared": "done"}


def test_a_run_that_is_wanted_again_while_it_is_given_up_goes_back_to_the_queue(lab: Lab) -> None:
    lab.submit("e", ["a"])
    (claim,) = lab.claim()
    lab.experiments.cancel("e")
    assert lab.work.cancelled("one") == {"a"}, "its holder begins to end its guest"
    lab.submit("f", ["a"], owner="ben")
    assert not lab.work.end("a", claim.fence, "cancelled", None)
    assert (lab.counts("e")["status"], lab.counts("f")["cancelled"]) == ("cancelled", 0)
    (again,) = lab.claim()
    assert (again.run_id, again.attempts) == ("a", 1), "a cancelled attempt does not count for the next experiment"
    lab.keep("a")
    assert lab.counts("f") | {"status": "done", "done": 1} == lab.counts("f")


@pytest.mark.parametrize("ended", ["its worker is lost", "its dispatcher starts again", "its lease runs out"])
def test_a_cancelled_run_is_not_queued_again_whatever_happens_to_its_holder(lab: Lab, ended: str) -> None:
    lab.submit("e", ["a"])
    (claim,) = lab.claim(lease_s=-1.0 if ended == "its lease runs out" else 10.0)
    lab.experiments.cancel("e")
    if ended == "its worker is lost":
        lab.work.release("a", claim.fence, {"why": ended})
    elif ended == "its dispatcher starts again":
        assert lab.work.reclaim("one") == 0
    assert lab.names(1, holder="two") == []
    assert lab.catalog.status("a") == "cancelled"
    assert lab.work.waiting() == (0, 0.0)


def test_an_experiment_that_counted_a_failure_waits_for_the_retry_of_another(lab: Lab) -> None:
    lab.submit("e", ["a", "b"])
    (claim,) = lab.claim()
    lab.work.end("a", claim.fence, "failed", failure())
    lab.submit("f", ["a"], owner="ben")
    assert lab.counts("e")["failed"] == 0
    lab.keep("a")
    assert lab.counts("f")["status"] == "done"
    assert lab.counts("e") | {"status": "running", "done": 1} == lab.counts("e"), "b is still to come"
    lab.keep("b")
    assert lab.counts("e") | {"status": "done", "done": 2, "failed": 0} == lab.counts("e")


def test_a_result_that_comes_after_its_run_was_given_up_is_kept_and_not_counted_again(lab: Lab) -> None:
    lab.submit("e", ["a", "b"])
    (claim, _) = lab.claim(2)
    lab.work.end("a", claim.fence, "failed", failure("its worker is gone"))
    lab.keep("a")
    assert lab.counts("e") | {"status": "running", "failed": 1, "done": 0} == lab.counts("e")
    lab.keep("b")
    assert lab.counts("e") | {"status": "failed", "failed": 1, "done": 1} == lab.counts("e")
    lab.submit("f", ["a"])
    assert lab.counts("f") | {"status": "done", "cached": 1} == lab.counts("f")


def test_a_run_given_back_without_an_attempt_is_not_counted(lab: Lab) -> None:
    lab.submit("e", ["a"])
    for _ in range(3):
        (claim,) = lab.claim()
        lab.work.release("a", claim.fence, {"why": "no scheduler"}, counted=False)
    (claim,) = lab.claim()
    assert (claim.attempts, claim.fence) == (1, 4)
    lab.work.release("a", claim.fence, {"why": "its worker is gone"})
    (claim,) = lab.claim()
    assert (claim.attempts, claim.fence) == (2, 5)


def test_a_failed_run_is_retried_when_it_is_submitted_again(lab: Lab) -> None:
    lab.submit("e", ["a"])
    (claim,) = lab.claim()
    lab.work.end("a", claim.fence, "failed", failure())
    lab.submit("f", ["a"])
    assert lab.names(1) == ["a"]
    lab.keep("a")
    assert (lab.counts("e")["status"], lab.counts("f")["status"]) == ("failed", "done")


def test_a_key_submits_once_and_only_the_same(lab: Lab) -> None:
    assert lab.submit("e", ["a"], idempotency_key="k", asked_sha256="1") == "e"
    assert lab.submit("f", ["a"], idempotency_key="k", asked_sha256="1") == "e"
    assert lab.submit("g", ["a"], idempotency_key="k", asked_sha256="1", owner="ben") == "g"
    with pytest.raises(Conflict, match="another experiment, e"):
        lab.submit("h", ["b"], idempotency_key="k", asked_sha256="2")


def test_an_experiment_lists_page_by_page(lab: Lab) -> None:
    for number in range(5):
        lab.submit(f"e{number}", ["a"])
    first = lab.experiments.page(2)
    last = first[-1]["created_at"], first[-1]["id"]
    names = [row["id"] for row in first + lab.experiments.page(9, after=last)]
    assert names == ["e4", "e3", "e2", "e1", "e0"]
    assert [row["id"] for row in lab.experiments.page(9, oldest_first=True)] == names[::-1]


def test_a_lease_has_one_holder_until_it_ends(lab: Lab) -> None:
    assert lab.leases.take("root", "ada", 10.0) == 1
    assert lab.leases.take("root", "ben", 10.0) is None
    assert not lab.leases.give_back("root", "ben", 1)
    assert lab.leases.renew("root", "ada", 1, 0.0)
    time.sleep(0.01)
    assert lab.leases.take("root", "ben", 10.0) == 2
    assert not lab.leases.renew("root", "ada", 1, 10.0), "a lease that was lost stays lost"
    (lease,) = lab.leases.all()
    assert (lease["name"], lease["holder"], lease["fence"]) == ("root", "ben", 2)
    assert lease == lab.leases.get("root")


def test_finished_runs_are_counted_once_and_stay_counted_when_deleted(lab: Lab) -> None:
    lab.submit("e", ["a", "b"])
    lab.catalog.add("a", document("a") | {"retries": 1}, RUN)
    lab.catalog.add("a", document("a") | {"retries": 1}, RUN)
    (claim,) = lab.claim()
    lab.work.release(claim.run_id, claim.fence, {"why": "x"})
    (claim,) = lab.claim()
    lab.work.release(claim.run_id, claim.fence, {"why": "x"}, counted=False)
    lab.catalog.remove(["a"])
    assert lab.counted.all() == {"virtual_s": 3.0, "wall_s": 0.1, "retries": 2.0, "guest_deaths": 1.0}


def test_a_lease_has_the_time_at_which_its_holder_took_it(lab: Lab) -> None:
    assert lab.leases.take("h", "ada", 60) is not None
    first = lab.leases.get("h")
    assert lab.leases.take("h", "ada", 60) is not None
    again = lab.leases.get("h")
    assert first is not None and again is not None
    assert time.time() - 5 < first["since_s"] == again["since_s"]
    lab.leases.give_back("h", "ada", again["fence"])
    assert lab.leases.take("h", "bob", 60) is not None
    other = lab.leases.get("h")
    assert other is not None
    assert other["since_s"] > first["since_s"]


def test_waiting_samples_for_prometheus_are_the_sum_and_the_oldest(lab: Lab) -> None:
    now_s = time.time()
    lab.counted.heard("one", now_s - 50, 100, 5, 0)
    lab.counted.heard("two", now_s - 20, 30, 7, 1)
    assert lab.counted.export().spool_bytes == 130
    assert 50 <= lab.counted.export().lag_s < 60
    lab.counted.heard("one", None, 0, 5, 0)
    assert 20 <= lab.counted.export().lag_s < 30
    assert lab.counted.all() == {"samples": 17.0, "refused_samples": 1.0}
