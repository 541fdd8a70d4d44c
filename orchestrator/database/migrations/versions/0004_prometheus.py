"""Where runs lie in Prometheus, how their export does, what is counted over the life of a record, and since when a lease is held."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"


def upgrade() -> None:
    """Add the tables and the column."""
    op.create_table(
        "spans",
        sa.Column("run_id", sa.String(32), primary_key=True),
        sa.Column("begin_ms", sa.BigInteger, nullable=False),
        sa.Column("end_ms", sa.BigInteger, nullable=False),
        sa.Column("resolution_ms", sa.Integer, nullable=False),
    )
    op.create_index("spans_in_time", "spans", ["end_ms"])
    op.create_table(
        "exporters",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("at_s", sa.Float, nullable=False),
        sa.Column("oldest_s", sa.Float),
        sa.Column("spool_bytes", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "counts",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.Float, nullable=False),
    )
    op.create_index("runs_by_end", "runs", ["finished_at"])
    with op.batch_alter_table("leases") as leases:
        leases.add_column(sa.Column("since_s", sa.Float, nullable=False, server_default="0"))
