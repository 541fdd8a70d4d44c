"""The runs of each experiment as one row: their number by status, and the mean and range of their results.

newest  oldest       by the newest run of each
name  runs  goodput  by the name, the number of runs or the mean of a result, a minus in front for the largest first
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, RowMapping, func, select

from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.tables import RUNS
from longhaul.orchestrator.database.word_index import matching
from longhaul.orchestrator.system.errors import PlanError

RESULTS = {
    "goodput": RUNS.c.goodput_bps,
    "rtt": RUNS.c.rtt_mean_ms,
    "loss": RUNS.c.loss_ratio,
    "utilisation": RUNS.c.utilisation,
    "jain": RUNS.c.jain,
}
_NEWEST = func.max(RUNS.c.created_at)
ORDERS: dict[str, ColumnElement[Any]] = {
    "name": RUNS.c.experiment,
    "runs": func.count(),
    **{name: func.avg(column) for name, column in RESULTS.items()},
}


class Spread(NamedTuple):
    """A result over the runs that have it."""

    mean: float
    least: float
    most: float


class Group(NamedTuple):
    """The matching runs of one experiment."""

    experiment: str
    runs: int
    statuses: dict[str, int]
    # The creation time of the newest run.
    created_at: str
    results: dict[str, Spread]

    def document(self) -> dict[str, Any]:
        """The group as JSON has it."""
        return self._asdict() | {"results": {name: spread._asdict() for name, spread in self.results.items()}}


def groups_of(connection: Connection, wanted: Filter, sort: str, limit: int, skip: int = 0) -> tuple[list[Group], int]:
    """Some groups of the matching runs in an order, and the number of all groups."""
    columns = (RUNS.c.experiment, func.count().label("runs"), _NEWEST.label("newest"), *_spreads())
    query = matching(connection, select(*columns), wanted)
    if query is None:
        return [], 0
    grouped = query.group_by(RUNS.c.experiment).order_by(*_order(sort))
    rows = connection.execute(grouped.limit(limit).offset(skip)).mappings().all()
    names = matching(connection, select(func.count(RUNS.c.experiment.distinct())), wanted)
    total = 0 if names is None else int(connection.execute(names).scalar_one())
    statuses = _statuses(connection, wanted, [row["experiment"] for row in rows])
    return [
        Group(row["experiment"], row["runs"], statuses[row["experiment"]], row["newest"], _results(row)) for row in rows
    ], total


def _spreads() -> Iterator[ColumnElement[Any]]:
    """The columns of every result, with a name for each part."""
    for name, column in RESULTS.items():
        for part, function in (("mean", func.avg), ("least", func.min), ("most", func.max)):
            yield function(column).label(f"{name} {part}")


def _results(row: RowMapping) -> dict[str, Spread]:
    """The results that a run of the group has."""
    spreads = {name: Spread(*(row[f"{name} {part}"] for part in Spread._fields)) for name in RESULTS}
    return {name: spread for name, spread in spreads.items() if spread.mean is not None}


def _order(sort: str) -> list[ColumnElement[Any]]:
    if sort in ("newest", "oldest"):
        return [_NEWEST.desc() if sort == "newest" else _NEWEST.asc(), RUNS.c.experiment.asc()]
    by = sort.removeprefix("-")
    if by not in ORDERS:
        known = f"an order is `newest`, `oldest`, or one of {', '.join(ORDERS)}"
        raise PlanError("sorting groups of runs", sort[:64], known, "as in -goodput, the largest mean first")
    key = ORDERS[by]
    return [key.is_(None), key.desc() if sort != by else key.asc(), RUNS.c.experiment.asc()]


def _statuses(connection: Connection, wanted: Filter, names: list[str]) -> dict[str, dict[str, int]]:
    """How many matching runs of each experiment have each status."""
    found: dict[str, dict[str, int]] = defaultdict(dict)
    query = matching(connection, select(RUNS.c.experiment, RUNS.c.status, func.count()), wanted)
    if query is not None:
        query = query.where(RUNS.c.experiment.in_(names)).group_by(RUNS.c.experiment, RUNS.c.status)
        for name, status, number in connection.execute(query):
            found[name][status] = number
    return found
