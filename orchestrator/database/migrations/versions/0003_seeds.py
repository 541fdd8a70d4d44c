"""Seeds have 32 bits without a sign, one more than PostgreSQL's integer; SQLite's integers were wide enough."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Widen the column."""
    if op.get_bind().dialect.name == "postgresql":
        op.alter_column("runs", "seed", existing_type=sa.Integer, type_=sa.BigInteger)
