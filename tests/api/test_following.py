"""Followers of events: many who begin at the same moment have one reader and miss nothing, and who may no longer listen is let go."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from api import following
from api.following import Hub, stream
from orchestrator.results.database import Database
from orchestrator.results.events import EventLog, say

RUN = "0" * 20
AT_ONCE = 50


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
