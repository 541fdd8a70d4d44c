"""A cache of responses about kept runs, which never change; missing ones are computed, as many at once as there are processors.

More at once would compete for the interpreter and all be late.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable

import anyio.to_thread

from longhaul.api.http.threads import PROCESSORS

Question = tuple[object, ...]


class ResponseCache:
    """The last `most` responses by request, without those above `largest`, which would fill the memory."""

    def __init__(self, most: int, largest: int) -> None:
        self._most, self._largest = most, largest
        self._answers: OrderedDict[Question, bytes] = OrderedDict()
        self._limit: anyio.CapacityLimiter | None = None

    def find(self, question: Question) -> bytes | None:
        """The cached response."""
        known = self._answers.get(question)
        # Another thread may have removed it.
        with contextlib.suppress(KeyError):
            self._answers.move_to_end(question)
        return known

    def keep(self, question: Question, answer: bytes) -> bytes:
        """The same response, now cached."""
        if len(answer) <= self._largest:
            self._answers[question] = answer
        while len(self._answers) > self._most:
            self._answers.popitem(last=False)
        return answer

    async def get(self, question: Question, make: Callable[[], bytes]) -> bytes:
        """The cached response, or a new one computed in a thread, first come first served."""
        if (known := self.find(question)) is not None:
            return known
        if self._limit is None:
            self._limit = anyio.CapacityLimiter(PROCESSORS)
        return self.keep(question, await anyio.to_thread.run_sync(make, limiter=self._limit))
