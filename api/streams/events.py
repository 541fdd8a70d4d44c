"""Server-sent events: one reader of the event log in each process, for any number of followers.

A follower first gets the events of the log after its last one, then new ones. It subscribes before it reads, so
that no event is lost in between, and drops duplicates by id. While the database is unreachable, it gets the reason
as a comment, and later the events it missed.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool

from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.system.errors import LonghaulError, ResultsError

Row = dict[str, Any]

_LOOK_S = 0.1
# Keeps proxies from closing an idle stream.
_QUIET_S = 15.0
_AWAY_S = 2.0
# A follower further behind reads the log again instead of filling the memory.
_MOST_WAITING = 1000
_PAGE = 500


class Follower:
    """One listener: its subject and the events that wait for it."""

    def __init__(self, about: Callable[[Row], bool]) -> None:
        self.about = about
        # None wakes the listener without an event.
        self.waiting: asyncio.Queue[Row | None] = asyncio.Queue(_MOST_WAITING)
        self.behind = False

    def offer(self, event: Row) -> None:
        try:
            self.waiting.put_nowait(event)
        except asyncio.QueueFull:
            self.behind = True


class Hub:
    """Reads the log for all followers of this process."""

    def __init__(self, log: EventLog, tell: Callable[[LonghaulError], str] = str) -> None:
        # The text for followers while the database is unreachable.
        self.tell = tell
        self._log = log
        self._followers: set[Follower] = set()
        self._reader: asyncio.Task[None] | None = None
        self._last = 0
        self._starting = asyncio.Lock()
        self.closing = asyncio.Event()

    @property
    def followers(self) -> int:
        """The number of followers."""
        return len(self._followers)

    @contextlib.asynccontextmanager
    async def joined(self, about: Callable[[Row], bool]) -> AsyncIterator[Follower]:
        """Listen within the context."""
        follower = Follower(about)
        # One reader, even if many followers join at once.
        async with self._starting:
            if self._reader is None or self._reader.done():
                self._last = await run_in_threadpool(self._log.newest)
                self._reader = asyncio.create_task(self._read())
        self._followers.add(follower)
        try:
            yield follower
        finally:
            self._followers.discard(follower)

    def end_streams(self) -> None:
        """End every stream, because the service is stopping."""
        self.closing.set()
        for follower in self._followers:
            with contextlib.suppress(asyncio.QueueFull):
                follower.waiting.put_nowait(None)

    async def close(self) -> None:
        """Stop reading."""
        self.end_streams()
        if self._reader is not None:
            self._reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._reader

    async def _read(self) -> None:
        while True:
            if self._followers:
                # An unreachable database is read again: followers notice a pause, and no event is lost.
                with contextlib.suppress(ResultsError):
                    for event in await run_in_threadpool(self._log.after, self._last, _PAGE):
                        self._last = event["id"]
                        for follower in self._followers:
                            if follower.about(event):
                                follower.offer(event)
            else:
                with contextlib.suppress(ResultsError):
                    newest = await run_in_threadpool(self._log.newest)
                    # A follower that joined meanwhile may have read the log before this event was in it.
                    if not self._followers:
                        self._last = newest
            await asyncio.sleep(_LOOK_S)


async def stream(
    hub: Hub,
    about: Callable[[Row], bool],
    read: Callable[[int, int], list[Row]],
    last: int,
    over: Callable[[Row], bool],
    welcome: Callable[[], Awaitable[bool]],
) -> AsyncIterator[bytes]:
    """The text of a stream: `read(last, limit)` reads the log, `over` recognises the last event.

    It also ends soon after `welcome` returns false, when the listener is no longer authorised.
    """
    asked_s = time.monotonic()
    yield b"retry: 2000\n\n"
    while not hub.closing.is_set():
        try:
            async with hub.joined(about) as follower:
                async for event in _events(hub, follower, read, last):
                    if time.monotonic() - asked_s > _QUIET_S:
                        if not await welcome():
                            return
                        asked_s = time.monotonic()
                    if event is None:
                        yield b": quiet\n\n"
                        continue
                    last = event["id"]
                    yield _text(event)
                    if over(event):
                        return
        except ResultsError as error:
            yield f": {' '.join(hub.tell(error).split())}\n\n".encode()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(hub.closing.wait(), _AWAY_S)


async def _events(
    hub: Hub, follower: Follower, read: Callable[[int, int], list[Row]], last: int
) -> AsyncIterator[Row | None]:
    """The events of the log after that event, then new ones, each once; None after a pause. It ends when the log has to be read again."""
    kept = await run_in_threadpool(read, last, _PAGE)
    while kept:
        for event in kept:
            yield event
        last = kept[-1]["id"]
        kept = await run_in_threadpool(read, last, _PAGE) if len(kept) == _PAGE else []
    while not follower.behind and not hub.closing.is_set():
        try:
            come = await asyncio.wait_for(follower.waiting.get(), _QUIET_S)
        except TimeoutError:
            yield None
            continue
        if come is not None and come["id"] > last:
            last = come["id"]
            yield come


def _text(event: Row) -> bytes:
    data = {"at": event["at"], "kind": event["kind"], "run": event["run_id"], **event["data"]}
    return f"id: {event['id']}\nevent: {event['kind']}\ndata: {json.dumps(data)}\n\n".encode()
