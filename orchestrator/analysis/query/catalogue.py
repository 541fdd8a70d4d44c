"""The tables of questions with their columns, for people: `longhaul query --tables`, and the reference in docs/querying.md."""

from __future__ import annotations

from longhaul.orchestrator.analysis.query.tables import (
    MEASURES_COLUMNS,
    OF_FLOW,
    OF_PATH,
    OF_RUN,
    RESULT,
    RUN,
    SWEEP,
    WRITTEN,
)
from longhaul.orchestrator.trace.records import TRACE_KINDS

_MEANING = {
    "runs": "one row a run: its experiment, path, point, and the measures of the path and the whole run",
    "results": "one row a flow of a run: its congestion control and measures",
    "measures": "one row a number: the same numbers, one below the other; without a flow, of the path and the whole run",
    "sweeps": "one row an experiment that was submitted to the service of this home",
    "points": "one row a flow of each run of a sweep: swept fields, the flow's measures, and those of the path as path_...",
}
_KINDS = {
    "ack": "every ACK that a sender received, or as often as `sample` states",
    "flow": "what receivers got, over time",
    "link": "queues and counters of links, over time",
    "drop": "every packet that a queue dropped",
    "event": "changes during the run",
    "state": "what modules report of their state",
    "departure": "packets that left a queue of an L4S link",
    "decision": "packets that came to a policer, whose number is the id: state 1 passed, 2 was dropped",
}


def columns_of(table: str) -> list[str]:
    """The columns of a table; those of swept fields depend on the sweep."""
    of_path = [f"path_{name}" for name in OF_PATH]
    known = {
        "runs": [*RUN, *WRITTEN, *OF_PATH, *OF_RUN],
        "results": [*RESULT, *OF_FLOW],
        "measures": list(MEASURES_COLUMNS),
        "sweeps": list(SWEEP),
        "points": ["experiment", "run", "status", "seed", "(swept fields)", *RESULT, *OF_FLOW, *of_path],
    }
    return list(dict.fromkeys(known[table])) if table in known else _record_columns(table.removesuffix("s"))


def table_rows() -> list[dict[str, str]]:
    """A row for each table: what its rows are, and its columns."""
    named = {**_MEANING, **{f"{kind}s": meaning for kind, meaning in _KINDS.items()}}
    return [{"table": name, "rows": meaning, "columns": ", ".join(columns_of(name))} for name, meaning in named.items()]


def _record_columns(kind: str) -> list[str]:
    about = {"ack": "flow", "flow": "flow", "state": "flow", "event": "id", "decision": "id"}.get(kind, "link")
    fields = [name for name in TRACE_KINDS[kind].names or () if name not in ("t_ns", "kind", "id")]
    return ["run", "t_s", "t_ns", about, *fields]
