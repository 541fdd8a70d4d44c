"""A question before it is answered: one SELECT, the tables and columns that it names, and the place of a mistake in it.

DuckDB's own parser reads it, as a tree: a text that is no SELECT has none, so that nothing but a SELECT is ever executed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import duckdb

from longhaul.orchestrator.system.errors import OverLimit, PlanError, TraceError, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# A mistake is shown with this much of the text after it.
_SHOWN = 30


@dataclass(frozen=True)
class Question:
    """A SELECT, with the last names of the tables and columns in it; `stars` if a `*` or a function may need every column."""

    text: str
    tables: frozenset[str]
    columns: frozenset[str]
    stars: bool


def read_question(connection: duckdb.DuckDBPyConnection, text: str) -> Question:
    """PlanError unless it is one SELECT."""
    text = text.strip().rstrip(";")
    row = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchone()
    assert row is not None
    tree = json.loads(row[0])
    if tree["error"]:
        if "position" not in tree:
            raise _wrong("only a SELECT can be asked: nothing is ever written", "begin it with SELECT, FROM or WITH")
        raise _mistake(text, tree["error_message"], int(tree["position"]))
    if len(tree["statements"]) != 1:
        raise _wrong(f"it has {len(tree['statements'])} statements", "ask one SELECT at a time")
    nodes = list(_nodes(tree))
    tables = {
        str(node["table_name"])
        for node in nodes
        if node.get("type") in ("BASE_TABLE", "SHOW_REF") and "table_name" in node
    }
    columns = {str(node["column_names"][-1]) for node in nodes if node.get("class") == "COLUMN_REF"}
    # USING has names alone, and DESCRIBE and SUMMARIZE have none.
    columns |= {str(name) for node in nodes for name in node.get("using_columns") or ()}
    stars = any(node.get("class") == "STAR" or node.get("type") == "SHOW_REF" for node in nodes)
    return Question(text, frozenset(tables), frozenset(columns | tables), stars)


def _nodes(tree: Any) -> Iterator[dict[str, Any]]:
    if isinstance(tree, dict):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def error_of(text: str, error: duckdb.Error, known: frozenset[str] | set[str]) -> PlanError | OverLimit | TraceError:
    """DuckDB's error in one sentence; `known` are the tables that there are."""
    written = str(error)
    begin = written.find("{")
    try:
        found = json.loads(written[begin:]) if begin >= 0 else {}
    except ValueError:
        found = {}
    found = {"exception_message": written, "exception_type": "", **found}
    what = " ".join(str(found["exception_message"]).split("\n")[0].split())
    if isinstance(error, duckdb.OutOfMemoryException):
        return OverLimit(
            "answering",
            "the query",
            "it needs more memory than it may use",
            "give it more with --memory, or group or limit sooner",
        )
    if found["exception_type"] in ("Data Corruption", "IO"):
        return TraceError("answering", "the query", what, "see `longhaul verify --all`")
    if isinstance(error, duckdb.PermissionException):
        return _wrong(
            "it reads a file, and only the tables of kept runs can be asked about", f"known: {', '.join(sorted(known))}"
        )
    if found.get("type") == "Table" and "name" in found:
        name = found["name"]
        return _mistake(
            text,
            f"there is no table {name}",
            found.get("position"),
            f"known: {', '.join(sorted(known))}{nearest(name, known)}",
        )
    hint = f"near names: {found['candidates']}" if found.get("candidates") else ""
    return _mistake(text, what.rstrip("!."), found.get("position"), hint)


def _mistake(text: str, what: str, position: object, hint: str = "") -> PlanError:
    if position is None:
        return _wrong(what, hint or "see `longhaul query --tables`")
    # A position counts bytes.
    before = text.encode()[: int(str(position))].decode(errors="ignore")
    line, column = before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1
    place = f"line {line}, character {column}" if "\n" in text else f"character {column}"
    there = text[len(before) :].split("\n")[0][:_SHOWN].strip()
    near = f" (`{there}`)" if there else ""
    return _wrong(f"at {place}{near}: {what}", hint or "see `longhaul query --tables`")


def _wrong(what: str, hint: str) -> PlanError:
    return PlanError("answering", "the query", what, hint)
