"""The orders of the list of runs: by time, by a column of each run, or by a swept field.

    newest  oldest              by the time of creation
    goodput  -goodput           by a column, a minus in front for the largest first
    point.path.rtt              by a swept field: by its number and unit, and values without a number after those by their letters

Runs without the value come last in both directions, and equal ones are in the order of time, the newest first. Every order is total, so a
page begins after the place of any row. An unknown name is refused with the known ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, FromClause, Select, and_, false, func, or_, select, tuple_

from longhaul.orchestrator.database.search_fields import magnitude_of, word
from longhaul.orchestrator.database.tables import RUN_WORDS, RUNS, WORDS
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# The columns that a list is sorted by, by their names for users.
COLUMNS: dict[str, ColumnElement[Any]] = {
    "name": RUNS.c.experiment,
    "owner": RUNS.c.owner,
    "seed": RUNS.c.seed,
    "goodput": RUNS.c.goodput_bps,
    "rtt": RUNS.c.rtt_mean_ms,
    "loss": RUNS.c.loss_ratio,
    "utilisation": RUNS.c.utilisation,
    "jain": RUNS.c.jain,
    "duration": RUNS.c.virtual_s,
    "took": RUNS.c.wall_s,
    "start": RUNS.c.started_at,
    "end": RUNS.c.finished_at,
}
_FIELD = "point."
_WRITTEN = re.compile(r"point\.[A-Za-z0-9_.-]{1,80}")
_TEXT = {"name", "owner", "start", "end"}


class Place(NamedTuple):
    """A row's place in an order: its value as text, None without one and in an order of time, then its time and id."""

    value: str | None
    at: str
    id: str


@dataclass(frozen=True, slots=True)
class Order:
    """An order; `by` is None for time, a name of COLUMNS, or `point.FIELD`."""

    by: str | None = None
    # The largest or the newest first.
    falls: bool = True

    def keys(self, swept: FromClause | None) -> tuple[ColumnElement[Any], ...]:
        """What rows are sorted by before the time; those of a field are in the rows of `swept`."""
        if self.by is None:
            return ()
        return (COLUMNS[self.by],) if swept is None else (swept.c.number, swept.c.word)

    def swept(self) -> FromClause | None:
        """The runs that have the field, with its value; None in other orders."""
        if self.by is None or not self.by.startswith(_FIELD):
            return None
        named = WORDS.c.word.startswith(word(self.by.removeprefix(_FIELD), ""), autoescape=True)
        # In a query of its own, or SQLite reads the runs of every word.
        ids = select(WORDS.c.id).where(named)
        number, text = func.min(WORDS.c.number).label("number"), func.min(WORDS.c.word).label("word")
        query = select(RUN_WORDS.c.run_id, number, text).join(WORDS, WORDS.c.id == RUN_WORDS.c.word_id)
        query = query.where(RUN_WORDS.c.word_id.in_(ids)).group_by(RUN_WORDS.c.run_id)
        return query.subquery("swept")

    def value_of(self, keys: Sequence[Any]) -> str | None:
        """A row's keys as text: a word, or a number that reads as the same one."""
        if not keys or keys[-1] is None:
            return None
        return keys[-1] if isinstance(keys[-1], str) else repr(keys[-1])

    def _of_text(self, value: str | None) -> tuple[Any, ...]:
        """The keys of a place; PlanError for a text that no row of this order has."""
        if self.by is None:
            return ()
        if self.by.startswith(_FIELD):
            return (None, None) if value is None else (magnitude_of(value), value)
        if value is None or self.by in _TEXT:
            return (value,)
        try:
            return (float(value),)
        except ValueError:
            raise PlanError(
                "reading the cursor", value, "it is not of a page in this order", "give the `next` of the page before"
            ) from None

    def arranged(self, query: Select[Any], keys: Sequence[ColumnElement[Any]], after: Place | None) -> Select[Any]:
        """The query in this order, after a place."""
        time, down = (RUNS.c.created_at, RUNS.c.id), self.by is not None or self.falls
        if after is not None:
            query = query.where(self._is_behind(keys, after))
        order = [part for key in keys for part in (key.is_(None), key.desc() if self.falls else key)]
        return query.order_by(*order, *(part.desc() if down else part for part in time))

    def _is_behind(self, keys: Sequence[ColumnElement[Any]], after: Place) -> ColumnElement[bool]:
        then, place = tuple_(RUNS.c.created_at, RUNS.c.id), (after.at, after.id)
        later = then < place if self.by is not None or self.falls else then > place
        behind: list[ColumnElement[bool]] = []
        equal: list[ColumnElement[bool]] = []
        for key, value in zip(keys, self._of_text(after.value), strict=True):
            behind += [and_(*equal, one) for one in self._beyond(key, value)]
            equal.append(key.is_(None) if value is None else key == value)
        return or_(false(), *behind, and_(*equal, later))

    def _beyond(self, key: ColumnElement[Any], value: Any) -> Iterator[ColumnElement[bool]]:
        if value is not None:
            yield key < value if self.falls else key > value
            yield key.is_(None)


NEWEST = Order()


def read_order(text: str) -> Order:
    """An order as users write it; PlanError for an unknown one."""
    if text in ("newest", "oldest"):
        return Order(falls=text == "newest")
    by = text.removeprefix("-")
    if by in COLUMNS or _WRITTEN.fullmatch(by):
        return Order(by, falls=text != by)
    what = f"an order is `newest`, `oldest`, one of {', '.join(COLUMNS)}, or `point.` and a swept field"
    raise PlanError("sorting runs", text[:64], what, "as in -goodput, the largest first, or point.path.rtt")
