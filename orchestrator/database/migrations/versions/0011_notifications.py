"""Subscriptions of users to events of experiments, and the messages about them."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "subscriptions",
        sa.Column("id", sa.String(16), nullable=False, primary_key=True),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("by_proxy", sa.Boolean, nullable=False),
        sa.Column("way", sa.String(16), nullable=False),
        sa.Column("target", sa.Text, nullable=False),
        sa.Column("secret", sa.String(64)),
        sa.Column("events", sa.Text, nullable=False),
        sa.Column("experiment_id", sa.String(32)),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("everyone", sa.Boolean, nullable=False),
        sa.Column("branch", sa.String(128), nullable=False),
        sa.Column("measures", sa.Text, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("tried_s", sa.Float, nullable=False),
        sa.Column("last_at", sa.String(32)),
        sa.Column("last_event", sa.String(32)),
        sa.Column("last_status", sa.String(16)),
        sa.Column("last_answer", sa.Text),
    )
    op.create_index("subscriptions_by_owner", "subscriptions", ["owner"])
    op.create_table(
        "deliveries",
        sa.Column("id", sa.String(32), nullable=False, primary_key=True),
        sa.Column(
            "subscription_id", sa.String(16), sa.ForeignKey("subscriptions.id", ondelete="CASCADE"), nullable=False
        ),
        sa.Column("event", sa.String(32), nullable=False),
        sa.Column("experiment_id", sa.String(32), nullable=False),
        sa.Column("facts", sa.Text, nullable=False),
        sa.Column("message", sa.Text),
        sa.Column("made_at", sa.String(32), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("due_s", sa.Float, nullable=False),
        sa.Column("claimed_by", sa.String(128)),
        sa.Column("lease_until_s", sa.Float),
        sa.UniqueConstraint("subscription_id", "event", "experiment_id", name="deliveries_once"),
    )
    op.create_index("deliveries_in_order", "deliveries", ["status", "due_s"])
