"""The run queue: runs that are wanted and not kept, their claims, and when claims expire.

    queued --claim--> running --keep--> done | missed                (the row of `work` goes with the last step)
       ^                 |--fail, give up--> failed, cancelled
       '--- its holder released it, or its lease expired, or it was wanted again while it was being cancelled

A claim is a lease: a dead holder delays a run for no longer than the lease. Its `fence` rises with every claim, and
the holder of an older one can no longer report on the run; only a finished result counts from any holder,
because it is the same result. The order is: higher priority, then the owner with the fewest running or who waits longest, then of this
owner the batch of runs with the fewest waiting, then the earliest.
"""

from __future__ import annotations

import json
import time
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from longhaul.orchestrator.database.connection import InDatabase, chunks, insert_new, new_keys
from longhaul.orchestrator.database.counters import add_counts
from longhaul.orchestrator.database.events import PROGRESS, say, say_all
from longhaul.orchestrator.database.lists.queue_order import first_in_order, is_free
from longhaul.orchestrator.database.outcomes import give_up, settle, wait_again
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.search_fields import run_traits
from longhaul.orchestrator.database.shared_texts import share_texts
from longhaul.orchestrator.database.statuses import LIVE
from longhaul.orchestrator.database.tables import DOCUMENTS, RUNS, WORK
from longhaul.orchestrator.database.word_index import add_words
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Row = dict[str, Any]
# Rows of this many runs are in memory at a time.
_BATCH = 500


@dataclass(frozen=True, slots=True, init=False)
class Wanted:
    """A wanted run: its id, its plan, and what it needs of a machine (`sandbox`, `programs`, `alone`, `root`, `hosts`).

    It holds the plan as the database does: those of a sweep of twenty thousand points take no more memory than their rows.
    """

    run_id: str
    needs: str
    # The kept run that this one is to be compared with; its own result is that comparison alone.
    rerun_of: str | None
    packed: bytes
    # Whether it captures packets, which is no part of its id.
    captures: bool

    def __init__(
        self,
        run_id: str,
        run: Mapping[str, Any],
        spec: Mapping[str, Any],
        needs: str = "sandbox",
        rerun_of: str | None = None,
    ) -> None:
        packed = zlib.compress(json.dumps({"run": run, "spec": spec, "rerun_of": rerun_of}).encode(), 1)
        fields = {
            "run_id": run_id,
            "needs": needs,
            "rerun_of": rerun_of,
            "packed": packed,
            "captures": "capture" in run,
        }
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    @property
    def run(self) -> Mapping[str, Any]:
        """Its run.json."""
        return unpacked_run(self.packed)


@dataclass(frozen=True, slots=True)
class Claim:
    """A claimed run."""

    run_id: str
    fence: int
    attempts: int
    owner: str
    needs: str
    run: Mapping[str, Any]
    spec: Mapping[str, Any]
    rerun_of: str | None = None


def enqueue(connection: Connection, runs: Sequence[Wanted], experiment: str, owner: str, priority: int) -> list[str]:
    """Queue runs within a transaction; the ids of those that were not queued before."""
    wanted = {one.run_id: one for one in runs}
    live: set[str] = set()
    for some in chunks(list(wanted)):
        live |= set(connection.execute(select(RUNS.c.id).where(RUNS.c.id.in_(some), RUNS.c.status.in_(LIVE))).scalars())
        raised = and_(WORK.c.run_id.in_(some), WORK.c.priority < priority)
        connection.execute(update(WORK).where(raised).values(priority=priority))
        # It is wanted again.
        connection.execute(update(WORK).where(WORK.c.run_id.in_(some)).values(cancel=False))
    for run_id in live:
        if wanted[run_id].captures:
            # One that has not begun captures these packets too.
            unclaimed = and_(WORK.c.run_id == run_id, WORK.c.claimed_by.is_(None))
            connection.execute(update(WORK).where(unclaimed).values(run=wanted[run_id].packed))
    fresh = [one for run_id, one in wanted.items() if run_id not in live]
    for some in chunks([one.run_id for one in fresh]):
        # Those that failed or were cancelled before get another try.
        connection.execute(delete(DOCUMENTS).where(DOCUMENTS.c.run_id.in_(some)))
        again = {"status": "queued", "started_at": None, "finished_at": None}
        connection.execute(update(RUNS).where(RUNS.c.id.in_(some)).values(again))
        wait_again(connection, some)
    at, at_s = now(), time.time()
    for first in range(0, len(fresh), _BATCH):
        batch = fresh[first : first + _BATCH]
        rows = [_run_row(one, experiment, owner, at) for one in batch]
        new = set(new_keys(connection, RUNS, rows))
        add_words(connection, [row for row in rows if row["id"] in new])
        insert_new(
            connection,
            WORK,
            [
                {
                    "run_id": one.run_id,
                    "run": one.packed,
                    "owner": owner,
                    "priority": priority,
                    "queued_s": at_s,
                    "position": position,
                    "needs": one.needs,
                    "attempts": 0,
                    "fence": 0,
                    "cancel": False,
                    "progress_s": 0.0,
                }
                for position, one in enumerate(batch, first)
            ],
        )
    return [one.run_id for one in fresh]


def _run_row(one: Wanted, experiment: str, owner: str, at: str) -> Row:
    run = one.run
    return {
        "id": one.run_id,
        "experiment": experiment,
        "status": "queued",
        "backend": run["backend"],
        "kernel": run["kernel"],
        "seed": run["seed"],
        "created_at": at,
        "virtual_s": run["duration_us"] / 1e6,
        "point": json.dumps(run["point"], sort_keys=True),
        "owner": owner,
        "pinned": False,
        **run_traits(one.run_id, experiment, owner, run, one.rerun_of),
    }


def _unpacked(packed: bytes) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(zlib.decompress(packed))
    return found


def unpacked_run(packed: bytes) -> Mapping[str, Any]:
    """The run.json of a queued run."""
    run: Mapping[str, Any] = _unpacked(packed)["run"]
    return run


def _given_up(connection: Connection, run_id: str, fence: int) -> bool | None:
    """Whether no experiment wants a claimed run any more; None if another holder has it by now."""
    query = select(WORK.c.cancel).where(WORK.c.run_id == run_id, WORK.c.fence == fence)
    return connection.execute(query).scalar_one_or_none()


def _put_back(connection: Connection, run_id: str, why: Mapping[str, Any], *, counted: bool) -> None:
    """Within a transaction: queue it again."""
    freed = {
        "claimed_by": None,
        "lease_until_s": None,
        "progress_s": 0.0,
        "attempts": WORK.c.attempts if counted else WORK.c.attempts - 1,
    }
    connection.execute(update(WORK).where(WORK.c.run_id == run_id).values(freed))
    connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(status="queued"))
    say(connection, "run.queued", why, run=run_id)
    add_counts(connection, {"retries": 1 if counted else 0})


class Work(InDatabase):
    """The run queue, for workers."""

    def claim(
        self,
        holder: str,
        count: int,
        *,
        lease_s: float,
        most_each: int,
        needs: Sequence[str] = ("sandbox", "programs", "alone", "root", "hosts"),
    ) -> list[Claim]:
        """At most `count` runs, in their order; no owner gets more than `most_each` at a time."""
        claims: list[Claim] = []
        while len(claims) < count:
            claim = self._claim_one(holder, lease_s, most_each, needs)
            if claim is None:
                break
            claims.append(claim)
        return claims

    def _claim_one(self, holder: str, lease_s: float, most_each: int, needs: Sequence[str]) -> Claim | None:
        now_s = time.time()
        free = is_free(now_s)
        with self._database.read() as connection:
            if connection.execute(select(WORK.c.run_id).where(free).limit(1)).first() is None:
                return None
        with self._database.write() as connection:
            while (row := first_in_order(connection, now_s, most_each, needs)) is not None and row.cancel:
                # Its last holder has not reported since.
                give_up(connection, [row.run_id])
            if row is None:
                return None
            claimed = {
                "claimed_by": holder,
                "lease_until_s": now_s + lease_s,
                "fence": row.fence + 1,
                "attempts": row.attempts + 1,
            }
            connection.execute(update(WORK).where(WORK.c.run_id == row.run_id).values(claimed))
            begun = {"status": "running", "started_at": now()}
            connection.execute(update(RUNS).where(RUNS.c.id == row.run_id).values(begun))
            kind = "run.retried" if row.attempts else "run.started"
            say(connection, kind, {"attempt": row.attempts + 1, "by": holder}, run=row.run_id)
        unpacked = _unpacked(row.run)
        return Claim(row.run_id, row.fence + 1, row.attempts + 1, row.owner, row.needs, **unpacked)

    def renew(
        self, holder: str, progress: Mapping[str, tuple[int, float]], lease_s: float
    ) -> tuple[set[str], set[str]]:
        """Keep claims, given as run -> (fence, virtual seconds): which are lost to another holder, and which are to be cancelled."""
        lost, cancelled = set(progress), set()
        with self._database.write() as connection:
            for some in chunks(list(progress)):
                for row in connection.execute(select(WORK).where(WORK.c.run_id.in_(some))).all():
                    fence, virtual_s = progress[row.run_id]
                    if (row.fence, row.claimed_by) != (fence, holder):
                        continue
                    lost.discard(row.run_id)
                    if row.cancel:
                        cancelled.add(row.run_id)
                    kept = {"lease_until_s": time.time() + lease_s, "progress_s": virtual_s}
                    connection.execute(update(WORK).where(WORK.c.run_id == row.run_id).values(kept))
                    if virtual_s > row.progress_s:
                        say(connection, PROGRESS, {"virtual_s": round(virtual_s, 3)}, run=row.run_id)
        return lost, cancelled

    def cancelled(self, holder: str) -> set[str]:
        """The runs of a holder that no experiment wants any more."""
        query = select(WORK.c.run_id).where(WORK.c.claimed_by == holder, WORK.c.cancel)
        with self._database.read() as connection:
            return set(connection.execute(query).scalars())

    def release(self, run_id: str, fence: int, why: Mapping[str, Any], *, counted: bool = True) -> None:
        """Queue a claimed run again if it is still wanted; it counts as an attempt only if `counted`."""
        with self._database.write() as connection:
            given_up = _given_up(connection, run_id, fence)
            if given_up:
                give_up(connection, [run_id])
            elif given_up is not None:
                _put_back(connection, run_id, why, counted=counted)

    def reclaim(self, holder: str) -> int:
        """Queue all claims again that this holder had before its restart; how many."""
        with self._database.write() as connection:
            its = WORK.c.claimed_by == holder
            give_up(connection, list(connection.execute(select(WORK.c.run_id).where(its, WORK.c.cancel)).scalars()))
            mine = list(connection.execute(select(WORK.c.run_id).where(its)).scalars())
            for some in chunks(mine):
                freed = {"claimed_by": None, "lease_until_s": None, "progress_s": 0.0}
                connection.execute(update(WORK).where(WORK.c.run_id.in_(some)).values(freed))
                connection.execute(update(RUNS).where(RUNS.c.id.in_(some)).values(status="queued"))
            say_all(connection, "run.queued", [(None, run_id, {"why": "its holder ended"}) for run_id in mine])
        return len(mine)

    def end(self, run_id: str, fence: int, status: str, document: RunDocument | None) -> bool:
        """Record the end of a claimed run that keeps no trace: it failed, was cancelled, or was a rerun.

        False if another holder has it by now, or if it was wanted again while it was being cancelled: then it is queued again.
        """
        with self._database.write() as connection:
            given_up = _given_up(connection, run_id, fence)
            if given_up is None:
                return False
            if status == "cancelled" and not given_up:
                _put_back(connection, run_id, {"why": "it is wanted again"}, counted=False)
                return False
            ended = {"status": status, "finished_at": now(), **share_texts(connection, document or {})}
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(ended))
            connection.execute(delete(DOCUMENTS).where(DOCUMENTS.c.run_id == run_id))
            connection.execute(insert(DOCUMENTS).values(run_id=run_id, document=json.dumps(document or {})))
            settle(connection, run_id, status, {"error": document["error"]} if document and "error" in document else {})
        return True

    def wanted(self, run_id: str) -> Wanted | None:
        """A run that waits or is running; None if no experiment wants it any more."""
        query = select(WORK.c.run, WORK.c.needs).where(WORK.c.run_id == run_id)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else Wanted(run_id, needs=row.needs, **_unpacked(row.run))

    def attempts(self, run_id: str) -> int:
        """How many times a run has been started; 0 if it is not wanted."""
        query = select(WORK.c.attempts).where(WORK.c.run_id == run_id)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one_or_none() or 0

    def waiting(self) -> tuple[int, float]:
        """How many runs wait, and for how many seconds the first has."""
        now_s = time.time()
        query = select(func.count(), func.min(WORK.c.queued_s)).where(is_free(now_s))
        with self._database.read() as connection:
            count, first_s = connection.execute(query).one()
        return count, max(0.0, now_s - first_s) if first_s is not None else 0.0

    def waiting_of(self, owner: str) -> int:
        """How many unfinished runs an owner has."""
        query = select(func.count()).where(WORK.c.owner == owner)
        with self._database.read() as connection:
            return connection.execute(query).scalar_one()

    def unplaced(self, needs: Sequence[str]) -> list[str]:
        """Waiting runs that need something other than these."""
        query = select(WORK.c.run_id).where(is_free(time.time()), WORK.c.needs.not_in(needs))
        with self._database.read() as connection:
            return list(connection.execute(query).scalars())

    def say_unplaced(self, waiting: Mapping[str, str]) -> None:
        """Record for followers of these runs why no present worker can run them."""
        with self._database.write() as connection:
            say_all(connection, "run.unplaced", [(None, run_id, {"why": why}) for run_id, why in waiting.items()])
