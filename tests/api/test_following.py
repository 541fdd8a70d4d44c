"""Followers of events: many that connect at once share one reader and miss no event; a stream ends when its token is revoked; and while the
database is unreachable a follower receives the reason, later the missed events."""

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
UNREACHABLE = RecordUnreachable("reading the catalogue", "record", "the server is\nstarting up")


class UnreliableLog(EventLog):
    """A log whose database is unreachable at times."""

    unreachable = False

    def after(self, last: int, limit: int = 1000) -> list[Row]:
        """Every event after that one."""
        if self.unreachable:
            raise UNREACHABLE
        return super().after(last, limit)

    def newest(self) -> int:
        """The id of the last event."""
        if self.unreachable:
            raise UNREACHABLE
        return super().newest()


def test_one_reader_serves_all_followers_that_connect_at_once(tmp_path: Path) -> None:
    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    log = EventLog(database)

    def append(kind: str) -> None:
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

    async def follow_all() -> tuple[list[list[str]], int]:
        hub = Hub(log)
        following = [asyncio.create_task(follow(hub)) for _ in range(AT_ONCE)]
        while hub.followers < AT_ONCE:
            await asyncio.sleep(0.01)
        # Time for all followers to begin, and for further readers, if there were any.
        await asyncio.sleep(0.3)
        readers = [task for task in asyncio.all_tasks() if getattr(task.get_coro(), "__name__", "") == "_read"]
        for kind in ("run.progress", "run.finished"):
            await asyncio.to_thread(append, kind)
        received = await asyncio.gather(*following)
        await hub.close()
        return received, len(readers)

    append("run.started")
    received, readers = asyncio.run(follow_all())
    database.close()
    assert readers == 1
    assert received == [["run.started", "run.progress", "run.finished"]] * AT_ONCE


def test_a_stream_ends_when_its_token_is_no_longer_valid(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    log = EventLog(database)
    monkeypatch.setattr(following, "_QUIET_S", 0.1)
    answers = [True, True, False]

    async def authorised() -> bool:
        return answers.pop(0)

    async def follow() -> list[bytes]:
        hub = Hub(log)
        pieces = stream(hub, lambda event: True, log.after, 0, lambda event: False, authorised)
        received = [piece async for piece in pieces]
        await hub.close()
        return received

    received = asyncio.run(asyncio.wait_for(follow(), 30))
    database.close()
    assert not answers
    assert set(received[1:]) == {b": quiet\n\n"}


@pytest.mark.parametrize("when", ["before the stream begins", "between two events"])
def test_a_follower_receives_the_reason_and_the_missed_events_while_the_database_is_unreachable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    database = Database(f"sqlite:///{tmp_path / 'record.sqlite'}")
    log = UnreliableLog(database)
    monkeypatch.setattr(following, "_AWAY_S", 0.1)
    # A follower that is behind reads the log again, so it needs the database in the middle of a stream.
    monkeypatch.setattr(following, "_MOST_WAITING", 1)
    log.unreachable = when.startswith("before")

    def append(kind: str) -> None:
        with database.write() as connection:
            say(connection, kind, {}, run=RUN)

    async def always() -> bool:
        return True

    async def follow() -> list[str]:
        hub = Hub(log)
        received: list[str] = []
        async for piece in stream(
            hub, lambda event: True, log.after, 0, lambda event: event["kind"] == "run.finished", always
        ):
            line = piece.decode()
            assert line.endswith("\n\n") and line.count("\n\n") == 1
            received.append(line.removesuffix("\n\n"))
            if "run.started" in line:
                log.unreachable = True
                for kind in ("run.progress", "run.progress", "run.finished"):
                    await asyncio.to_thread(append, kind)
                follower = next(iter(hub._followers))
                follower.behind = True
                follower.waiting.put_nowait(None)
            elif line.startswith(":"):
                log.unreachable = False
        await hub.close()
        return received

    append("run.started")
    received = asyncio.run(asyncio.wait_for(follow(), 30))
    database.close()
    kinds = [line.splitlines()[1][7:] if line.startswith("id") else line for line in received[1:]]
    why = ": reading the catalogue record: the server is starting up"
    expected = ["run.started", why, "run.progress", "run.progress", "run.finished"]
    assert kinds == ([why, *expected] if when.startswith("before") else expected)


@pytest.mark.parametrize(("problem", "authorised"), [(UNREACHABLE, True), (AuthError("asking", "x", "revoked"), False)])
def test_only_a_revoked_token_ends_a_stream(problem: Exception, authorised: bool) -> None:
    class Door:
        async def by_token(self, token: str) -> None:
            raise problem

    settings = SimpleNamespace(proxy_sign_in=None, url="")
    state = SimpleNamespace(door=Door(), lab=SimpleNamespace(settings=settings))
    request = Request(
        {"type": "http", "headers": [(b"authorization", b"Bearer x")], "app": SimpleNamespace(state=state), "path": "/"}
    )

    async def check() -> bool:
        return await still_authorised(request, "read")()

    assert asyncio.run(check()) is authorised
