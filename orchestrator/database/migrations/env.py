"""Alembic's way into the database; orchestrator/database/connection.py starts it, on its own connection, when one is not at HEAD."""

from __future__ import annotations

from alembic import context

from longhaul.orchestrator.database.tables import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA, render_as_batch=True)
context.run_migrations()
