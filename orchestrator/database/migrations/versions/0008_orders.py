"""Orders of lists: the goodput, round trip and loss of each run, and the number in each word of a field."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any

import sqlalchemy as sa
from alembic import op

from longhaul.orchestrator.database.migrations.progress import shown

revision = "0008"
down_revision = "0007"

_BATCH = 1000
_SORTED = [
    "goodput_bps", "rtt_mean_ms", "loss_ratio", "utilisation", "jain",
    "virtual_s", "wall_s", "started_at", "finished_at", "seed", "created_at", "id",
]  # fmt: skip
_NUMBER = re.compile(r"(-?[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]{1,2})?)([^0-9]*)")
_FACTORS = {
    "bit/s": 1.0, "kbit/s": 1e3, "mbit/s": 1e6, "gbit/s": 1e9,
    "b": 1.0, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12, "kib": 2.0**10, "mib": 2.0**20, "gib": 2.0**30, "tib": 2.0**40,
    "ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 6e7, "h": 3.6e9, "%": 0.01,
}  # fmt: skip


def upgrade() -> None:
    """Add the columns and fill them."""
    for name in ("goodput_bps", "rtt_mean_ms", "loss_ratio"):
        op.add_column("runs", sa.Column(name, sa.Float))
    op.add_column("words", sa.Column("number", sa.Float))
    connection = op.get_bind()
    _number(connection)
    put = sa.text("UPDATE runs SET goodput_bps = :goodput, rtt_mean_ms = :rtt, loss_ratio = :loss WHERE id = :id")
    for rows in shown(connection, "results", _documents(connection)):
        connection.execute(put, [{"id": row.id, **_results(json.loads(row.document))} for row in rows])
    op.create_index("runs_by_result", "runs", _SORTED)


def _number(connection: sa.Connection) -> None:
    """The numbers of the words of fields."""
    words = connection.execute(sa.text("SELECT id, word FROM words")).all()
    found = [{"id": row.id, "number": number} for row in words if (number := _magnitude(row.word)) is not None]
    put = sa.text("UPDATE words SET number = :number WHERE id = :id")
    for begin in range(0, len(found), _BATCH):
        connection.execute(put, found[begin : begin + _BATCH])


def _magnitude(word: str) -> float | None:
    match = _NUMBER.fullmatch(word.partition("=")[2])
    return None if match is None else float(match[1]) * _FACTORS.get(match[2], 1.0)


def _documents(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    """Those of kept runs; a failed run has only its error."""
    query = sa.text(
        "SELECT run_id AS id, document FROM documents JOIN runs ON runs.id = run_id"
        " WHERE run_id > :last AND status IN ('done', 'missed') ORDER BY run_id LIMIT :most"
    )
    last = ""
    while rows := connection.execute(query, {"last": last, "most": _BATCH}).all():
        yield rows
        last = rows[-1].id


def _results(document: Mapping[str, Any]) -> dict[str, float | None]:
    flows = document.get("flows", ())
    round_trips = [times["mean"] for flow in flows if (times := flow.get("rtt_ms")) is not None]
    losses = [loss for flow in flows if (loss := flow.get("loss_ratio")) is not None]
    return {
        "goodput": document.get("goodput_total"),
        "rtt": fmean(round_trips) if round_trips else None,
        "loss": fmean(losses) if losses else None,
    }
