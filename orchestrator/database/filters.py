"""Filters of lists, and their SQL conditions: the same for runs and for experiments.

Status, name, owner and time have columns; everything else is found in the line of words (search_fields.py), through the index of its words
(word_index.py) or by reading the lines, of which the indices of a list in the order of time hold a copy. Titles and tags (annotations.py) are
found in the same way: those of a run, and those of its experiments.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal

from sqlalchemy import ColumnElement, Select, Table, and_, or_, select, union

from longhaul.orchestrator.database.search_fields import asked_words, spellings, word
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.database.tables import ANNOTATION_WORDS, EXPERIMENT_RUNS, RUNS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate


@dataclass(frozen=True, slots=True)
class Sought:
    """A text in a line: a whole word, a part of any word, or `key=value` with the whole value."""

    kind: Literal["word", "part", "named"]
    text: str

    @property
    def words(self) -> list[str]:
        """The whole words that are meant; a swept field may be written without what it belongs to: `rtt=300ms` for `path.rtt=300ms`."""
        if self.kind != "named":
            return [self.text]
        return [before + spelling for spelling in spellings(self.text) for before in ("", ".")]

    def is_in(self, table: Table) -> ColumnElement[bool]:
        """The condition on a row: on its line, whose words are between spaces, or on its annotation."""
        line = table.c.words
        if self.kind == "word":
            return line.contains(f" {self.text} ", autoescape=True)
        noted = table.c.id.in_(self.annotated(table))
        if self.kind == "part":
            return or_(line.contains(self.text, autoescape=True), noted)
        ends = (f"{one} " if one.startswith(".") else f" {one} " for one in self.words)
        return or_(*(line.contains(end, autoescape=True) for end in ends), noted)

    def annotated(self, table: Table) -> Select[Any]:
        """The ids of the rows with it in their annotation; of runs also those with it in that of an experiment."""
        holds = (
            ANNOTATION_WORDS.c.word.contains(self.text, autoescape=True)
            if self.kind == "part"
            else ANNOTATION_WORDS.c.word.in_(self.words)
        )
        subjects = select(ANNOTATION_WORDS.c.subject.label("id")).where(holds)
        if table is not RUNS:
            return subjects
        of_experiments = select(EXPERIMENT_RUNS.c.run_id).where(EXPERIMENT_RUNS.c.experiment_id.in_(subjects))
        return select(union(subjects, of_experiments).subquery().c.id)


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
    # All of them.
    tags: tuple[str, ...] = ()
    # Creation time: from, and before, in the format of the database.
    since: str | None = None
    until: str | None = None
    pinned: bool | None = None
    # Of runs: with a trace that is kept.
    kept: bool = False

    @property
    def searches(self) -> bool:
        """Whether lines of words have to be searched."""
        return any(self.sought())

    def apply(self, query: Select[Any], table: Table, without: Sought | None = None) -> Select[Any]:
        """The query with these conditions, except one that already holds."""
        for condition in self._by_column(table):
            query = query.where(condition)
        for sought in self.sought():
            if sought != without:
                query = query.where(sought.is_in(table))
        return query

    def is_only(self, sought: Sought) -> bool:
        """Whether this is its only condition."""
        given = (self.name, self.status, self.owner, self.pinned, self.since, self.until)
        return not self.kept and all(value is None for value in given) and list(self.sought()) == [sought]

    def _by_column(self, table: Table) -> Iterator[ColumnElement[bool]]:
        name = table.c.experiment if "experiment" in table.c else table.c.name
        for column, value in ((name, self.name), (table.c.status, self.status), (table.c.owner, self.owner)):
            if value is not None:
                yield column == value
        if self.pinned is not None:
            yield table.c.pinned == self.pinned
        if self.kept:
            yield is_kept(table)
        if self.since is not None:
            yield table.c.created_at >= self.since
        if self.until is not None:
            yield table.c.created_at < self.until

    def sought(self) -> Iterator[Sought]:
        """What a line must contain."""
        named = [("backend", self.backend), ("topology", self.topology)]
        named += [("cc", control) for control in self.controls]
        named.append(("bandwidth", None if self.bandwidth_bps is None else format_rate(self.bandwidth_bps)))
        named.append(("rtt", None if self.rtt_us is None else format_duration(self.rtt_us)))
        yield from (Sought("word", word(name, value)) for name, value in named if value is not None)
        yield from (Sought("named", word("tag", tag)) for tag in self.tags)
        yield from (Sought("named" if _is_named(asked) else "part", asked) for asked in asked_words(self.text))


def is_kept(runs: Table) -> ColumnElement[bool]:
    """Of a run: with a trace that is kept."""
    return and_(runs.c.status.in_(KEPT), runs.c.trace_sha256.is_not(None))


def _is_named(asked: str) -> bool:
    """While only `key=` is written, any value is meant."""
    key, _, value = asked.partition("=")
    return bool(key and value)
