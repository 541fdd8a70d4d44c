"""Runs and their measures."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    """Make the first two tables."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("experiment", sa.String(128), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("backend", sa.String(16), nullable=False),
        sa.Column("kernel", sa.String(64), nullable=False),
        sa.Column("seed", sa.Integer, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("virtual_s", sa.Float, nullable=False),
        sa.Column("wall_s", sa.Float, nullable=False),
        sa.Column("trace_sha256", sa.String(64), nullable=False),
        sa.Column("point", sa.Text, nullable=False),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_index("runs_by_experiment", "runs", ["experiment", "created_at"])
    op.create_index("runs_by_time", "runs", ["created_at"])
    op.create_table(
        "measures",
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("flow", sa.String(128), primary_key=True),
        sa.Column("measure", sa.String(64), primary_key=True),
        sa.Column("value", sa.Float, nullable=False),
    )
