"""Followers of events: many who begin at the same moment have one reader and miss nothing, who may no longer listen is let go, and who
listens while the record is away hears why and what was missed."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi import Request

from longhaul.api.auth import still_authorised
from longhaul.api.streams import events as following
from longhaul.api.streams.events import Hub, stream
from longhaul.orchestrator.database.connection import Database
from longhaul.orchestrator.database.events import EventLog, Row, say
from longhaul.orchestrator.system.errors import AuthError, RecordUnreachable

RUN = "0" * 20
AT_ONCE = 50
AWAY = RecordUnreachable("reading the catalogue", "record", "the server is\nstarting up")


class Leaving(EventLog):
    """A log whose record is away at times."""

    away = False

    def after(self, last: int, limit: int = 1000) -> list[Row]:
        """Every event after that one."""
        if self.away:
            raise AWAY
        return super().after(last, limit)

    def newest(self) -> int:
        """The id of the last event."""
        if self.away:
            raise AWAY
        return super().newest()


def test_one_reader_serves_all_who_come_at_once(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    log = EventLog(database)

    def tell(kind: str) -> None:
        with database.write() as connection:
            say(connection, kind, {}, run=RUN)

    async def always() -> bool:
        return True

    async def follow(hub: Hub) -> list[str]:
        pieces = stream(
            hub,
            lambda event: bool(event["run_id"] == RUN),
            lambda last, limit: log.of_run(RUN, last, limit),
            0,
            lambda event: bool(event["kind"] == "run.finished"),
            always,
        )
        return [
            line[7:] async for piece in pieces for line in piece.decode().splitlines() if line.startswith("event: ")
        ]

    async def everybody() -> tuple[list[list[str]], int]:
        hub = Hub(log)
        following = [asyncio.create_task(follow(hub)) for _ in range(AT_ONCE)]
        while hub.followers < AT_ONCE:
            await asyncio.sleep(0.01)
        # Time for what everybody does first, and for readers, were there many, to begin.
        await asyncio.sleep(0.3)
        readers = [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") == "_read"]
        for kind in ("run.progress", "run.finished"):
            await asyncio.to_thread(tell, kind)
        heard = await asyncio.gather(*following)
        await hub.close()
        return heard, len(readers)

    tell("run.started")
    heard, readers = asyncio.run(everybody())
    database.close()
    assert readers == 1
    assert heard == [["run.started", "run.progress", "run.finished"]] * AT_ONCE


def test_who_may_no_longer_listen_is_let_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    log = EventLog(database)
    monkeypatch.setattr(following, "_QUIET_S", 0.1)
    answers = [True, True, False]

    async def welcome() -> bool:
        return answers.pop(0)

    async def follow() -> list[bytes]:
        hub = Hub(log)
        pieces = stream(hub, lambda event: True, log.after, 0, lambda event: False, welcome)
        heard = [piece async for piece in pieces]
        await hub.close()
        return heard

    heard = asyncio.run(asyncio.wait_for(follow(), 30))
    database.close()
    assert not answers
    assert set(heard[1:]) == {b": quiet\n\n"}


@pytest.mark.parametrize("when", ["before anybody listens", "between two events"])
def test_who_listens_while_the_record_is_away_hears_why_and_what_was_missed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    log = Leaving(database)
    monkeypatch.setattr(following, "_AWAY_S", 0.1)
    # Who is behind reads the log again: the way to the record that a follower goes in the middle of a stream.
    monkeypatch.setattr(following, "_MOST_WAITING", 1)
    log.away = when.startswith("before")

    def tell(kind: str) -> None:
        with database.write() as connection:
            say(connection, kind, {}, run=RUN)

    async def always() -> bool:
        return True

    async def follow() -> list[str]:
        hub = Hub(log)
        heard: list[str] = []
        async for piece in stream(
            hub, lambda event: True, log.after, 0, lambda event: event["kind"] == "run.finished", always
        ):
            line = piece.decode()
            assert line.endswith("\n\n") and line.count("\n\n") == 1
            heard.append(line.removesuffix("\n\n"))
            if "run.started" in line:
                log.away = True
                for kind in ("run.progress", "run.progress", "run.finished"):
                    await asyncio.to_thread(tell, kind)
                follower = next(iter(hub._followers))
                follower.behind = True
                follower.waiting.put_nowait(None)
            elif line.startswith(":"):
                log.away = False
        await hub.close()
        return heard

    tell("run.started")
    heard = asyncio.run(asyncio.wait_for(follow(), 30))
    database.close()
    kinds = [line.splitlines()[1][7:] if line.startswith("id") else line for line in heard[1:]]
    why = ": reading the catalogue record: the server is starting up"
    expected = ["run.started", why, "run.progress", "run.progress", "run.finished"]
    assert kinds == ([why, *expected] if when.startswith("before") else expected)


@pytest.mark.parametrize(("problem", "welcome"), [(AWAY, True), (AuthError("asking", "x", "revoked"), False)])
def test_a_record_that_is_away_sends_nobody_away(problem: Exception, welcome: bool) -> None:
    class Door:
        async def by_token(self, token: str) -> None:
            raise problem

    state = SimpleNamespace(door=Door())
    request = Request(
        {"type": "http", "headers": [(b"authorization", b"Bearer x")], "app": SimpleNamespace(state=state), "path": "/"}
    )

    async def asked() -> bool:
        return await still_authorised(request, "read")()

    assert asyncio.run(asked()) is welcome
