"""Alembic's way into the catalogue; orchestrator/results/catalog.py starts it when a database is not at HEAD."""

from __future__ import annotations

from alembic import context
from sqlalchemy import create_engine

from orchestrator.results.catalog import METADATA

url = context.config.get_main_option("sqlalchemy.url")
assert url is not None
with create_engine(url).begin() as connection:
    context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
    context.run_migrations()
