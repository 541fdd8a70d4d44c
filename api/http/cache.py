"""Answers about kept runs, of which nothing changes: the last ones are remembered, others made as many at once as there are processors.

More at once would take each other's turns at the interpreter, and every one of them would be late.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable

import anyio.to_thread

from longhaul.api.http.threads import PROCESSORS

Question = tuple[object, ...]


class Remembered:
    """The last `most` answers by what was asked, save those that are so large that a few would fill the memory."""

    def __init__(self, most: int, largest: int) -> None:
        self._most, self._largest = most, largest
        self._answers: OrderedDict[Question, bytes] = OrderedDict()
        self._limit: anyio.CapacityLimiter | None = None

    def find(self, question: Question) -> bytes | None:
        """What was answered before."""
        known = self._answers.get(question)
        # Another thread may have let go of it meanwhile.
        with contextlib.suppress(KeyError):
            self._answers.move_to_end(question)
        return known

    def keep(self, question: Question, answer: bytes) -> bytes:
        """The same answer, from now on remembered."""
        if len(answer) <= self._largest:
            self._answers[question] = answer
        while len(self._answers) > self._most:
            self._answers.popitem(last=False)
        return answer

    async def get(self, question: Question, make: Callable[[], bytes]) -> bytes:
        """What was answered before, or what is made now in a thread, first come first served."""
        if (known := self.find(question)) is not None:
            return known
        if self._limit is None:
            self._limit = anyio.CapacityLimiter(PROCESSORS)
        return self.keep(question, await anyio.to_thread.run_sync(make, limiter=self._limit))
