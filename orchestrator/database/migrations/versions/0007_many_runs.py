"""Lists of many runs: an index of the words of runs, the number of runs in each status, which triggers count, and texts that runs share."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from longhaul.orchestrator.database.migrations.progress import shown

revision = "0007"
down_revision = "0006"

_BATCH = 1000

# A trigger of SQLite is called for each row, one of PostgreSQL for each statement with all its rows: twenty thousand changes of one
# counter in a transaction would leave as many versions of it.
_ON_SQLITE = {
    "INSERT": (("NEW", 1),),
    "DELETE": (("OLD", -1),),
    "UPDATE OF status": (("OLD", -1), ("NEW", 1)),
}
_ON_POSTGRESQL = """
CREATE FUNCTION count_runs() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'INSERT' THEN
    INSERT INTO run_counts SELECT status, count(*) FROM added GROUP BY status ORDER BY status
      ON CONFLICT (status) DO UPDATE SET runs = run_counts.runs + excluded.runs;
  ELSIF TG_OP = 'DELETE' THEN
    INSERT INTO run_counts SELECT status, -count(*) FROM removed GROUP BY status ORDER BY status
      ON CONFLICT (status) DO UPDATE SET runs = run_counts.runs + excluded.runs;
  ELSE
    INSERT INTO run_counts
      SELECT status, sum(change) FROM (SELECT status, 1 AS change FROM added UNION ALL SELECT status, -1 FROM removed) AS changes
        GROUP BY status HAVING sum(change) <> 0 ORDER BY status
      ON CONFLICT (status) DO UPDATE SET runs = run_counts.runs + excluded.runs;
  END IF;
  RETURN NULL;
END $$
"""
_REFERENCES = {
    "INSERT": "NEW TABLE AS added",
    "DELETE": "OLD TABLE AS removed",
    "UPDATE": "OLD TABLE AS removed NEW TABLE AS added",
}


def upgrade() -> None:
    """Add the tables and fill them."""
    op.drop_index("runs_by_pin", "runs")
    op.create_index("runs_by_pin", "runs", ["pinned", "created_at", "id"])
    op.create_index("runs_by_owner", "runs", ["owner", "created_at", "id"])
    words = op.create_table(
        "words",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("word", sa.Text, nullable=False),
        sa.UniqueConstraint("word", name="words_once"),
    )
    members = op.create_table(
        "run_words",
        sa.Column("word_id", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("created_at", sa.String(32), primary_key=True),
        sa.Column("run_id", sa.String(32), primary_key=True),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "run_counts",
        sa.Column("status", sa.String(16), primary_key=True),
        sa.Column("runs", sa.Integer, nullable=False),
    )
    shared = op.create_table(
        "shared_texts", sa.Column("key", sa.String(16), primary_key=True), sa.Column("text", sa.Text, nullable=False)
    )
    for name in ("identity", "measured"):
        op.add_column("runs", sa.Column(name, sa.String(16)))
    _index(op.get_bind(), words, members)
    _share(op.get_bind(), shared)
    op.execute("INSERT INTO run_counts SELECT status, count(*) FROM runs GROUP BY status")
    for statement in _triggers(op.get_bind().dialect.name):
        op.execute(statement)


def _index(connection: sa.Connection, words: sa.Table, members: sa.Table) -> None:
    """Every word of every run once, and the runs of each."""
    numbers: dict[str, int] = {}
    for rows in shown(connection, "words", _batches(connection)):
        its = {row["id"]: _words(row) for row in rows}
        new = [word for word in dict.fromkeys(word for some in its.values() for word in some) if word not in numbers]
        if new:
            first = len(numbers) + 1
            numbers |= {word: first + place for place, word in enumerate(new)}
            connection.execute(sa.insert(words), [{"id": numbers[word], "word": word} for word in new])
        found = [
            {"word_id": numbers[word], "created_at": row["created_at"], "run_id": row["id"]}
            for row in rows
            for word in its[row["id"]]
        ]
        if found:
            connection.execute(sa.insert(members), found)
    if connection.dialect.name == "postgresql":
        connection.execute(
            sa.text("SELECT setval(pg_get_serial_sequence('words', 'id'), :next)"), {"next": len(numbers) + 1}
        )


def _words(row: sa.RowMapping) -> list[str]:
    """All but the id, and of a field those without what it belongs to, as in `.rtt=300ms`."""
    found = [word for word in row["words"].split() if word != row["id"]]
    for word in tuple(found):
        field, sign, value = word.partition("=")
        while sign and "." in field:
            field = field.partition(".")[2]
            found.append(f".{field}={value}")
    return list(dict.fromkeys(found))


def _batches(connection: sa.Connection) -> Iterator[list[Any]]:
    query = sa.text("SELECT id, created_at, words FROM runs WHERE id > :last ORDER BY id LIMIT :most")
    last = ""
    while rows := list(connection.execute(query, {"last": last, "most": _BATCH}).mappings()):
        yield rows
        last = rows[-1]["id"]


def _share(connection: sa.Connection, shared: sa.Table) -> None:
    """The programs of every run that has them, and the names of its measures."""
    put = sa.text("UPDATE runs SET identity = :identity, measured = :measured WHERE id = :id")
    known: dict[str, str] = {}
    for rows in shown(connection, "texts", _documents(connection)):
        found = {row.id: _shared_texts(json.loads(row.document)) for row in rows}
        keys = {text: _key(text) for texts in found.values() for text in texts.values() if text is not None}
        if new := {key: text for text, key in keys.items() if key not in known}:
            connection.execute(sa.insert(shared), [{"key": key, "text": text} for key, text in new.items()])
            known |= new
        values = [
            {"id": run_id, **{name: keys[text] if text is not None else None for name, text in texts.items()}}
            for run_id, texts in found.items()
        ]
        connection.execute(put, values)


def _documents(connection: sa.Connection) -> Iterator[Sequence[Any]]:
    query = sa.text("SELECT run_id AS id, document FROM documents WHERE run_id > :last ORDER BY run_id LIMIT :most")
    last = ""
    while rows := connection.execute(query, {"last": last, "most": _BATCH}).all():
        yield rows
        last = rows[-1].id


def _shared_texts(document: Mapping[str, Any]) -> dict[str, str | None]:
    identity = document.get("identity")
    measured = [(flow["name"], name) for flow in document.get("flows", ()) for name in _numbers(flow, "")]
    measured += [("", name) for name in _numbers(document.get("path", {}), "")]
    measured += [("", "jain")] if document.get("jain") is not None else []
    return {
        "identity": None if identity is None else json.dumps(identity, sort_keys=True),
        "measured": json.dumps(sorted(measured)),
    }


def _numbers(values: Mapping[str, Any], prefix: str) -> Iterator[str]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield prefix + name


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _triggers(dialect: str) -> Iterator[str]:
    if dialect == "postgresql":
        yield _ON_POSTGRESQL
        for event, references in _REFERENCES.items():
            yield (
                f"CREATE TRIGGER runs_counted_{event.lower()} AFTER {event} ON runs REFERENCING {references}"
                " FOR EACH STATEMENT EXECUTE FUNCTION count_runs()"
            )
        return
    for event, changes in _ON_SQLITE.items():
        counts = "".join(
            f" INSERT INTO run_counts VALUES ({row}.status, {change})"  # noqa: S608 (names and numbers of this file)
            f" ON CONFLICT (status) DO UPDATE SET runs = runs + {change};"
            for row, change in changes
        )
        yield f"CREATE TRIGGER runs_counted_{event.split()[0].lower()} AFTER {event} ON runs BEGIN{counts} END"
