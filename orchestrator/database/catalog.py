"""Kept runs in the database: their documents, their status, and every measure as a row for queries."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, insert, or_, select, update

from longhaul.orchestrator.database.annotations import forget_annotations
from longhaul.orchestrator.database.connection import InDatabase, chunks, new_keys, only_id, page_of
from longhaul.orchestrator.database.counters import add_counts
from longhaul.orchestrator.database.filters import Filter, is_kept
from longhaul.orchestrator.database.lists.groups import Group, groups_of
from longhaul.orchestrator.database.lists.orders import NEWEST, Order, Place, read_order
from longhaul.orchestrator.database.outcomes import settle
from longhaul.orchestrator.database.run_records import AT_ITS_END, Row, measure_rows, record_of
from longhaul.orchestrator.database.search_fields import numbers_of, without_words
from longhaul.orchestrator.database.shared_texts import Measure, keep_texts, measures_in, share_texts, texts_of
from longhaul.orchestrator.database.statuses import KEPT, LIVE
from longhaul.orchestrator.database.tables import (
    BASELINES,
    DOCUMENTS,
    EXPERIMENT_RUNS,
    EXPERIMENTS,
    MEASURES,
    RUN_COUNTS,
    RUNS,
)
from longhaul.orchestrator.database.word_index import add_words, matching, rarest, remove_words
from longhaul.orchestrator.plan.run_document import RunDocument

# A rerun ends like any run, and only its verdict is kept.
ALL = Filter()
# Looking up one run by its id takes as long as reading so many lines of an index.
_LOOK_UPS = 15
# With more runs than this, a page in the order of time is found sooner than they are sorted.
_MOST_SORTED = 1000


class Value(NamedTuple):
    """A run's value of a measure; the point is JSON text."""

    run: str
    point: str
    seed: int
    status: str
    value: float | None


class Catalog(InDatabase):
    """The runs in one database."""

    def add(self, run_id: str, document: RunDocument, run: Mapping[str, Any]) -> None:
        """Record a kept run, its document and its run.json; one that was recorded as kept before stays as it was."""
        record = record_of(run_id, document, run)
        with self._database.write() as connection:
            keep_texts(connection, record.texts)
            if new_keys(connection, RUNS, [record.row]):
                add_words(connection, [record.row])
            else:
                was = connection.execute(select(RUNS.c.status).where(RUNS.c.id == run_id)).scalar_one()
                if was in KEPT:
                    return
                found = {name: record.row[name] for name in AT_ITS_END}
                connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(found))
                if was not in LIVE:
                    # It had been cancelled, and its experiments have counted that.
                    _write_document(connection, run_id, record.document, record.measures)
                    return
            _write_document(connection, run_id, record.document, record.measures)
            settle(connection, run_id, document["status"], {})
            add_counts(connection, record.rises)

    def revise(self, run_id: str, document: RunDocument) -> None:
        """Replace the document of a recorded run."""
        changed = {"status": document["status"], "measured_by": document.get("measured_by"), **numbers_of(document)}
        with self._database.write() as connection:
            changed |= share_texts(connection, document)
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(changed))
            _write_document(connection, run_id, json.dumps(document), measure_rows(run_id, document))

    def document(self, run_id: str) -> RunDocument | None:
        """The whole document of a kept run."""
        query = select(DOCUMENTS.c.document).join(RUNS, RUNS.c.id == DOCUMENTS.c.run_id)
        with self._database.read() as connection:
            found = connection.execute(query.where(RUNS.c.id == run_id, RUNS.c.status.in_(KEPT))).scalar_one_or_none()
        return None if found is None else json.loads(found)

    def run(self, run_id: str) -> Row | None:
        """The row of a run, kept or not, with its document or its error."""
        query = select(RUNS, DOCUMENTS.c.document).outerjoin(DOCUMENTS, DOCUMENTS.c.run_id == RUNS.c.id)
        with self._database.read() as connection:
            row = connection.execute(query.where(RUNS.c.id == run_id)).one_or_none()
        if row is None:
            return None
        found = without_words(_row(row))
        return found | {"document": None if found["document"] is None else json.loads(found["document"])}

    def status(self, run_id: str) -> str | None:
        """A run's status; None for an unknown run."""
        with self._database.read() as connection:
            return connection.execute(select(RUNS.c.status).where(RUNS.c.id == run_id)).scalar_one_or_none()

    def ids_beginning(self, start: str, limit: int) -> list[str]:
        """Ids of kept runs that begin with this, in order."""
        # An index has a range, and no pattern; an id has no letter after f.
        begins = and_(RUNS.c.id >= start.lower(), RUNS.c.id < start.lower() + "g")
        # An expression, or SQLite reads an index of every kept run.
        kept = and_(func.lower(RUNS.c.status).in_(KEPT), RUNS.c.trace_sha256.is_not(None))
        query = select(RUNS.c.id).where(begins, kept).order_by(RUNS.c.id).limit(limit)
        with self._database.read() as connection:
            return list(connection.execute(query).scalars())

    def id_beginning(self, start: str) -> str:
        """The only run of any status whose id begins with this; NotFound names several."""
        with self._database.read() as connection:
            return only_id(connection, RUNS, "run", start)

    def kept_ids(self) -> list[str]:
        """Ids of all kept runs that have files, in order."""
        with self._database.read() as connection:
            return list(connection.execute(select(RUNS.c.id).where(is_kept(RUNS)).order_by(RUNS.c.id)).scalars())

    def measured_by(self, run_ids: Sequence[str]) -> dict[str, str | None]:
        """The kept runs among these, and the hash of the formulas that measured each."""
        found: dict[str, str | None] = {}
        with self._database.read() as connection:
            for some in chunks(run_ids):
                query = select(RUNS.c.id, RUNS.c.measured_by).where(RUNS.c.id.in_(some), RUNS.c.status.in_(KEPT))
                found |= dict(connection.execute(query).all())
        return found

    def page(
        self,
        limit: int,
        wanted: Filter = ALL,
        *,
        after: tuple[str, str] | None = None,
        oldest_first: bool = False,
        experiment_id: str | None = None,
        skip: int = 0,
    ) -> list[Row]:
        """Some runs of any status, after the one with that creation time and id, and `skip` more."""
        if skip:
            order, place = Order(falls=not oldest_first), None if after is None else Place(None, *after)
            return [
                row
                for row, _ in self.ordered(limit, wanted, order, after=place, skip=skip, experiment_id=experiment_id)
            ]
        query = _of_experiment(select(RUNS), experiment_id)
        with self._database.read() as connection:
            found, by, holds = rarest(connection, wanted, _MOST_SORTED), None, None
            if found is not None:
                if found.size == 0:
                    return []
                query, holds = query.join(found.runs, found.runs.c.run_id == RUNS.c.id), found.sought
                by = (found.runs.c.created_at, found.runs.c.run_id)
            query = wanted.apply(query, RUNS, holds)
            return [without_words(row) for row in page_of(connection, query, RUNS, limit, after, oldest_first, by)]

    def ordered(
        self,
        limit: int,
        wanted: Filter = ALL,
        order: Order = NEWEST,
        *,
        after: Place | None = None,
        skip: int = 0,
        experiment_id: str | None = None,
    ) -> list[tuple[Row, Place]]:
        """Some runs in an order with the place of each, after a place and `skip` more rows."""
        with self._database.read() as connection:
            query = _arranged(connection, wanted, order, after, experiment_id)
            if query is None:
                return []
            found = connection.execute(query.limit(limit).offset(skip)).all()
            values = {key: order.value_of(values) for key, *values in found}
            rows: dict[str, Any] = {}
            for some in chunks(list(values)):
                rows |= {row.id: row for row in connection.execute(select(RUNS).where(RUNS.c.id.in_(some)))}
        shown = [(without_words(_row(rows[key])), value) for key, value in values.items()]
        return [(row, Place(value, row["created_at"], row["id"])) for row, value in shown]

    def kept(self, limit: int, sort: str, text: str) -> list[Row]:
        """Kept runs that a text finds, in an order as users write it."""
        return [row for row, _ in self.ordered(limit, Filter(text=text, kept=True), read_order(sort))]

    def ids_in_order(self, wanted: Filter = ALL, order: Order = NEWEST, experiment_id: str | None = None) -> list[str]:
        """The ids of all runs on all pages together."""
        with self._database.read() as connection:
            query = _arranged(connection, wanted, order, None, experiment_id)
            return [] if query is None else list(connection.execute(query).scalars())

    def groups(self, limit: int, wanted: Filter = ALL, sort: str = "newest", skip: int = 0) -> tuple[list[Group], int]:
        """Some of the experiments' names in an order, each with its matching runs, and the number of all."""
        with self._database.read() as connection:
            return groups_of(connection, wanted, sort, limit, skip)

    def rows_of(self, run_ids: Sequence[str]) -> Iterator[Row]:
        """The rows of these runs, in this order, a few in memory at a time; a run that was deleted since has none."""
        for some in chunks(run_ids):
            with self._database.read() as connection:
                rows = {row.id: row for row in connection.execute(select(RUNS).where(RUNS.c.id.in_(some)))}
            yield from (without_words(_row(rows[key])) for key in some if key in rows)

    def fields_of(self, run_ids: Sequence[str]) -> list[str]:
        """The swept fields of these runs, each once."""
        found: dict[str, None] = {}
        for some in chunks(run_ids):
            with self._database.read() as connection:
                points = connection.execute(select(RUNS.c.point).where(RUNS.c.id.in_(some)).distinct()).scalars()
                for point in points:
                    found |= dict.fromkeys(json.loads(point))
        return list(found)

    def count(self, wanted: Filter = ALL, *, experiment_id: str | None = None) -> int:
        """How many runs there are on all pages together."""
        query = _of_experiment(select(func.count()).select_from(RUNS), experiment_id)
        with self._database.read() as connection:
            if experiment_id is None and wanted in (ALL, Filter(status=wanted.status)):
                return sum(runs for status, runs in _by_status(connection).items() if wanted.status in (None, status))
            found, holds = rarest(connection, wanted), None
            if found is not None:
                if wanted.is_only(found.sought) and experiment_id is None:
                    return int(connection.execute(select(func.count()).select_from(found.runs)).scalar_one())
                if found.size is not None and found.size * _LOOK_UPS < sum(_by_status(connection).values()):
                    query, holds = query.join(found.runs, found.runs.c.run_id == RUNS.c.id), found.sought
            return int(connection.execute(wanted.apply(query, RUNS, holds)).scalar_one())

    def documents(self, run_ids: Sequence[str]) -> dict[str, RunDocument]:
        """The documents of these runs that have ended: kept ones, and failed ones with their error."""
        found: dict[str, RunDocument] = {}
        with self._database.read() as connection:
            for some in chunks(run_ids):
                query = select(DOCUMENTS).where(DOCUMENTS.c.run_id.in_(some))
                found |= {row.run_id: json.loads(row.document) for row in connection.execute(query)}
        return found

    def recorded(self, names: Sequence[str]) -> set[str]:
        """The names among these of experiments that have a run in any state."""
        found: set[str] = set()
        with self._database.read() as connection:
            for some in chunks(names):
                query = select(RUNS.c.experiment).where(RUNS.c.experiment.in_(some)).distinct()
                found |= set(connection.execute(query).scalars())
        return found

    def statuses(self, run_ids: Sequence[str]) -> dict[str, str]:
        """The status of the known runs among these."""
        found: dict[str, str] = {}
        with self._database.read() as connection:
            for some in chunks(run_ids):
                found |= dict(connection.execute(select(RUNS.c.id, RUNS.c.status).where(RUNS.c.id.in_(some))).all())
        return found

    def by_status(self) -> dict[str, int]:
        """How many runs there are in each status."""
        with self._database.read() as connection:
            return _by_status(connection)

    def speed(self, since: str) -> float:
        """Virtual seconds per second of real time over the runs that ended since then; 0 without any."""
        query = select(func.sum(RUNS.c.virtual_s), func.sum(RUNS.c.wall_s)).where(
            RUNS.c.finished_at >= since, is_kept(RUNS)
        )
        with self._database.read() as connection:
            virtual_s, wall_s = connection.execute(query).one()
        return virtual_s / wall_s if wall_s else 0.0

    def values_of(self, experiment_id: str, measure: str, flow: str) -> tuple[list[Value], list[Measure]]:
        """One measure over the runs of one experiment, in their order, None where a run has no such number; and all their measures."""
        query = (
            select(RUNS.c.id, RUNS.c.point, RUNS.c.seed, RUNS.c.status, MEASURES.c.value, RUNS.c.measured)
            .join(EXPERIMENT_RUNS, EXPERIMENT_RUNS.c.run_id == RUNS.c.id)
            .outerjoin(
                MEASURES,
                and_(MEASURES.c.run_id == RUNS.c.id, MEASURES.c.measure == measure, MEASURES.c.flow == flow),
            )
            .where(EXPERIMENT_RUNS.c.experiment_id == experiment_id)
            .order_by(EXPERIMENT_RUNS.c.position)
        )
        with self._database.read() as connection:
            rows = connection.execute(query).all()
            texts = texts_of(connection, {row.measured for row in rows if row.measured is not None})
        return [Value(*row[:-1]) for row in rows], measures_in(texts.values())

    def removable(self) -> list[tuple[str, str]]:
        """Kept runs that may be deleted, the oldest first: (id, created at)."""
        query = select(RUNS.c.id, RUNS.c.created_at).where(RUNS.c.status.in_(KEPT), ~_protected())
        with self._database.read() as connection:
            return [
                (row.id, row.created_at) for row in connection.execute(query.order_by(RUNS.c.created_at, RUNS.c.id))
            ]

    def protected(self) -> list[str]:
        """Kept runs that are pinned, wanted, or part of a baseline."""
        with self._database.read() as connection:
            return list(connection.execute(select(RUNS.c.id).where(RUNS.c.status.in_(KEPT), _protected())).scalars())

    def pin(self, run_id: str, pinned: bool) -> None:
        """Pin a run, or remove the pin."""
        with self._database.write() as connection:
            connection.execute(update(RUNS).where(RUNS.c.id == run_id).values(pinned=pinned))

    def void(self, run_id: str) -> None:
        """Mark a kept run with damaged files as not kept until it is run again; pins, experiments and baselines stay."""
        with self._database.write() as connection:
            kept = (RUNS.c.id == run_id) & RUNS.c.status.in_(KEPT)
            connection.execute(update(RUNS).where(kept).values(status="failed"))

    def let_go(self, run_id: str) -> str | None:
        """Delete a run that no pin, experiment or baseline needs; else that reason."""
        with self._database.write() as connection:
            row = connection.execute(select(RUNS.c.status, RUNS.c.pinned).where(RUNS.c.id == run_id)).one_or_none()
            if row is None:
                return None
            if row.status in LIVE:
                return f"it is {row.status}"
            if row.pinned:
                return "it is pinned"
            if connection.execute(select(RUNS.c.id).where(RUNS.c.id == run_id, _protected())).first() is not None:
                return "an unfinished experiment wants it, or a baseline has it"
            remove_words(connection, [run_id])
            forget_annotations(connection, [run_id])
            connection.execute(delete(RUNS).where(RUNS.c.id == run_id))
        return None

    def remove(self, run_ids: Sequence[str]) -> None:
        """Delete runs, except those that wait: an earlier result is no reason not to run them."""
        with self._database.write() as connection:
            for some in chunks(run_ids):
                ended = and_(RUNS.c.id.in_(some), RUNS.c.status.not_in(LIVE))
                ids = list(connection.execute(select(RUNS.c.id).where(ended)).scalars())
                remove_words(connection, ids)
                forget_annotations(connection, ids)
                connection.execute(delete(RUNS).where(ended))


def _protected() -> ColumnElement[bool]:
    live = select(EXPERIMENTS.c.id).where(EXPERIMENTS.c.status.in_(LIVE))
    needed = or_(
        EXPERIMENT_RUNS.c.experiment_id.in_(live),
        EXPERIMENT_RUNS.c.experiment_id.in_(select(BASELINES.c.experiment_id)),
    )
    return or_(RUNS.c.pinned, RUNS.c.id.in_(select(EXPERIMENT_RUNS.c.run_id).where(needed)))


def _by_status(connection: Connection) -> dict[str, int]:
    query = select(RUN_COUNTS.c.status, RUN_COUNTS.c.runs).where(RUN_COUNTS.c.runs > 0)
    return dict(connection.execute(query).all())


def _row(row: Any) -> Row:
    return dict(row._mapping)


def _of_experiment(query: Select[Any], experiment_id: str | None) -> Select[Any]:
    if experiment_id is None:
        return query
    its = select(EXPERIMENT_RUNS.c.run_id).where(EXPERIMENT_RUNS.c.experiment_id == experiment_id)
    return query.where(RUNS.c.id.in_(its))


def _arranged(
    connection: Connection,
    wanted: Filter,
    order: Order,
    after: Place | None,
    experiment_id: str | None,
) -> Select[Any] | None:
    """The ids of runs in an order with its keys; None for no runs. Only what is sorted, so that rows are read for one page alone."""
    swept = order.swept()
    keys = order.keys(swept)
    query = _of_experiment(select(RUNS.c.id, *keys), experiment_id)
    if swept is not None:
        query = query.outerjoin(swept, swept.c.run_id == RUNS.c.id)
    found = matching(connection, query, wanted, _MOST_SORTED)
    return None if found is None else order.arranged(found, keys, after)


def _write_document(connection: Connection, run_id: str, document: str, measures: Sequence[Row]) -> None:
    connection.execute(delete(DOCUMENTS).where(DOCUMENTS.c.run_id == run_id))
    connection.execute(delete(MEASURES).where(MEASURES.c.run_id == run_id))
    connection.execute(insert(DOCUMENTS).values(run_id=run_id, document=document))
    if measures:
        connection.execute(insert(MEASURES), measures)
