"""Who computes when: brief look-ups take turns, as many at once as there are processors; what may take long has threads of its own.

The interpreter lets one thread compute at a time. With many at it every answer waits for all the others; with few, each is
soon done. But what writes may wait for the record, and what reads a whole run takes its time: neither may hold look-ups up.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Coroutine
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar

import anyio.to_thread
from anyio import CapacityLimiter
from anyio.lowlevel import RunVar

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
    async def in_its_turn(*args: _Asked.args, **named: _Asked.kwargs) -> _Answer:
        return await in_long_thread(endpoint, *args, **named)

    return in_its_turn


def may_take_long(endpoint: Callable[..., Any], methods: set[str] | list[str] | None) -> bool:
    """Whether an endpoint does more than look something up: it changes something, by its method."""
    return not inspect.iscoroutinefunction(endpoint) and bool(set(methods or ()) - {"GET", "HEAD"})
