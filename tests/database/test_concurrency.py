"""Concurrent threads and processes: every run has one holder at a time and one end, and followers miss no event."""

from __future__ import annotations

import random
import sqlite3
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.events import EventLog, say
from longhaul.orchestrator.database.leases import Leases
from longhaul.orchestrator.database.queue_view import Queue, read_queue
from longhaul.orchestrator.system.errors import ResultsError
from tests.support.queue import RUN, Lab, document, failure

_PROCESSES, _THREADS = 3, 3
_RUNS = 500


def _name(number: int) -> str:
    return f"run{number:017d}"


def _drain(url: str, process: int) -> list[tuple[str, int, str]]:
    """Claim and settle runs until none is left, with threads that share a database; return each claim and its end."""
    lab = Lab(url)

    def work(thread: int) -> list[tuple[str, int, str]]:
        got = []
        holder = f"holder-{process}-{thread}"
        chance = random.Random(holder)
        misses = 0
        while misses < 20:
            claims = lab.claim(chance.randint(1, 3), holder=holder, lease_s=60.0)
            misses = 0 if claims else misses + 1
            if not claims:
                time.sleep(0.01)
            progress = {claim.run_id: (claim.fence, chance.random()) for claim in claims}
            lost, _ = lab.work.renew(holder, progress, 60.0)
            assert lost == set()
            for claim in claims:
                end = chance.choice(["done", "done", "missed", "failed", "released"])
                if end == "released" and claim.attempts < 3:
                    lab.work.release(claim.run_id, claim.fence, {"why": "chance"})
                elif end in ("failed", "released"):
                    assert lab.work.end(claim.run_id, claim.fence, "failed", failure("chance"))
                    end = "failed"
                else:
                    lab.catalog.add(claim.run_id, document(claim.run_id, end), RUN)
                got.append((claim.run_id, claim.fence, end))
        return got

    with ThreadPoolExecutor(_THREADS) as threads:
        found = [one for some in threads.map(work, range(_THREADS)) for one in some]
    lab.database.close()
    return found


def test_each_of_500_runs_has_one_holder_at_a_time_and_one_end(url: str) -> None:
    lab = Lab(url)
    lab.submit("e", [_name(number) for number in range(_RUNS)])
    # Another experiment with some of the same runs.
    lab.submit("f", [_name(number) for number in range(0, _RUNS, 5)], owner="ben")
    followed: list[int] = []
    over = threading.Event()

    def follow() -> None:
        database = Database(url)
        log = EventLog(database)
        while True:
            last_look = over.is_set()
            events = log.after(followed[-1] if followed else 0)
            followed.extend(event["id"] for event in events)
            if not events and last_look:
                database.close()
                return
            time.sleep(0.01)

    follower = threading.Thread(target=follow)
    follower.start()
    with get_context("spawn").Pool(_PROCESSES) as pool:
        found = [
            one for some in pool.starmap(_drain, [(url, process) for process in range(_PROCESSES)]) for one in some
        ]
    over.set()
    follower.join()
    # No claim was given twice: every one has a different fence.
    assert len({(run_id, fence) for run_id, fence, _ in found}) == len(found)
    ends = {run_id: end for run_id, _, end in found if end != "released"}
    assert len(ends) == _RUNS == sum(end != "released" for _, _, end in found)
    counts = Counter(ends.values())
    assert lab.counts("e") == {
        "status": "failed", "total": _RUNS, "cached": 0, "cancelled": 0, **{end: counts[end] for end in ("done", "missed", "failed")}
    }  # fmt: skip
    ben = Counter(ends[_name(number)] for number in range(0, _RUNS, 5))
    assert {end: lab.counts("f")[end] for end in ben} == dict(ben)
    log = lab.events.after(0, 1_000_000)
    assert Counter(event["kind"] for event in log)["run.finished"] == _RUNS
    # A follower that reads all events after the last one it got has seen every event, in order.
    assert followed == [event["id"] for event in log]
    lab.database.close()


def test_ends_and_cancellations_together_count_every_run_once(url: str) -> None:
    lab = Lab(url)
    names = [_name(number) for number in range(120)]
    for number in range(12):
        lab.submit(f"e{number}", names[number * 10 : number * 10 + 10])
    with ThreadPoolExecutor(4) as threads:
        draining = threads.submit(_drain, url, 0)
        cancelling = threads.map(lambda number: lab.experiments.cancel(f"e{number}"), range(0, 12, 2))
        list(cancelling)
        draining.result()
    for number in range(12):
        found = lab.counts(f"e{number}")
        assert found["status"] not in ("queued", "running")
        assert sum(found[end] for end in ("done", "missed", "failed", "cancelled")) == 10
    lab.database.close()


def test_concurrent_requests_with_one_key_make_one_experiment(url: str) -> None:
    Lab(url).database.close()
    labs = [Lab(url) for _ in range(8)]
    with ThreadPoolExecutor(8) as threads:
        ids = list(
            threads.map(
                lambda pair: pair[1].submit(f"e{pair[0]}", ["a", "b"], idempotency_key="k", asked_sha256="same"),
                enumerate(labs),
            )
        )
    assert len(set(ids)) == 1
    assert [row["id"] for row in labs[0].experiments.page(10)] == [ids[0]]
    assert labs[0].names(5) == ["a", "b"]
    for lab in labs:
        lab.database.close()


def test_a_new_file_that_another_process_is_writing_to_is_waited_for(tmp_path: Path) -> None:
    """Only the first writer of a file makes its log, and SQLite refuses a second at once, with no regard to its timeout."""
    file = tmp_path / "catalogue.sqlite"
    other = sqlite3.connect(file, isolation_level=None, check_same_thread=False)
    other.execute("CREATE TABLE another (number INTEGER)")
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.3, other.execute, ["COMMIT"]).start()
    database = Database(f"sqlite:///{file}")
    with database.write() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
    database.close()
    other.close()


def test_concurrent_requests_for_a_lease_give_it_one_holder(url: str) -> None:
    """Twelve holders take the lease in turns for a moment; each is the only one, and fences rise."""
    databases = [Database(url) for _ in range(4)]
    inside: list[str] = []
    fences: list[int] = []

    def work(number: int) -> None:
        leases = Leases(databases[number % 4])
        for _ in range(10):
            while (fence := leases.take("root", f"holder{number}", 30.0)) is None:
                time.sleep(0.002)
            inside.append(f"holder{number}")
            fences.append(fence)
            assert inside == [f"holder{number}"]
            lease = leases.get("root")
            assert lease is not None and (lease["holder"], lease["fence"]) == (f"holder{number}", fence)
            inside.clear()
            assert leases.give_back("root", f"holder{number}", fence)
            assert not leases.renew("root", f"holder{number}", fence, 30.0)

    with ThreadPoolExecutor(12) as threads:
        list(threads.map(work, range(12)))
    assert fences == list(range(1, 121))
    for database in databases:
        database.close()


def test_a_slow_writer_hides_no_event_from_readers(url: str) -> None:
    """An event that is written first and committed last has the larger id, or the later one waits for it."""
    database = Database(url)
    log = EventLog(database)
    log.newest()
    begun = threading.Event()

    def slowly() -> None:
        with database.write() as connection:
            say(connection, "slow", {})
            begun.set()
            time.sleep(0.3)

    thread = threading.Thread(target=slowly)
    thread.start()
    begun.wait()
    other = Database(url)
    with other.write() as connection:
        say(connection, "quick", {})
    other.close()
    seen = log.after(0)
    thread.join()
    rest = log.after(seen[-1]["id"])
    assert [event["kind"] for event in seen + rest] == ["slow", "quick"]
    database.close()


def test_the_queue_is_read_at_one_moment_while_runs_are_taken_and_given_back(url: str) -> None:
    lab = Lab(url)
    lab.submit("e", [_name(number) for number in range(40)])
    over = threading.Event()

    def take_and_give_back() -> None:
        while not over.is_set():
            for claim in lab.claim(20):
                lab.work.release(claim.run_id, claim.fence, {"why": "another may have it"}, counted=False)

    holder = threading.Thread(target=take_and_give_back)
    holder.start()
    try:
        looks: list[Queue] = []
        # Long enough to look between the removal of a run and its return.
        while len(looks) < 200 or len({look.waiting for look in looks}) == 1:
            looks.append(read_queue(lab.database, time.time(), 500))
    finally:
        over.set()
        holder.join()
    for look in looks:
        assert len(look.running) + len(look.next) == 40
        assert len(look.next) == look.waiting
        assert sum(row["running"] for row in look.owners) == len(look.running)
    lab.database.close()


def test_an_unreachable_database_is_reported_and_comes_back(postgres: Any) -> None:
    lab = Lab(postgres.create("away"))
    lab.submit("e", ["a"])
    postgres.kill()
    try:
        lab.claim()
    except ResultsError as error:
        assert "is it running" in str(error)
    else:
        raise AssertionError("there was no database to answer")
    postgres.start()
    (claim,) = lab.claim()
    lab.keep("a")
    assert (claim.run_id, lab.counts("e")["status"]) == ("a", "done")
    lab.database.close()
