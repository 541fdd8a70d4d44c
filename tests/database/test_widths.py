"""No value outgrows its column. Numbers in a request fit the columns of both databases: the largest seed is kept, the largest id finds nothing."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from longhaul.orchestrator.database.access import tokens
from longhaul.orchestrator.database.access.tokens import Access
from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.database.tables import RUNS
from tests.support.queue import Lab

_LARGEST_SEED, _LARGEST_REQUESTED = 2**32 - 1, 2**62


def test_the_largest_seed_is_kept(url: str) -> None:
    lab = Lab(url)
    lab.submit("e", ["a"])
    with lab.database.write() as connection:
        connection.execute(sa.update(RUNS).values(seed=_LARGEST_SEED))
    with lab.database.read() as connection:
        assert connection.execute(sa.select(RUNS.c.seed)).scalar_one() == _LARGEST_SEED
    lab.database.close()


def test_an_id_larger_than_any_finds_nothing(url: str) -> None:
    lab = Lab(url)
    lab.submit("e", ["a"])
    events, access = EventLog(lab.database), Access(lab.database)
    access.log("ada", "10.0.0.1", "submit_experiment", "e", 201, "r")
    assert (
        events.after(_LARGEST_REQUESTED)
        == events.of_run("a", _LARGEST_REQUESTED)
        == events.of_experiment("e", _LARGEST_REQUESTED)
        == []
    )
    assert [row["actor"] for row in access.audit(10, _LARGEST_REQUESTED)] == ["ada"]
    lab.database.close()


def test_the_log_of_changes_has_a_bound(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MOST_AUDITED", 7)
    monkeypatch.setattr(tokens, "_AUDIT_SWEEP", 5)
    lab = Lab(url)
    access = Access(lab.database)
    for number in range(20):
        access.log("ada", "10.0.0.1", "submit_experiment", str(number), 201, "r")
    assert [row["subject"] for row in access.audit(100)] == [str(number) for number in range(19, 12, -1)]
    lab.database.close()
