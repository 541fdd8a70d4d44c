"""Alembic's way into the database; orchestrator/results/database.py starts it, on its own connection, when one is not at HEAD."""

from __future__ import annotations

from alembic import context

from orchestrator.results.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
context.run_migrations()
