"""The rows by which the database records a kept run: facts of its document and its run.json, without the database's libraries."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from longhaul.orchestrator.database.search_fields import numbers_of, run_traits
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class RunRecord:
    """The row of a run that is kept now, and what belongs to it in the other tables."""

    row: Row
    document: str
    measures: list[Row]
    # The texts that it may share with other runs, by their keys, which are in its row.
    texts: dict[str, str]
    # By how much the counters of the lab rise.
    rises: dict[str, float]


# The columns that a run gets at its end; the others it has from the day on which it was queued.
AT_ITS_END = (
    "status",
    "kernel",
    "wall_s",
    "trace_sha256",
    "measured_by",
    "finished_at",
    "utilisation",
    "jain",
    "goodput_bps",
    "rtt_mean_ms",
    "loss_ratio",
    "identity",
    "measured",
)


def now() -> str:
    """The present time, in the format of the tables."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def record_of(run_id: str, document: RunDocument, run: Mapping[str, Any]) -> RunRecord:
    """The record of a run that is kept now."""
    at = now()
    keys, texts = shared_in(document)
    row = {
        "id": run_id,
        "experiment": document["experiment"],
        "backend": document["backend"],
        "seed": document["seed"],
        "virtual_s": document["virtual_s"],
        "point": json.dumps(document["point"], sort_keys=True),
        "status": document["status"],
        "kernel": document["kernel"],
        "wall_s": document["wall_s"],
        "trace_sha256": document["trace_sha256"],
        "measured_by": document.get("measured_by"),
        "created_at": at,
        "finished_at": at,
        "pinned": False,
        **numbers_of(document),
        **keys,
        **run_traits(run_id, document["experiment"], None, run),
    }
    # A guest that was started once more had died.
    again = document.get("retries", 0)
    rises = {"virtual_s": document["virtual_s"], "wall_s": document["wall_s"], "retries": again, "guest_deaths": again}
    return RunRecord(row, json.dumps(document), measure_rows(run_id, document), texts, rises)


def measure_rows(run_id: str, document: RunDocument) -> list[Row]:
    """A row for every number of the document that belongs to a flow or to the path."""
    return [{"run_id": run_id, **measure} for measure in numbers_in(document)]


def shared_in(document: Mapping[str, Any]) -> tuple[dict[str, str | None], dict[str, str]]:
    """The texts of a document that many runs share: the columns of the run that name them, and the text of each key."""
    identity = document.get("identity")
    texts = {
        "identity": None if identity is None else json.dumps(identity, sort_keys=True),
        "measured": json.dumps(sorted((row["flow"], row["measure"]) for row in numbers_in(document))),
    }
    keys = {column: None if text is None else _key(text) for column, text in texts.items()}
    return keys, {_key(text): text for text in texts.values() if text is not None}


def _key(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def numbers_in(document: Mapping[str, Any]) -> Iterator[Row]:
    """Every number of a document that belongs to a flow or to the path, flat: rows with flow, measure and value."""
    for flow in (*document.get("flows", ()), *document.get("totals", ())):
        yield from ({"flow": flow["name"], **row} for row in _flat(flow, ""))
    yield from ({"flow": "", **row} for row in _flat(document.get("path", {}), ""))
    if document.get("jain") is not None:
        yield {"flow": "", "measure": "jain", "value": document["jain"]}


def _flat(values: Mapping[str, Any], prefix: str) -> Iterator[Row]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{name}.")
        elif isinstance(value, int | float) and not isinstance(value, bool):
            yield {"measure": prefix + name, "value": float(value)}
