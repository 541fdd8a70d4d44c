"""What lists show and are searched by: congestion controls, path, words; and who carries runs out.

Of runs of before, their documents tell the congestion controls, and what waits tells all; the path of a kept run is in its
manifest alone, which is no part of the record, and stays unknown. Words are written here as they were when this revision was new.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from alembic import op

from longhaul.orchestrator.database.migrations.progress import shown

revision = "0005"
down_revision = "0004"

_BATCH = 500
_RUN_COLUMNS = "topology", "bandwidth_bps", "rtt_us", "controls", "words"
# An index of PostgreSQL takes rows of 2704 bytes.
_MOST_BYTES = 2000
_BEFORE_UNIT = re.compile(r"(?<=[0-9]) (?=[a-zµμ%])")
_RATES = ("bit/s", 1), ("kbit/s", 10**3), ("Mbit/s", 10**6), ("Gbit/s", 10**9)
_DURATIONS = ("us", 1), ("ms", 10**3), ("s", 10**6)


def upgrade() -> None:
    """Add the columns, the indices and the table, and fill what can be known."""
    for column in (
        sa.Column("topology", sa.String(128)),
        sa.Column("bandwidth_bps", sa.BigInteger),
        sa.Column("rtt_us", sa.BigInteger),
        sa.Column("utilisation", sa.Float),
        sa.Column("jain", sa.Float),
        sa.Column("controls", sa.Text, nullable=False, server_default=""),
        sa.Column("words", sa.Text, nullable=False, server_default=""),
    ):
        op.add_column("runs", column)
    for column in (
        sa.Column("backend", sa.String(16), nullable=False, server_default=""),
        sa.Column("controls", sa.Text, nullable=False, server_default=""),
        sa.Column("words", sa.Text, nullable=False, server_default=""),
    ):
        op.add_column("experiments", column)
    _fill()
    for table, name, columns in (
        ("runs", "runs_by_time", ["created_at", "id", "words"]),
        ("runs", "runs_by_status", ["status", "created_at", "id", "words"]),
        ("runs", "runs_by_experiment", ["experiment", "created_at", "id", "words"]),
        ("experiments", "experiments_by_time", ["created_at", "id", "words"]),
    ):
        op.drop_index(name, table)
        op.create_index(name, table, columns)
    op.create_index("runs_by_pin", "runs", ["pinned", "created_at"])
    op.create_table(
        "workers",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("dispatcher", sa.String(128), nullable=False),
        sa.Column("machine", sa.String(128), nullable=False),
        sa.Column("slots", sa.Integer, nullable=False),
        sa.Column("needs", sa.String(64), nullable=False),
        sa.Column("version", sa.String(32), nullable=False),
        sa.Column("since_s", sa.Float, nullable=False),
        sa.Column("at_s", sa.Float, nullable=False),
    )


def _fill() -> None:
    connection = op.get_bind()
    for column in ("utilisation", "jain"):
        found = f"SELECT value FROM measures WHERE run_id = runs.id AND flow = '' AND measure = '{column}'"  # noqa: S608 (names of columns)
        connection.execute(sa.text(f"UPDATE runs SET {column} = ({found})"))  # noqa: S608
    put = sa.text(f"UPDATE runs SET {', '.join(f'{name} = :{name}' for name in _RUN_COLUMNS)} WHERE id = :id")  # noqa: S608
    for rows in shown(connection, "fields", _batches(connection)):
        connection.execute(put, [{"id": row["id"], **_traits(row)} for row in rows])
    _fill_experiments(connection)


def _batches(connection: sa.Connection) -> Iterator[Sequence[sa.RowMapping]]:
    """Every run, some at a time."""
    query = sa.text(
        "SELECT runs.id, experiment, backend, kernel, seed, runs.owner, point, document, run FROM runs"
        " LEFT JOIN documents ON documents.run_id = runs.id LEFT JOIN work ON work.run_id = runs.id"
        " WHERE runs.id > :last ORDER BY runs.id LIMIT :most"
    )
    last = ""
    while rows := connection.execute(query, {"last": last, "most": _BATCH}).mappings().all():
        yield rows
        last = rows[-1]["id"]


def _traits(row: sa.RowMapping) -> dict[str, Any]:
    if row["run"] is not None:
        run = json.loads(zlib.decompress(row["run"]))["run"]
        if "meaning" in run:
            return _run_traits(row, run)
    flows = json.loads(row["document"] or "{}").get("flows", [])
    known = {"kernel": row["kernel"], "seed": row["seed"], "point": json.loads(row["point"])}
    words = _words(row, row["backend"], flows, [], known, (_normal(flow["name"]) for flow in flows))
    unknown = dict.fromkeys(("topology", "bandwidth_bps", "rtt_us"))
    return {**unknown, "controls": " ".join(_controls(flows)), "words": words}


def _run_traits(row: sa.RowMapping, run: Mapping[str, Any]) -> dict[str, Any]:
    meaning, flows = run["meaning"], run["flows"]
    path = [
        _word("topology", meaning["topology"]),
        _word("bandwidth", _quantity(meaning["bandwidth_bps"], _RATES)),
        _word("rtt", _quantity(meaning["rtt_us"], _DURATIONS) if meaning["rtt_us"] else "0 s"),
    ]
    named = (value for flow in flows for value in (flow.get("variant"), flow["name"]) if value)
    words = _words(row, run["backend"], flows, path, run, (_normal(value).replace(" ", "-") for value in named))
    columns = {name: meaning[name] for name in ("topology", "bandwidth_bps", "rtt_us")}
    return {**columns, "controls": " ".join(_controls(flows)), "words": words}


def _words(
    row: sa.RowMapping,
    backend: str,
    flows: Sequence[Mapping[str, Any]],
    path: Sequence[str],
    known: Mapping[str, Any],
    named: Iterable[str],
) -> str:
    words = [
        row["id"],
        row["experiment"],
        *([_word("owner", row["owner"])] if row["owner"] else []),
        f"backend={backend}",
        *(f"cc={control}" for control in _controls(flows)),
        *path,
        f"kernel={known['kernel']}",
        f"seed={known['seed']}",
        *(_word(field, value) for field, value in known["point"].items()),
        *named,
    ]
    return _line(words)


def _controls(flows: Iterable[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(flow["cc"] for flow in flows if flow.get("cc")))


def _word(name: str, value: str) -> str:
    return f"{name}={_normal(value).replace(' ', '-')}"


def _normal(text: str) -> str:
    return _BEFORE_UNIT.sub("", " ".join(text.lower().split()))


def _line(words: Iterable[str]) -> str:
    line = " " + " ".join(dict.fromkeys(filter(None, words))) + " "
    return line.encode()[:_MOST_BYTES].decode(errors="ignore").rpartition(" ")[0] + " "


def _quantity(value: int, units: Sequence[tuple[str, int]]) -> str:
    name, factor = next((unit for unit in reversed(units) if value >= unit[1]), units[0])
    whole, rest = divmod(value, factor)
    digits = f"{rest:0{len(str(factor)) - 1}d}".rstrip("0")
    return f"{whole}.{digits} {name}" if digits else f"{whole} {name}"


def _fill_experiments(connection: sa.Connection) -> None:
    experiments = connection.execute(sa.text("SELECT id, name, about, owner FROM experiments")).mappings().all()
    query = sa.text(
        "SELECT DISTINCT backend, controls FROM runs JOIN experiment_runs ON run_id = runs.id WHERE experiment_id = :id"
    )
    put = sa.text("UPDATE experiments SET backend = :backend, controls = :controls, words = :words WHERE id = :id")
    for row in experiments:
        runs = connection.execute(query, {"id": row["id"]}).mappings().all()
        controls = list(dict.fromkeys(control for run in runs for control in run["controls"].split()))
        backend = runs[0]["backend"] if runs else ""
        words = [row["id"], row["name"], _word("owner", row["owner"]), f"backend={backend}"]
        words += [f"cc={control}" for control in controls] + _normal(row["about"]).split()
        told = {"backend": backend, "controls": " ".join(controls), "words": _line(words)}
        connection.execute(put, {"id": row["id"], **told})
