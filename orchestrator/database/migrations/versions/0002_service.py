"""What the service keeps: experiments, wanted runs, events, leases, tokens, baselines; the documents of runs in a table of their own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Move the documents, widen the runs, add the rest."""
    op.create_table(
        "documents",
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.execute("INSERT INTO documents (run_id, document) SELECT id, document FROM runs")
    with op.batch_alter_table("runs") as runs:
        runs.drop_column("document")
        runs.alter_column("wall_s", existing_type=sa.Float, nullable=True)
        runs.alter_column("trace_sha256", existing_type=sa.String(64), nullable=True)
        runs.add_column(sa.Column("measured_by", sa.String(16)))
        runs.add_column(sa.Column("owner", sa.String(64)))
        runs.add_column(sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()))
        runs.add_column(sa.Column("started_at", sa.String(32)))
        runs.add_column(sa.Column("finished_at", sa.String(32)))
        runs.drop_index("runs_by_time")
    op.create_index("runs_by_time", "runs", ["created_at", "id"])
    op.create_index("runs_by_status", "runs", ["status", "created_at"])
    _queue()
    _people()


def _queue() -> None:
    op.create_table(
        "work",
        sa.Column("run_id", sa.String(32), sa.ForeignKey("runs.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("run", sa.LargeBinary, nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("queued_s", sa.Float, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("needs", sa.String(16), nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("claimed_by", sa.String(128)),
        sa.Column("lease_until_s", sa.Float),
        sa.Column("cancel", sa.Boolean, nullable=False),
        sa.Column("progress_s", sa.Float, nullable=False),
    )
    op.create_index("work_in_order", "work", ["claimed_by", "priority", "queued_s"])
    op.create_table(
        "experiments",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("about", sa.Text, nullable=False),
        sa.Column("owner", sa.String(64), nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("finished_at", sa.String(32)),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("cached", sa.Integer, nullable=False),
        sa.Column("done", sa.Integer, nullable=False),
        sa.Column("missed", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("cancelled", sa.Integer, nullable=False),
        sa.Column("aggregate", sa.String(16), nullable=False),
        sa.Column("spec", sa.Text, nullable=False),
        sa.Column("lint", sa.Text, nullable=False),
        sa.Column("asked", sa.Text, nullable=False),
        sa.Column("idempotency_key", sa.String(128)),
        sa.Column("asked_sha256", sa.String(64), nullable=False),
        sa.Column("first_event", sa.Integer, nullable=False),
        sa.UniqueConstraint("owner", "idempotency_key", name="experiments_asked_once"),
    )
    op.create_index("experiments_by_time", "experiments", ["created_at", "id"])
    op.create_table(
        "experiment_runs",
        sa.Column(
            "experiment_id", sa.String(32), sa.ForeignKey("experiments.id", ondelete="CASCADE"), primary_key=True
        ),
        sa.Column("position", sa.Integer, primary_key=True),
        sa.Column("run_id", sa.String(32), nullable=False),
        sa.Column("cached", sa.Boolean, nullable=False),
    )
    op.create_index("experiments_of_run", "experiment_runs", ["run_id"])
    op.create_table(
        "events",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("kind", sa.String(32), nullable=False),
        sa.Column("experiment_id", sa.String(32)),
        sa.Column("run_id", sa.String(32)),
        sa.Column("data", sa.Text, nullable=False),
        sqlite_autoincrement=True,
    )
    op.create_index("events_of_experiment", "events", ["experiment_id", "id"])
    op.create_index("events_of_run", "events", ["run_id", "id"])
    op.create_table(
        "leases",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("holder", sa.String(128)),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("until_s", sa.Float, nullable=False),
        sa.Column("about", sa.Text, nullable=False),
    )


def _people() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(64), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("scope", sa.String(8), nullable=False),
        sa.Column("created_at", sa.String(32), nullable=False),
        sa.Column("expires_s", sa.Float),
        sa.Column("revoked_at", sa.String(32)),
    )
    op.create_index("tokens_by_name", "tokens", ["name"])
    op.create_table(
        "sessions",
        sa.Column("digest", sa.String(64), primary_key=True),
        sa.Column("token_id", sa.String(16), sa.ForeignKey("tokens.id", ondelete="CASCADE"), nullable=False),
        sa.Column("expires_s", sa.Float, nullable=False),
    )
    op.create_table(
        "audit",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.String(32), nullable=False),
        sa.Column("actor", sa.String(64), nullable=False),
        sa.Column("address", sa.String(64), nullable=False),
        sa.Column("action", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(256), nullable=False),
        sa.Column("outcome", sa.Integer, nullable=False),
        sa.Column("request_id", sa.String(64), nullable=False),
    )
    op.create_table(
        "baselines",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("branch", sa.String(128), primary_key=True),
        sa.Column("experiment_id", sa.String(32), sa.ForeignKey("experiments.id", ondelete="CASCADE"), nullable=False),
        sa.Column("set_at", sa.String(32), nullable=False),
        sa.Column("set_by", sa.String(64), nullable=False),
    )
