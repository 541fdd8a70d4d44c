"""Where endpoints run: look-ups in a database file in the event loop, other look-ups in few threads, long work in other threads.

    GET, the database is a file       in the event loop: passing the request to a thread takes longer than the look-up
    GET, the database is a server     in a thread, as many at once as there are processors
    changes, and reads of whole runs      in one of the threads for long work

The interpreter lets one thread compute at a time: with many threads every response waits for all others. Writes may
wait for the database, and reads of whole runs take long: neither may delay look-ups. A locked file, which
is rare for readers, is waited for in a thread too.
"""

from __future__ import annotations

import contextlib
import inspect
import os
from collections.abc import Callable, Collection, Coroutine
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar
from starlette.concurrency import run_in_threadpool

from longhaul.api.lab import Lab
from longhaul.orchestrator.system.errors import RecordUnreachable

PROCESSORS = os.cpu_count() or 1
_MOST_LONG = 16

_Asked = ParamSpec("_Asked")
_Answer = TypeVar("_Answer")
_long = RunVar[CapacityLimiter]("long")


def let_few_look_up() -> None:
    """Limit the default threads of this event loop, which are for look-ups."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = PROCESSORS


async def in_long_thread(work: Callable[_Asked, _Answer], *args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
    """Run work in one of the threads for long work."""
    limiter = _long.get(None)
    if limiter is None:
        limiter = CapacityLimiter(_MOST_LONG)
        _long.set(limiter)
    return await anyio.to_thread.run_sync(partial(work, *args, **named), limiter=limiter)


def takes_long(endpoint: Callable[_Asked, _Answer]) -> Callable[_Asked, Coroutine[Any, Any, _Answer]]:
    """The same endpoint, in one of those threads."""

    @wraps(endpoint)
    async def in_a_long_thread(*args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        return await in_long_thread(endpoint, *args, **named)

    return in_a_long_thread


async def look_up(lab: Lab, question: Callable[[Lab], _Answer]) -> _Answer:
    """The answer of the lab: in the event loop if its database is a file, otherwise in a thread."""
    if lab.store.database.file is not None:
        with contextlib.suppress(RecordUnreachable):
            return question(lab.at_once)
    return await run_in_threadpool(question, lab)


def looks_up(endpoint: Callable[..., _Answer]) -> Callable[..., Coroutine[Any, Any, _Answer]]:
    """The same endpoint, as such a look-up."""

    @wraps(endpoint)
    async def at_once_or_in_a_thread(*, lab: Lab, **named: Any) -> _Answer:
        return await look_up(lab, lambda asked: endpoint(lab=asked, **named))

    return at_once_or_in_a_thread


def in_its_turn(endpoint: Callable[..., Any], methods: Collection[str]) -> Callable[..., Any]:
    """An endpoint in its thread; a coroutine is left as it is."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint
    if set(methods) - {"GET", "HEAD"}:
        return takes_long(endpoint)
    return looks_up(endpoint) if "lab" in inspect.signature(endpoint).parameters else endpoint
