"""Links that share a run, several runs or an experiment, each with a token of the scope `shared`; the queue by batches."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"

_BATCHES = ["owner", "queued_s", "priority", "needs", "position", "run_id", "claimed_by", "lease_until_s"]


def upgrade() -> None:
    """Add the table and the index."""
    op.create_table(
        "shares",
        sa.Column(
            "token_id", sa.String(16), sa.ForeignKey("tokens.id", ondelete="CASCADE"), nullable=False, primary_key=True
        ),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("runs", sa.Text, nullable=False),
        sa.Column("experiment_id", sa.String(32)),
    )
    op.create_index("work_in_batches", "work", _BATCHES)
