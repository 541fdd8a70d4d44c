"""Filters of lists, and their SQL conditions: the same for runs and for experiments.

Status, name and time have columns; everything else is found in the line of words (search_fields.py), of which the indices of a
list in the order of time hold a copy: a page is found by reading the index, whatever the filter, and rows are read for that page alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, Select, Table, or_

from longhaul.orchestrator.database.search_fields import asked_words, word
from longhaul.orchestrator.system.units import format_duration, format_rate


@dataclass(frozen=True, slots=True)
class Filter:
    """None means any value; all given conditions must hold."""

    name: str | None = None
    status: str | None = None
    owner: str | None = None
    backend: str | None = None
    # All of them.
    controls: tuple[str, ...] = ()
    topology: str | None = None
    bandwidth_bps: int | None = None
    rtt_us: int | None = None
    # Every word of it occurs somewhere, whole or as a part; of `key=value` the value is the whole one.
    text: str = ""
    # Creation time: from, and before, in the format of the database.
    since: str | None = None
    until: str | None = None
    pinned: bool | None = None

    @property
    def searches(self) -> bool:
        """Whether lines of words have to be read, which takes longer the more rows there are."""
        return any(self._parts()) or any(self._named())

    def apply(self, query: Select[Any], table: Table) -> Select[Any]:
        """The query with these conditions."""
        for condition in self._conditions(table):
            query = query.where(condition)
        return query

    def _conditions(self, table: Table) -> Iterator[ColumnElement[bool]]:
        name = table.c.experiment if "experiment" in table.c else table.c.name
        for column, value in ((name, self.name), (table.c.status, self.status)):
            if value is not None:
                yield column == value
        if self.pinned is not None:
            yield table.c.pinned == self.pinned
        if self.since is not None:
            yield table.c.created_at >= self.since
        if self.until is not None:
            yield table.c.created_at < self.until
        if self.owner is not None:
            # The word is in lower case, a name may not be.
            yield table.c.owner == self.owner
        for part in self._parts():
            yield table.c.words.contains(part, autoescape=True)
        for named in self._named():
            # A swept field may be written without what it belongs to: `rtt=300ms` for `path.rtt=300ms`.
            ends = (f" {named} ", f".{named} ")
            yield or_(*(table.c.words.contains(end, autoescape=True) for end in ends))

    def _parts(self) -> Iterator[str]:
        """Texts that a line must contain."""
        named = [("owner", self.owner), ("backend", self.backend), ("topology", self.topology)]
        named += [("cc", control) for control in self.controls]
        named.append(("bandwidth", None if self.bandwidth_bps is None else format_rate(self.bandwidth_bps)))
        named.append(("rtt", None if self.rtt_us is None else format_duration(self.rtt_us)))
        yield from (f" {word(name, value)} " for name, value in named if value is not None)
        yield from (asked for asked in asked_words(self.text) if not _is_named(asked))

    def _named(self) -> Iterator[str]:
        """Words that a line must contain as `key=value`, with the whole value."""
        yield from filter(_is_named, asked_words(self.text))


def _is_named(asked: str) -> bool:
    """While only `key=` is written, any value is meant."""
    key, _, value = asked.partition("=")
    return bool(key and value)
