"""The line of a migration: for a person who watches, and only if it takes long."""

from __future__ import annotations

import io
import sys

import pytest
import sqlalchemy as sa

from longhaul.orchestrator.database.migrations import progress


class _Screen(io.StringIO):
    def __init__(self, *, watched: bool) -> None:
        super().__init__()
        self._watched = watched

    def isatty(self) -> bool:
        return self._watched


def _printed(monkeypatch: pytest.MonkeyPatch, *, watched: bool, soon_s: float) -> str:
    screen = _Screen(watched=watched)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setattr(progress, "_SOON_S", soon_s)
    monkeypatch.setattr(progress, "_EVERY_S", 0.0)
    with sa.create_engine("sqlite://").connect() as connection:
        connection.execute(sa.text("CREATE TABLE runs (id TEXT)"))
        connection.execute(sa.text("INSERT INTO runs VALUES (:id)"), [{"id": str(number)} for number in range(2500)])
        batches = [range(1000), range(1000), range(500)]
        assert list(progress.shown(connection, "words", batches)) == batches
    return screen.getvalue()


def test_a_watched_migration_says_what_it_does_and_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = _printed(monkeypatch, watched=True, soon_s=0.0).split("\r")
    assert lines[1] == "bringing the database to this version, once: words of 1,000 of 2,500 runs"
    assert lines[-1] == "bringing the database to this version, once: words of 2,500 of 2,500 runs\n"


def test_a_short_migration_and_one_that_is_not_watched_print_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _printed(monkeypatch, watched=True, soon_s=60.0) == ""
    assert _printed(monkeypatch, watched=False, soon_s=0.0) == ""
