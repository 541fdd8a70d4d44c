"""The queue under whatever order of events: nobody's experiment is lost, ends for another's reason, or is counted twice.

Made-up people hand in, give up and hand in again; made-up holders claim, bring results, let go, die and come back too late. After every
step the record is held against what must always be so, and at the end everything that is still wanted gets done.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy import delete, select

from orchestrator.results.database import Database
from orchestrator.results.ends import ENDS, KEPT, LIVE
from orchestrator.results.tables import EXPERIMENT_RUNS, METADATA, RUNS, WORK
from orchestrator.results.work import Claim
from tests.unit.test_work import Lab

_RUNS = st.sampled_from(["a", "b", "c", "d"])
_HOLDERS = st.sampled_from(["one", "two"])
# A lease that has run out already: somebody else may take the run, and its holder does not know.
_LEASES_S = st.sampled_from([60.0, 60.0, -1.0])


class Queue(RuleBasedStateMachine):
    """`hands` is what holders believe that they have, rightly or not, and whether they were told to give it up."""

    database: Database

    def __init__(self) -> None:
        super().__init__()
        with self.database.write() as connection:
            for table in reversed(METADATA.sorted_tables):
                connection.execute(delete(table))
        self.lab = Lab(self.database)
        self.hands: list[tuple[str, Claim, bool]] = []
        self.asked: dict[str, list[str]] = {}
        self.given_up: set[str] = set()

    @rule(runs=st.lists(_RUNS, min_size=1, max_size=4, unique=True), owner=st.sampled_from(["ada", "ben"]))
    def somebody_hands_in(self, runs: list[str], owner: str) -> None:
        name = f"e{len(self.asked)}"
        self.lab.submit(name, runs, owner=owner)
        self.asked[name] = runs

    @precondition(lambda self: self.asked)
    @rule(choice=st.data())
    def somebody_gives_up(self, choice: st.DataObject) -> None:
        name = choice.draw(st.sampled_from(sorted(self.asked)))
        if self.lab.counts(name)["status"] in LIVE:
            self.given_up.add(name)
        self.lab.experiments.cancel(name)

    @rule(holder=_HOLDERS, lease_s=_LEASES_S)
    def a_holder_claims(self, holder: str, lease_s: float) -> None:
        self.hands += [(holder, claim, False) for claim in self.lab.claim(holder=holder, lease_s=lease_s)]

    @rule(holder=_HOLDERS)
    def a_holder_looks_what_was_given_up(self, holder: str) -> None:
        its = {claim.run_id: (claim.fence, 0.0) for who, claim, _ in self.hands if who == holder}
        lost, unwanted = self.lab.work.renew(holder, its, 60.0)
        unwanted |= self.lab.work.cancelled(holder)
        self.hands = [
            (who, claim, told or (who == holder and claim.run_id in lost | unwanted)) for who, claim, told in self.hands
        ]

    @precondition(lambda self: self.hands)
    @rule(choice=st.data())
    def something_comes_of_a_claim(self, choice: st.DataObject) -> None:
        at = choice.draw(st.integers(0, len(self.hands) - 1))
        _, claim, told = self.hands.pop(at)
        # Whoever was told to give up may have been done just before.
        ways = ["done", "missed", "failed", "released"] + ["cancelled"] * 4 * told
        way = choice.draw(st.sampled_from(ways))
        if way in KEPT:
            self.lab.keep(claim.run_id, way)
        elif way == "released":
            self.lab.work.release(claim.run_id, claim.fence, {"why": "chance"})
        else:
            self.lab.work.end(claim.run_id, claim.fence, way, {"error": {"what": "chance"}} if way == "failed" else {})

    @rule(holder=_HOLDERS)
    def a_holder_dies_and_is_there_again(self, holder: str) -> None:
        """What it had begun may still come to an end, and be told too late."""
        self.lab.work.reclaim(holder)

    @rule(run=_RUNS)
    def a_kept_run_is_pruned(self, run: str) -> None:
        if self.lab.catalog.status(run) in KEPT:
            self.lab.catalog.remove([run])

    @invariant()
    def who_is_live_waits_for_something_and_has_counted_the_rest(self) -> None:
        work = set(self._work())
        for name, runs in self.asked.items():
            counts = self.lab.counts(name)
            ended = sum(counts[end] for end in ENDS)
            assert counts["total"] == len(runs)
            if counts["status"] in LIVE:
                assert ended == len(runs) - len(work & set(runs)) < len(runs), (name, counts, work)
            else:
                assert ended == len(runs), (name, counts)

    @invariant()
    def nothing_is_cancelled_but_what_was_given_up(self) -> None:
        for name in self.asked:
            counts = self.lab.counts(name)
            assert (counts["status"] == "cancelled") == (name in self.given_up), (name, counts)
            assert name in self.given_up or counts["cancelled"] == 0, (name, counts)

    @invariant()
    def what_is_live_is_in_the_queue_and_somebody_wants_it(self) -> None:
        with self.database.read() as connection:
            live = set(connection.execute(select(RUNS.c.id).where(RUNS.c.status.in_(LIVE))).scalars())
            known = set(connection.execute(select(EXPERIMENT_RUNS.c.run_id)).scalars())
        work = self._work()
        assert live == set(work)
        assert live <= known
        wanted = {run for name, runs in self.asked.items() if self.lab.counts(name)["status"] in LIVE for run in runs}
        for run, row in work.items():
            assert row["cancel"] == (run not in wanted), (run, row, wanted)
            assert not row["cancel"] or row["claimed_by"], "what nobody wants and nobody has is gone"

    def teardown(self) -> None:
        for holder in ("one", "two"):
            self.lab.work.reclaim(holder)
        while claims := self.lab.claim(holder="three"):
            for claim in claims:
                self.lab.keep(claim.run_id)
        assert self._work() == {}
        assert not [name for name in self.asked if self.lab.counts(name)["status"] in LIVE]

    def _work(self) -> dict[str, dict[str, Any]]:
        with self.database.read() as connection:
            return {row.run_id: dict(row._mapping) for row in connection.execute(select(WORK)).all()}


def test_the_queue_keeps_its_word_in_whatever_order(tmp_path: Any) -> None:
    Queue.database = Database(f"sqlite:///{tmp_path / 'catalogue.sqlite'}")
    run_state_machine_as_test(Queue, settings=settings(max_examples=60, stateful_step_count=30, deadline=None))
    Queue.database.close()
