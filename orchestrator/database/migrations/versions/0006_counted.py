"""Which end an experiment has counted of each of its runs, so that it counts it once."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"


def upgrade() -> None:
    """Add the column; an experiment that goes on has counted what has ended."""
    op.add_column("experiment_runs", sa.Column("counted", sa.String(16)))
    ended = "SELECT status FROM runs WHERE id = run_id AND status NOT IN ('queued', 'running')"
    of_live = "experiment_id IN (SELECT id FROM experiments WHERE status IN ('queued', 'running'))"
    op.execute(f"UPDATE experiment_runs SET counted = ({ended}) WHERE {of_live}")  # noqa: S608 (no value in it)
