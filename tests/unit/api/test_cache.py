"""Cached responses: the last ones, also for concurrent requests."""

from __future__ import annotations

from collections import OrderedDict

from longhaul.api.http.cache import Question, ResponseCache


def test_the_last_responses_are_cached_and_large_ones_are_not() -> None:
    remembered = ResponseCache(most=2, largest=3)
    for name in ("a", "b"):
        remembered.keep((name,), name.encode())
    assert remembered.find(("a",)) == b"a"
    assert remembered.keep(("c",), b"c") == b"c"
    assert remembered.keep(("d",), b"long") == b"long"
    assert [remembered.find((name,)) for name in "abcd"] == [b"a", None, b"c", None]


def test_a_response_that_another_thread_removes_is_still_returned() -> None:
    class Elsewhere(OrderedDict[Question, bytes]):
        """A cache in which another thread makes room just after this one has found an entry."""

        def get(self, key: Question, default: bytes | None = None) -> bytes | None:  # type: ignore[override]
            return self.pop(key, default)

    remembered = ResponseCache(most=2, largest=3)
    remembered._answers = Elsewhere({("a",): b"a"})
    assert remembered.find(("a",)) == b"a"
