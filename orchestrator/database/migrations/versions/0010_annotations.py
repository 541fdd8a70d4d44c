"""Titles, tags and comments of runs and experiments."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"


def upgrade() -> None:
    """Add the tables."""
    op.create_table(
        "annotations",
        sa.Column("subject", sa.String(32), nullable=False, primary_key=True),
        sa.Column("title", sa.String(200), nullable=False),
        sa.Column("tags", sa.Text, nullable=False),
        sa.Column("comment", sa.Text, nullable=False),
        sa.Column("changed_at", sa.String(32), nullable=False),
        sa.Column("changed_by", sa.String(64)),
    )
    op.create_table(
        "annotation_words",
        sa.Column("word", sa.String(256), nullable=False, primary_key=True),
        sa.Column(
            "subject",
            sa.String(32),
            sa.ForeignKey("annotations.subject", ondelete="CASCADE"),
            nullable=False,
            primary_key=True,
        ),
    )
    op.create_index("annotation_words_by_subject", "annotation_words", ["subject"])
