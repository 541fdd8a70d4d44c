"""The list of runs as CSV: a line for each run, in the order of the list, with the columns that a user chooses."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.system.errors import PlanError

# What a column of the page is in the table; `point.FIELD` is the field.
COLUMNS: dict[str, tuple[str, ...]] = {
    "cc": ("controls",),
    "path": ("topology", "bandwidth_bps", "rtt_us", "backend"),
    "goodput": ("goodput_bps",),
    "rtt": ("rtt_mean_ms",),
    "loss": ("loss_ratio",),
    "utilisation": ("utilisation",),
    "jain": ("jain",),
    "duration": ("virtual_s",),
    "took": ("wall_s",),
    "seed": ("seed",),
    "start": ("started_at",),
    "end": ("finished_at",),
    "owner": ("owner",),
}
_FIELD = "point."
_BATCH = 500


def read_columns(written: str) -> list[str]:
    """The names in the table; PlanError for an unknown one."""
    asked = [name for name in written.split(",") if not name.startswith(_FIELD)] if written else list(COLUMNS)
    for name in asked:
        if name not in COLUMNS:
            what = f"a column is one of {', '.join(COLUMNS)}, or `point.` and a swept field"
            raise PlanError("choosing columns", name[:64], what, "as in goodput,rtt")
    found = [name for column in COLUMNS if column in asked for name in COLUMNS[column]]
    return [name for name in found if name != "seed"]


def table_lines(rows: Iterable[Mapping[str, Any]], fields: Sequence[str], names: Sequence[str]) -> Iterator[str]:
    """The names of the columns, then a line for each row of a run, some at a time; a value that a run does not have is empty."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["id", "experiment", "status", "seed", *fields, *names, "created_at"])
    for number, row in enumerate(rows, start=1):
        point: dict[str, Any] = json.loads(row["point"])
        first = (row["id"], row["experiment"], row["status"], row["seed"])
        lines.writerow(
            [*first, *(point.get(field) for field in fields), *(row[name] for name in names), row["created_at"]]
        )
        if number % _BATCH == 0:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()
