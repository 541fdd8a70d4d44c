"""Kept runs one after the other with their documents, for questions about many: all, those of an experiment, or those of a name."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from sqlalchemy import Select, select

from longhaul.orchestrator.database.connection import InDatabase
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.database.tables import DOCUMENTS, EXPERIMENT_RUNS, EXPERIMENTS, RUNS
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import NotFound
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_BATCH = 500
_SHORTEST_ID = 4
_AMBIGUOUS = 2


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs that belong together: those of a submitted experiment, by its id, or of every experiment with a name."""

    key: str
    is_name: bool


@dataclass(frozen=True, slots=True)
class KeptRow:
    """A kept run: its columns in the database, the swept fields, and the document."""

    columns: Mapping[str, Any]
    point: Mapping[str, str]
    document: RunDocument

    @property
    def id(self) -> str:
        """The id of the run."""
        return str(self.columns["id"])


class KeptRows(InDatabase):
    """The kept runs of one database; each iteration sees one moment."""

    def sweep(self, wanted: str) -> Sweep:
        """An experiment by its id or the beginning of one, or all runs of a name; NotFound."""
        with self._database.read() as connection:
            if len(wanted) >= _SHORTEST_ID:
                begins = (EXPERIMENTS.c.id >= wanted) & (EXPERIMENTS.c.id < wanted + "g")
                ids = list(connection.execute(select(EXPERIMENTS.c.id).where(begins).limit(_AMBIGUOUS)).scalars())
                if len(ids) == 1:
                    return Sweep(ids[0], is_name=False)
            named = select(RUNS.c.id).where(RUNS.c.experiment == wanted).limit(1)
            if connection.execute(named).first() is not None:
                return Sweep(wanted, is_name=True)
        what = (
            "no submitted experiment has an id that begins with it, and no kept run is of an experiment with this name"
        )
        raise NotFound("looking for the sweep", wanted, what, "see `longhaul list runs`")

    def ids(self, sweep: Sweep | None) -> list[str]:
        """The ids of the runs."""
        with self._database.read() as connection:
            return list(connection.execute(_of(select(RUNS.c.id), sweep)).scalars())

    def points(self, sweep: Sweep | None) -> Iterator[Mapping[str, str]]:
        """The swept fields of the runs."""
        with self._database.read() as connection:
            rows = connection.execution_options(yield_per=_BATCH).execute(_of(select(RUNS.c.point), sweep))
            for text in rows.scalars():
                yield json.loads(text)

    def rows(self, sweep: Sweep | None) -> Iterator[KeptRow]:
        """The runs, a few in memory at a time."""
        query = _of(select(RUNS, DOCUMENTS.c.document).join(DOCUMENTS, DOCUMENTS.c.run_id == RUNS.c.id), sweep)
        with self._database.read() as connection:
            for row in connection.execution_options(yield_per=_BATCH).execute(query):
                columns = dict(row._mapping)
                document = json.loads(columns.pop("document"))
                yield KeptRow(columns, json.loads(columns["point"]), document)

    def sweeps(self, sweep: Sweep | None) -> Iterator[Mapping[str, Any]]:
        """Submitted experiments, the oldest first; a name has none."""
        query = select(EXPERIMENTS).order_by(EXPERIMENTS.c.created_at, EXPERIMENTS.c.id)
        if sweep is not None:
            query = query.where((EXPERIMENTS.c.name if sweep.is_name else EXPERIMENTS.c.id) == sweep.key)
        with self._database.read() as connection:
            for row in connection.execution_options(yield_per=_BATCH).execute(query):
                found = dict(row._mapping)
                yield found | {"sweep": found["id"]}


def _of(query: Select[Any], sweep: Sweep | None) -> Select[Any]:
    # A rerun ends like any run, and only its verdict is kept.
    query = query.where(RUNS.c.status.in_(KEPT), RUNS.c.trace_sha256.is_not(None))
    if sweep is None:
        return query.order_by(RUNS.c.id)
    if sweep.is_name:
        return query.where(RUNS.c.experiment == sweep.key).order_by(RUNS.c.created_at, RUNS.c.id)
    query = query.join(EXPERIMENT_RUNS, EXPERIMENT_RUNS.c.run_id == RUNS.c.id)
    return query.where(EXPERIMENT_RUNS.c.experiment_id == sweep.key).order_by(EXPERIMENT_RUNS.c.position)
