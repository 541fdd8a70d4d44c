"""A cache of responses about kept runs, which never change; missing ones are computed, as many at once as there are processors.

More at once would compete for the interpreter and all be late.
"""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable

import anyio.to_thread
from fastapi import Response

from longhaul.api.http.responses import not_changed, tag
from longhaul.api.http.threads import PROCESSORS
from longhaul.orchestrator.plan.run import FORMAT

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

    async def respond(
        self,
        question: Question,
        make: Callable[[], bytes],
        known: str | None,
        response: Response,
        media_type: str = "application/json",
    ) -> Response:
        """The cached response, or a new one computed in a thread, first come first served; 304 if the caller has it."""
        not_changed(tag(str(FORMAT), *map(str, question)), known, response)
        if (answer := self.find(question)) is None:
            if self._limit is None:
                self._limit = anyio.CapacityLimiter(PROCESSORS)
            answer = self.keep(question, await anyio.to_thread.run_sync(make, limiter=self._limit))
        return Response(answer, media_type=media_type, headers=dict(response.headers))
