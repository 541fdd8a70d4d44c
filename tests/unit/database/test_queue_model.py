"""The queue under any order of events: no experiment is lost, ends for another's reason, or is counted twice.

Made-up users submit, cancel and submit again; made-up holders claim, deliver results, release, die and return too late. The database
is checked against its invariants after every step, and at the end every run that is still wanted gets done.
"""

from __future__ import annotations

import random

import pytest
from sqlalchemy import delete, select

from longhaul.orchestrator.database.statuses import ENDS, KEPT, LIVE
from longhaul.orchestrator.database.tables import EXPERIMENT_RUNS, EXPERIMENTS, METADATA, RUNS, WORK
from longhaul.orchestrator.database.work import Claim
from tests.support.queue import Lab, failure
from tests.support.queue import on_sqlite as on_sqlite

_SEEDS, _AT_ONCE, _STEPS = 40, 10, 50
_HOLDERS = ("one", "two")


class Bustle:
    """`claims` are those that holders assume, rightly or not, and whether they know of a cancellation."""

    def __init__(self, lab: Lab, seed: int) -> None:
        self.lab = lab
        self.chance = random.Random(seed)
        self.claims: list[tuple[str, Claim, bool]] = []
        self.experiments: list[str] = []
        self.given_up: set[str] = set()
        self.story: list[str] = []

    def step(self) -> None:
        """One random event."""
        happens = {
            self.a_user_submits: 3,
            self.a_user_cancels: 3 * bool(self.experiments),
            self.a_holder_claims: 4,
            self.a_holder_reads_cancellations: 3,
            self.a_claim_ends: 4 * bool(self.claims),
            self.a_holder_dies_and_returns: 1,
            self.a_kept_run_is_removed: 1,
        }
        (what,) = self.chance.choices(list(happens), list(happens.values()))
        self.story.append(f"{what.__name__}: {what()}")

    def a_user_submits(self) -> str:
        name = f"e{len(self.experiments)}"
        runs = self.chance.sample("abcd", self.chance.randint(1, 3))
        self.lab.submit(name, runs, owner=self.chance.choice(("ada", "ben")))
        self.experiments.append(name)
        return f"{name} of {runs}"

    def a_user_cancels(self) -> str:
        name = self.chance.choice(self.experiments)
        if self.lab.counts(name)["status"] in LIVE:
            self.given_up.add(name)
        self.lab.experiments.cancel(name)
        return name

    def a_holder_claims(self) -> str:
        holder = self.chance.choice(_HOLDERS)
        # A lease that has run out already: another holder may take the run, and the old one does not notice.
        lease_s = self.chance.choice((60.0, 60.0, -1.0))
        claims = self.lab.claim(holder=holder, lease_s=lease_s)
        self.claims += [(holder, claim, False) for claim in claims]
        return f"{holder}, for {lease_s} s: {[claim.run_id for claim in claims]}"

    def a_holder_reads_cancellations(self) -> str:
        holder = self.chance.choice(_HOLDERS)
        its = {claim.run_id: (claim.fence, 0.0) for who, claim, _ in self.claims if who == holder}
        lost, unwanted = self.lab.work.renew(holder, its, 60.0)
        informed = lost | unwanted | self.lab.work.cancelled(holder)
        self.claims = [
            (who, one, known or (who == holder and one.run_id in informed)) for who, one, known in self.claims
        ]
        return f"{holder}: {sorted(informed)}"

    def a_claim_ends(self) -> str:
        _, claim, informed = self.claims.pop(self.chance.randrange(len(self.claims)))
        # A holder that learns of a cancellation may have been done just before.
        way = self.chance.choice(["done", "missed", "failed", "released"] + ["cancelled"] * 8 * informed)
        if way in KEPT:
            self.lab.keep(claim.run_id, way)
        elif way == "released":
            self.lab.work.release(claim.run_id, claim.fence, {"why": "chance"})
        else:
            document = failure("chance") if way == "failed" else None
            self.lab.work.end(claim.run_id, claim.fence, way, document)
        return f"{claim.run_id} by fence {claim.fence} {way}"

    def a_holder_dies_and_returns(self) -> str:
        """Its runs may still end and be reported too late."""
        holder = self.chance.choice(_HOLDERS)
        self.lab.work.reclaim(holder)
        return holder

    def a_kept_run_is_removed(self) -> str:
        """Or is found to be damaged, by the process that is about to run it."""
        run = self.chance.choice("abcd")
        self.lab.catalog.remove([run])
        return run

    def check(self) -> None:
        """The invariants at any moment."""
        with self.lab.database.read() as connection:
            work = {row.run_id: row for row in connection.execute(select(WORK))}
            live = set(connection.execute(select(RUNS.c.id).where(RUNS.c.status.in_(LIVE))).scalars())
            experiments = connection.execute(select(EXPERIMENTS)).all()
            of = list(connection.execute(select(EXPERIMENT_RUNS.c.experiment_id, EXPERIMENT_RUNS.c.run_id)))
        assert live == set(work), "the queue contains exactly the runs that are to be done"
        wanted = set()
        for one in experiments:
            runs = {run for experiment, run in of if experiment == one.id}
            ended = sum(getattr(one, end) for end in ENDS)
            if one.status in LIVE:
                wanted |= runs & set(work)
                assert ended == one.total - len(runs & set(work)) < one.total, (
                    f"{one.id} waits, and has counted its ended runs"
                )
            else:
                assert ended == one.total, f"{one.id} has counted all its runs"
            given_up = one.id in self.given_up
            assert (one.status == "cancelled") == given_up, f"{one.id} is cancelled only if it was given up"
            assert given_up or one.cancelled == 0, f"no run of {one.id} is cancelled"
        assert wanted == {run for run, row in work.items() if not row.cancel}, "unwanted runs are cancelled"
        assert not [run for run, row in work.items() if row.cancel and row.claimed_by is None], (
            "a cancelled run has a holder"
        )

    def finish(self) -> None:
        """All wanted runs get done once a holder runs them."""
        for holder in _HOLDERS:
            self.lab.work.reclaim(holder)
        while claims := self.lab.claim(holder="three"):
            for claim in claims:
                self.lab.keep(claim.run_id)
        self.check()
        assert not [name for name in self.experiments if self.lab.counts(name)["status"] in LIVE]


@pytest.mark.parametrize("first", range(0, _SEEDS, _AT_ONCE))
def test_the_queue_keeps_its_invariants_in_any_order(lab: Lab, first: int) -> None:
    for seed in range(first, first + _AT_ONCE):
        with lab.database.write() as connection:
            for table in reversed(METADATA.sorted_tables):
                connection.execute(delete(table))
        bustle = Bustle(lab, seed)
        try:
            for _ in range(_STEPS):
                bustle.step()
                bustle.check()
            bustle.finish()
        except AssertionError as error:
            raise AssertionError("\n".join([f"seed {seed}: {error}", *bustle.story])) from error
