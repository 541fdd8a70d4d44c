"""Submitted experiments: the request, its owner, and the progress.

    queued --> running --> done | missed | failed          cancelled from either of the first two

An experiment counts its runs as each reaches its end (outcomes.py); the last one decides the experiment's status.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, and_, delete, func, insert, select, update

from longhaul.orchestrator.database.access.deliveries import queue_event
from longhaul.orchestrator.database.annotations import NOTHING, Annotation, annotate, forget_annotations
from longhaul.orchestrator.database.connection import InDatabase, chunks, only_id, page_of
from longhaul.orchestrator.database.events import newest_id, say, say_all
from longhaul.orchestrator.database.filters import Filter
from longhaul.orchestrator.database.outcomes import close_if_over, give_up, say_over
from longhaul.orchestrator.database.run_records import now
from longhaul.orchestrator.database.search_fields import IS_RERUN, experiment_traits, without_words
from longhaul.orchestrator.database.statuses import EXPECTATION_MISSED, KEPT, LIVE
from longhaul.orchestrator.database.tables import BASELINES, DOCUMENTS, EXPERIMENT_RUNS, EXPERIMENTS, RUNS, WORK
from longhaul.orchestrator.database.work import Wanted, enqueue
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import Conflict, NotFound
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Row = dict[str, Any]
ALL = Filter()
# How many documents are read at a time.
_DOCUMENTS = 200


@dataclass(frozen=True, slots=True)
class Submission:
    """An experiment as it is submitted, with its runs in order."""

    id: str
    name: str
    about: str
    owner: str
    priority: int
    aggregate: str
    spec: Mapping[str, Any]
    lint: Sequence[Mapping[str, Any]]
    asked: Mapping[str, Any]
    asked_sha256: str
    idempotency_key: str | None
    runs: Sequence[Wanted]
    annotation: Annotation = NOTHING


class Experiments(InDatabase):
    """The experiments in one database."""

    def submit(self, submission: Submission) -> str:
        """Record an experiment and queue its runs that are not kept; its id, or that of the earlier submission with the same key."""
        its_runs = (wanted.run for wanted in submission.runs)
        rerun_of = next((wanted.rerun_of for wanted in submission.runs), None)
        traits = experiment_traits(
            submission.id, submission.name, submission.about, submission.owner, its_runs, rerun_of
        )
        with self._database.write() as connection:
            if known := _asked_before(
                connection, submission.owner, submission.idempotency_key, submission.asked_sha256
            ):
                return known
            run_ids = [wanted.run_id for wanted in submission.runs]
            kept: dict[str, str] = {}
            for some in chunks(list(dict.fromkeys(run_ids))):
                query = select(RUNS.c.id, RUNS.c.status).where(RUNS.c.id.in_(some), RUNS.c.status.in_(KEPT))
                kept |= dict(connection.execute(query).all())
            ends = [kept[run_id] for run_id in run_ids if run_id in kept]
            row = {
                "id": submission.id,
                "name": submission.name,
                "about": submission.about,
                "owner": submission.owner,
                "status": "queued",
                "priority": submission.priority,
                "created_at": now(),
                "total": len(run_ids),
                "cached": len(ends),
                "done": ends.count("done"),
                "missed": ends.count("missed"),
                "failed": 0,
                "cancelled": 0,
                "aggregate": submission.aggregate,
                "spec": json.dumps(submission.spec),
                "lint": json.dumps(list(submission.lint)),
                "asked": json.dumps(submission.asked),
                "idempotency_key": submission.idempotency_key,
                "asked_sha256": submission.asked_sha256,
                "first_event": newest_id(connection),
                **traits,
            }
            connection.execute(insert(EXPERIMENTS).values(row))
            annotate(connection, submission.id, submission.annotation, submission.owner)
            say(connection, "experiment.queued", {"total": len(run_ids), "cached": len(ends)}, experiment=submission.id)
            queued = enqueue(
                connection,
                [wanted for wanted in submission.runs if wanted.run_id not in kept],
                submission.name,
                submission.owner,
                submission.priority,
            )
            first = 0
            for some in chunks(run_ids):
                members = [
                    {
                        "experiment_id": submission.id,
                        "position": position,
                        "run_id": run_id,
                        "cached": run_id in kept,
                        "counted": kept.get(run_id),
                    }
                    for position, run_id in enumerate(some, first)
                ]
                connection.execute(insert(EXPERIMENT_RUNS), members)
                first += len(some)
            for some in chunks(queued):
                say_all(connection, "run.queued", [(None, run_id, {}) for run_id in some])
            if "missed" in ends:
                queue_event(connection, submission.id, EXPECTATION_MISSED)
            close_if_over(connection, submission.id)
        return submission.id

    def asked_before(self, owner: str, idempotency_key: str | None, asked_sha256: str) -> str | None:
        """The experiment that this user submitted with this key; Conflict if it was another experiment."""
        with self._database.read() as connection:
            return _asked_before(connection, owner, idempotency_key, asked_sha256)

    def get(self, experiment: str) -> Row:
        """One experiment; NotFound."""
        with self._database.read() as connection:
            row = connection.execute(select(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment)).one_or_none()
        if row is None:
            raise NotFound(
                "looking for experiment", experiment, "there is no experiment with this id", "see GET /experiments"
            )
        return _experiment(row)

    def page(
        self,
        limit: int,
        wanted: Filter = ALL,
        *,
        after: tuple[str, str] | None = None,
        oldest_first: bool = False,
        skip: int = 0,
    ) -> list[Row]:
        """Some experiments, after the one with that creation time and id, and `skip` more."""
        wide = {"spec", "lint", "asked"}
        query = wanted.apply(select(*(column for column in EXPERIMENTS.c if column.name not in wide)), EXPERIMENTS)
        with self._database.read() as connection:
            return [
                without_words(row)
                for row in page_of(connection, query.offset(skip or None), EXPERIMENTS, limit, after, oldest_first)
            ]

    def count(self, wanted: Filter = ALL) -> int:
        """How many experiments there are on all pages together."""
        query = wanted.apply(select(func.count()).select_from(EXPERIMENTS), EXPERIMENTS)
        with self._database.read() as connection:
            return int(connection.execute(query).scalar_one())

    def id_beginning(self, start: str) -> str:
        """The only experiment whose id begins with this; NotFound names several."""
        with self._database.read() as connection:
            return only_id(connection, EXPERIMENTS, "experiment", start)

    def run_ids(self, experiment: str) -> list[str]:
        """Its runs, in its order."""
        query = select(EXPERIMENT_RUNS.c.run_id).where(EXPERIMENT_RUNS.c.experiment_id == experiment)
        with self._database.read() as connection:
            return list(connection.execute(query.order_by(EXPERIMENT_RUNS.c.position)).scalars())

    def documents(self, experiment: str) -> list[RunDocument]:
        """The results of its finished runs, in its order; failed ones have their error."""
        return list(self.each_document(experiment))

    def each_document(self, experiment: str, statuses: Sequence[str] = (*KEPT, "failed")) -> Iterator[RunDocument]:
        """The same one after the other: those of a large sweep do not fit in memory at once."""
        query = (
            select(DOCUMENTS.c.document, EXPERIMENT_RUNS.c.cached, EXPERIMENT_RUNS.c.position)
            .join(DOCUMENTS, DOCUMENTS.c.run_id == EXPERIMENT_RUNS.c.run_id)
            .join(RUNS, RUNS.c.id == EXPERIMENT_RUNS.c.run_id)
            .where(EXPERIMENT_RUNS.c.experiment_id == experiment, RUNS.c.status.in_(statuses))
            .order_by(EXPERIMENT_RUNS.c.position)
            .limit(_DOCUMENTS)
        )
        last = -1
        while True:
            with self._database.read() as connection:
                rows = connection.execute(query.where(EXPERIMENT_RUNS.c.position > last)).all()
            if not rows:
                return
            last = rows[-1].position
            yield from (json.loads(row.document) | {"cached": row.cached} for row in rows)

    def live_on(self, backend: str) -> list[str]:
        """Unfinished experiments on a backend."""
        query = select(EXPERIMENTS.c.id, EXPERIMENTS.c.asked).where(EXPERIMENTS.c.status.in_(LIVE))
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return [row.id for row in rows if json.loads(row.asked).get("backend") == backend]

    def wanting(self, run_id: str) -> list[str]:
        """The experiments that want or wanted a run, the newest first."""
        query = (
            select(EXPERIMENTS.c.id)
            .join(EXPERIMENT_RUNS, EXPERIMENT_RUNS.c.experiment_id == EXPERIMENTS.c.id)
            .where(EXPERIMENT_RUNS.c.run_id == run_id)
            .distinct()
            .add_columns(EXPERIMENTS.c.created_at)
            .order_by(EXPERIMENTS.c.created_at.desc(), EXPERIMENTS.c.id)
        )
        with self._database.read() as connection:
            return list(connection.execute(query).scalars())

    def cancel(self, experiment: str) -> None:
        """Cancel the runs that no other experiment wants: waiting ones at once, running ones as soon as their holder checks."""
        with self._database.write() as connection:
            changed = connection.execute(
                update(EXPERIMENTS)
                .where(EXPERIMENTS.c.id == experiment, EXPERIMENTS.c.status.in_(LIVE))
                .values(
                    status="cancelled",
                    finished_at=now(),
                    cancelled=EXPERIMENTS.c.total - EXPERIMENTS.c.done - EXPERIMENTS.c.missed - EXPERIMENTS.c.failed,
                )
            ).rowcount
            if not changed:
                return
            others = (
                select(EXPERIMENT_RUNS.c.run_id)
                .join(EXPERIMENTS, EXPERIMENTS.c.id == EXPERIMENT_RUNS.c.experiment_id)
                .where(EXPERIMENTS.c.status.in_(LIVE))
            )
            its = select(EXPERIMENT_RUNS.c.run_id).where(EXPERIMENT_RUNS.c.experiment_id == experiment)
            unwanted = and_(WORK.c.run_id.in_(its), WORK.c.run_id.not_in(others))
            connection.execute(update(WORK).where(unwanted, WORK.c.claimed_by.is_not(None)).values(cancel=True))
            waiting = list(
                connection.execute(select(WORK.c.run_id).where(unwanted, WORK.c.claimed_by.is_(None))).scalars()
            )
            give_up(connection, waiting)
            say_over(connection, experiment)

    def give_priority(self, experiment: str, priority: int) -> bool:
        """Set the priority of an unfinished experiment; a run that others want too keeps the highest of theirs. False if it has ended."""
        wanting = (
            select(func.max(EXPERIMENTS.c.priority))
            .join(EXPERIMENT_RUNS, EXPERIMENT_RUNS.c.experiment_id == EXPERIMENTS.c.id)
            .where(EXPERIMENT_RUNS.c.run_id == WORK.c.run_id, EXPERIMENTS.c.status.in_(LIVE))
            .scalar_subquery()
        )
        its = select(EXPERIMENT_RUNS.c.run_id).where(EXPERIMENT_RUNS.c.experiment_id == experiment)
        with self._database.write() as connection:
            unfinished = and_(EXPERIMENTS.c.id == experiment, EXPERIMENTS.c.status.in_(LIVE))
            changed = connection.execute(update(EXPERIMENTS).where(unfinished).values(priority=priority)).rowcount
            if changed:
                connection.execute(update(WORK).where(WORK.c.run_id.in_(its)).values(priority=wanting))
        return bool(changed)

    def remove(self, experiment: str) -> None:
        """Delete an experiment that has ended; its runs stay for others."""
        with self._database.write() as connection:
            forget_annotations(connection, [experiment])
            connection.execute(delete(EXPERIMENTS).where(EXPERIMENTS.c.id == experiment))

    def newest_named(self, names: Sequence[str]) -> dict[str, Row]:
        """The newest experiment of each of these names, without reruns of single runs."""
        at = (
            select(EXPERIMENTS.c.name, func.max(EXPERIMENTS.c.created_at).label("at"))
            .where(EXPERIMENTS.c.name.in_(names), EXPERIMENTS.c.words.not_like(f"%{IS_RERUN}%"))
            .group_by(EXPERIMENTS.c.name)
            .subquery()
        )
        newest = and_(EXPERIMENTS.c.name == at.c.name, EXPERIMENTS.c.created_at == at.c.at)
        query = select(EXPERIMENTS).join(at, newest).order_by(EXPERIMENTS.c.id)
        with self._database.read() as connection:
            return {row.name: _experiment(row) for row in connection.execute(query)}

    def by_status(self) -> dict[str, int]:
        """How many experiments there are in each status."""
        query = select(EXPERIMENTS.c.status, func.count()).group_by(EXPERIMENTS.c.status)
        with self._database.read() as connection:
            return dict(connection.execute(query).all())

    def set_baseline(self, name: str, branch: str, experiment: str, by: str) -> None:
        """Set the baseline of a branch: later experiments of that name are compared with it."""
        row = {"name": name, "branch": branch, "experiment_id": experiment, "set_at": now(), "set_by": by}
        with self._database.write() as connection:
            connection.execute(delete(BASELINES).where(BASELINES.c.name == name, BASELINES.c.branch == branch))
            connection.execute(insert(BASELINES).values(row))

    def baseline(self, name: str, branch: str) -> Row | None:
        """The baseline of a branch, if one was set."""
        query = select(BASELINES).where(BASELINES.c.name == name, BASELINES.c.branch == branch)
        with self._database.read() as connection:
            row = connection.execute(query).one_or_none()
        return None if row is None else dict(row._mapping)

    def baselines(self) -> list[Row]:
        """All baselines."""
        query = select(BASELINES).order_by(BASELINES.c.name, BASELINES.c.branch)
        with self._database.read() as connection:
            return [dict(row._mapping) for row in connection.execute(query)]


def _asked_before(connection: Connection, owner: str, idempotency_key: str | None, asked_sha256: str) -> str | None:
    if idempotency_key is None:
        return None
    query = select(EXPERIMENTS.c.id, EXPERIMENTS.c.asked_sha256).where(
        EXPERIMENTS.c.owner == owner, EXPERIMENTS.c.idempotency_key == idempotency_key
    )
    known = connection.execute(query).one_or_none()
    if known is None:
        return None
    if known.asked_sha256 != asked_sha256:
        raise Conflict(
            "submitting with the Idempotency-Key",
            idempotency_key,
            f"it was used for another experiment, {known.id}",
            "give every submission its own key",
        )
    return str(known.id)


def _experiment(row: Any) -> Row:
    found = without_words(dict(row._mapping))
    return found | {name: json.loads(found[name]) for name in ("spec", "lint", "asked")}
