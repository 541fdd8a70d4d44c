"""The programs that made kept runs: the identity of a run (kernel, agent and modules by their hashes) as JSON text.

Runs of the same programs have the same text, so a database has few of them, however many runs it has.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import JSON, ColumnElement, Connection, cast, func, select

from longhaul.orchestrator.database.connection import Database, chunks
from longhaul.orchestrator.database.statuses import KEPT
from longhaul.orchestrator.database.tables import DOCUMENTS, EXPERIMENT_RUNS, RUNS


class Identities:
    """The identities in one database."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def of_runs(self, run_ids: Sequence[str]) -> dict[str, str]:
        """The runs among these that are kept with an identity."""
        found: dict[str, str] = {}
        with self._database.read() as connection:
            identity = _identity(connection)
            for some in chunks(run_ids):
                query = select(DOCUMENTS.c.run_id, identity).join(RUNS, RUNS.c.id == DOCUMENTS.c.run_id)
                query = query.where(DOCUMENTS.c.run_id.in_(some), RUNS.c.status.in_(KEPT), identity.is_not(None))
                found |= dict(connection.execute(query).all())
        return found

    def of_experiments(self, experiments: Sequence[str]) -> dict[str, dict[str, str]]:
        """The identities of each experiment's kept runs, each with one of its runs."""
        found: dict[str, dict[str, str]] = {experiment: {} for experiment in experiments}
        with self._database.read() as connection:
            identity = _identity(connection).label("identity")
            for some in chunks(experiments):
                query = (
                    select(EXPERIMENT_RUNS.c.experiment_id, identity, func.min(RUNS.c.id).label("run_id"))
                    .join(RUNS, RUNS.c.id == EXPERIMENT_RUNS.c.run_id)
                    .join(DOCUMENTS, DOCUMENTS.c.run_id == RUNS.c.id)
                    .where(EXPERIMENT_RUNS.c.experiment_id.in_(some), RUNS.c.status.in_(KEPT))
                    .group_by(EXPERIMENT_RUNS.c.experiment_id, identity)
                )
                for row in connection.execute(query):
                    if row.identity is not None:
                        found[row.experiment_id][row.identity] = row.run_id
        return found


def _identity(connection: Connection) -> ColumnElement[str | None]:
    if connection.dialect.name == "postgresql":
        return func.json_extract_path_text(cast(DOCUMENTS.c.document, JSON), "identity")
    return func.json_extract(DOCUMENTS.c.document, "$.identity")
