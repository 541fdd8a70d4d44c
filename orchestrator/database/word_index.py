"""The index of words: the runs that have a word in their line (search_fields.py), so that a search reads only the runs of its rarest word.

    words       every word of a run's line once, except the run's id
    run_words   the runs of each word, in the order of lists

Both repeat the lines: they are written with a run and deleted with it, a backup leaves them out, and a restored database makes them
again. A part of many words is found by reading the lines, which a page in the order of time seldom reads far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, FromClause, Select, delete, func, insert, select, tuple_

from longhaul.orchestrator.database.connection import chunks
from longhaul.orchestrator.database.filters import Filter, Sought
from longhaul.orchestrator.database.search_fields import magnitude_of, words_of
from longhaul.orchestrator.database.tables import RUN_WORDS, RUNS, WORDS
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# Runs of a word beyond this many are not counted, and a union of words with more runs is not made.
_MOST_RUNS = 5000
_MOST_WORDS = 200
_BATCH = 1000
_PART_OF_ID = re.compile("[0-9a-f]{1,20}")


@dataclass(frozen=True, slots=True)
class Found:
    """The runs that one of a filter's conditions leaves: `created_at` and `run_id` of each."""

    sought: Sought
    runs: FromClause
    # None for more than `_MOST_RUNS`: those of one word, which an index has in the order of lists.
    size: int | None


def rarest(connection: Connection, wanted: Filter, most_united: int = _MOST_RUNS) -> Found | None:
    """The condition of a filter that leaves the fewest runs; None if each is a part of words with more runs than `most_united`."""
    found = (_find(connection, sought, most_united) for sought in wanted.sought())
    return min(
        (one for one in found if one is not None),
        key=lambda one: _MOST_RUNS if one.size is None else one.size,
        default=None,
    )


def matching(
    connection: Connection, query: Select[Any], wanted: Filter, most_united: int = _MOST_RUNS
) -> Select[Any] | None:
    """A query of runs with the conditions of a filter, by its rarest word; None if no run matches."""
    found, holds = rarest(connection, wanted, most_united), None
    if found is not None:
        if found.size == 0:
            return None
        query, holds = query.join(found.runs, found.runs.c.run_id == RUNS.c.id), found.sought
    return wanted.apply(query, RUNS, holds)


def _find(connection: Connection, sought: Sought, most_united: int) -> Found | None:
    words = _first(connection, select(WORDS.c.id).where(_holds(sought)))
    ids = _first(connection, _with_part(sought))
    noted = _first(connection, None if sought.kind == "word" else sought.annotated(RUNS))
    if words is None or ids is None or noted is None:
        return None
    ids += noted
    runs: Any = select(RUN_WORDS.c.created_at, RUN_WORDS.c.run_id).where(RUN_WORDS.c.word_id.in_(words))
    if ids:
        of_ids = select(RUNS.c.created_at, RUNS.c.id.label("run_id")).where(RUNS.c.id.in_(ids))
        runs = runs.union(of_ids) if words else of_ids
    elif len(words) > 1:
        runs = runs.distinct()
    some = runs.limit(_MOST_RUNS + 1).subquery()
    size = int(connection.execute(select(func.count()).select_from(some)).scalar_one())
    if len(words) > 1 and size > most_united:
        return None
    return Found(sought, runs.subquery("found"), size if size <= _MOST_RUNS else None)


def _first(connection: Connection, query: Any) -> list[Any] | None:
    """Everything that a query finds, None for too much; nothing for no query."""
    found = [] if query is None else list(connection.execute(query.limit(_MOST_WORDS + 1)).scalars())
    return found if len(found) <= _MOST_WORDS else None


def _holds(sought: Sought) -> ColumnElement[bool]:
    """Whether a word is meant: the same comparison as for a line."""
    if sought.kind == "part":
        return WORDS.c.word.contains(sought.text, autoescape=True)
    return WORDS.c.word.in_(sought.words)


def _with_part(sought: Sought) -> Any:
    """The runs whose id has this part."""
    if sought.kind != "part" or not _PART_OF_ID.fullmatch(sought.text):
        return None
    return select(RUNS.c.id).where(RUNS.c.id.contains(sought.text))


def add_words(connection: Connection, runs: Iterable[Mapping[str, Any]]) -> None:
    """Within a transaction: index new runs, given as their rows."""
    rows = iter(runs)
    while some := list(islice(rows, _BATCH)):
        words = {row["id"]: words_of(row["id"], row["words"]) for row in some}
        known = _numbers(connection, sorted({word for its in words.values() for word in its}))
        members = [
            {"word_id": known[word], "created_at": row["created_at"], "run_id": row["id"]}
            for row in some
            for word in words[row["id"]]
        ]
        if members:
            connection.execute(insert(RUN_WORDS), members)


def _numbers(connection: Connection, words: Sequence[str]) -> dict[str, int]:
    """The numbers of words; new words get one."""
    known = _known(connection, words)
    if new := [word for word in words if word not in known]:
        connection.execute(insert(WORDS), [{"word": word, "number": magnitude_of(word)} for word in new])
        known |= _known(connection, new)
    return known


def _known(connection: Connection, words: Sequence[str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for some in chunks(words):
        found |= dict(connection.execute(select(WORDS.c.word, WORDS.c.id).where(WORDS.c.word.in_(some))).all())
    return found


def remove_words(connection: Connection, run_ids: Sequence[str]) -> None:
    """Within a transaction that deletes runs, before it does."""
    for some in chunks(run_ids, 100):
        query = select(RUNS.c.id, RUNS.c.created_at, RUNS.c.words).where(RUNS.c.id.in_(some))
        for row in connection.execute(query).all():
            numbers = list(_known(connection, words_of(row.id, row.words)).values())
            keys = [(number, row.created_at, row.id) for number in numbers]
            key = tuple_(RUN_WORDS.c.word_id, RUN_WORDS.c.created_at, RUN_WORDS.c.run_id)
            connection.execute(delete(RUN_WORDS).where(key.in_(keys)))


def index_all(connection: Connection) -> None:
    """Within a transaction: make the index of all runs anew."""
    connection.execute(delete(RUN_WORDS))
    connection.execute(delete(WORDS))
    last = ""
    query = select(RUNS.c.id, RUNS.c.created_at, RUNS.c.words).order_by(RUNS.c.id).limit(_BATCH)
    while some := connection.execute(query.where(RUNS.c.id > last)).mappings().all():
        add_words(connection, [dict(row) for row in some])
        last = some[-1]["id"]
