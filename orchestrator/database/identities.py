"""The programs that made kept runs: the identity of a run (kernel, agent and modules by their hashes) as JSON text.

Runs of the same programs have the same text, so a database has few of them, however many runs it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import func, select

from longhaul.orchestrator.database.connection import InDatabase, chunks
from longhaul.orchestrator.database.shared_texts import texts_of
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.database.tables import EXPERIMENT_RUNS, RUNS


class Identities(InDatabase):
    """The identities in one database."""

    def of_runs(self, run_ids: Sequence[str]) -> dict[str, str]:
        """The runs among these that are kept with an identity."""
        found: dict[str, str] = {}
        with self._database.read() as connection:
            for some in chunks(run_ids):
                query = select(RUNS.c.id, RUNS.c.identity)
                query = query.where(RUNS.c.id.in_(some), RUNS.c.status.in_(KEPT), RUNS.c.identity.is_not(None))
                found |= dict(connection.execute(query).all())
            texts = texts_of(connection, set(found.values()))
        return {run_id: texts[key] for run_id, key in found.items()}

    def of_experiments(self, experiments: Sequence[str]) -> dict[str, dict[str, str]]:
        """The identities of each experiment's kept runs, each with one of its runs."""
        found: dict[str, dict[str, str]] = {experiment: {} for experiment in experiments}
        with self._database.read() as connection:
            for some in chunks(experiments):
                query = (
                    select(EXPERIMENT_RUNS.c.experiment_id, RUNS.c.identity, func.min(RUNS.c.id).label("run_id"))
                    .join(RUNS, RUNS.c.id == EXPERIMENT_RUNS.c.run_id)
                    .where(
                        EXPERIMENT_RUNS.c.experiment_id.in_(some), RUNS.c.status.in_(KEPT), RUNS.c.identity.is_not(None)
                    )
                    .group_by(EXPERIMENT_RUNS.c.experiment_id, RUNS.c.identity)
                )
                rows = connection.execute(query).all()
                texts = texts_of(connection, {row.identity for row in rows})
                for row in rows:
                    found[row.experiment_id][texts[row.identity]] = row.run_id
        return found
