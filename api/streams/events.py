"""Server-sent events: one reader of the log a process, as many followers as like to listen.

A follower first gets what the log holds after the event it saw last, then what comes. It subscribes before it reads, so
that nothing falls between the two, and drops what it would get twice by the id. While the record is away it hears why
nothing comes, as a comment, and then gets what it missed.
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
# A proxy must not think that nobody is there.
_QUIET_S = 15.0
_AWAY_S = 2.0
# Who is so far behind reads the log again rather than fill the memory.
_MOST_WAITING = 1000
_PAGE = 500


class Follower:
    """One listener: whether an event is about its subject, and those that wait for it."""

    def __init__(self, about: Callable[[Row], bool]) -> None:
        self.about = about
        # None wakes whoever waits: something else than an event happened.
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
        # How followers are told that the record is away.
        self.tell = tell
        self._log = log
        self._followers: set[Follower] = set()
        self._reader: asyncio.Task[None] | None = None
        self._last = 0
        self._starting = asyncio.Lock()
        self.closing = asyncio.Event()

    @property
    def followers(self) -> int:
        """How many listen."""
        return len(self._followers)

    @contextlib.asynccontextmanager
    async def joined(self, about: Callable[[Row], bool]) -> AsyncIterator[Follower]:
        """Listen for as long as the context lasts."""
        follower = Follower(about)
        # One reader, however many come at once.
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
        """Let every follower go: the service is about to stop."""
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
                # A record that cannot be reached is asked again: followers notice a pause, nothing is lost.
                with contextlib.suppress(ResultsError):
                    for event in await run_in_threadpool(self._log.after, self._last, _PAGE):
                        self._last = event["id"]
                        for follower in self._followers:
                            if follower.about(event):
                                follower.offer(event)
            else:
                with contextlib.suppress(ResultsError):
                    newest = await run_in_threadpool(self._log.newest)
                    # Who came meanwhile may have read the log before this event was in it.
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
    """The text of a stream: `read(last, limit)` gives what the log holds, `over` says after which event nothing comes.

    It also ends soon after `welcome` says no: who listens may no longer.
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
    """What the log holds after that event, then what comes, each once; None where nothing has come for a while. It ends where the log has to be read again."""
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
