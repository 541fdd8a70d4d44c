"""Who computes when: a look-up in a record on disk is done where it is asked for, others in few threads, what may take long in its own.

    GET, the record is a file       at once: handing the question to a thread takes longer than the answer
    GET, the record is a server     in a thread, as many at once as there are processors
    what changes something, or reads whole runs      in one of the threads for what may take long

The interpreter lets one thread compute at a time: with many at it every answer waits for all the others. But what writes may
wait for the record, and what reads a whole run takes its time: neither may hold look-ups up. A file that is locked, which
for readers is rare, is waited for in a thread too.
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
    """From now on in this event loop; threads that are not said to take long are for look-ups."""
    anyio.to_thread.current_default_thread_limiter().total_tokens = PROCESSORS


async def in_long_thread(work: Callable[_Asked, _Answer], *args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
    """Do it in one of the threads for what may take long."""
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


def looks_up(endpoint: Callable[..., _Answer]) -> Callable[..., Coroutine[Any, Any, _Answer]]:
    """The same endpoint, at once where the lab's record is a file, or else in a thread."""

    @wraps(endpoint)
    async def at_once_or_in_a_thread(*, lab: Lab, **named: Any) -> _Answer:
        if lab.store.database.file is not None:
            with contextlib.suppress(RecordUnreachable):
                return endpoint(lab=lab.at_once, **named)
        return await run_in_threadpool(endpoint, lab=lab, **named)

    return at_once_or_in_a_thread


def in_its_turn(endpoint: Callable[..., Any], methods: Collection[str]) -> Callable[..., Any]:
    """An endpoint as it is to be called: a coroutine has seen to it itself."""
    if inspect.iscoroutinefunction(endpoint):
        return endpoint
    if set(methods) - {"GET", "HEAD"}:
        return takes_long(endpoint)
    return looks_up(endpoint) if "lab" in inspect.signature(endpoint).parameters else endpoint
