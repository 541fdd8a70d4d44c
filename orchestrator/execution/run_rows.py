"""Kept runs and baselines as rows for people, as much as a line has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from longhaul.orchestrator.system.units import format_duration, format_rate

Rows = list[dict[str, Any]]


def kept_runs(rows: Rows) -> Rows:
    """Rows of runs of the database, as much as a line has room for, with points only if there are any."""
    found = [
        {
            "run": row["id"],
            "experiment": row["experiment"],
            "status": row["status"],
            "point": ", ".join(f"{field}={value}" for field, value in row["point"].items()),
            "seed": row["seed"],
            "cc": row["controls"],
            "path": _path(row),
            "title": row.get("title", ""),
            "tags": ", ".join(row.get("tags", ())),
            "made": _minute(row["created_at"]),
            "other programs": _names(row.get("other_programs", [])),
        }
        for row in rows
    ]
    return _without_empty_columns(found)


def kept_run_groups(groups: Rows) -> Rows:
    """Rows of groups of runs, with the means of their results."""
    found = []
    for group in groups:
        mean = {name: spread["mean"] for name, spread in group["results"].items()}
        found.append(
            {
                "experiment": group["experiment"],
                "runs": group["runs"],
                "goodput": format_rate(mean["goodput"]) if "goodput" in mean else "",
                "rtt": f"{mean['rtt']:.4g} ms" if "rtt" in mean else "",
                **{name: f"{mean[name]:.4g}" if name in mean else "" for name in ("loss", "utilisation", "jain")},
                "newest": _minute(group["created_at"]),
            }
        )
    return _without_empty_columns(found)


def baseline_rows(rows: Rows) -> Rows:
    """Rows of a service's baselines, as much as a line has room for, with other programs only if there are any."""
    return _without_empty_columns(
        [
            {
                "baseline": row["experiment_id"],
                "name": row["name"],
                "branch": row["branch"],
                # The minute has no room next to three programs; --json has it.
                "set": row["set_at"][:10],
                "by": row["set_by"],
                "other programs": _names(row.get("other_programs", [])),
            }
            for row in rows
        ]
    )


def _without_empty_columns(rows: Rows) -> Rows:
    """The rows without columns that are empty in every row."""
    columns = [key for key in (rows[0] if rows else ()) if any(row[key] != "" for row in rows)]
    return [{key: row[key] for key in columns} for row in rows]


def _minute(time: str) -> str:
    return time[:16].replace("T", " ")


def _names(others: Sequence[str]) -> str:
    """Names of programs that differ from today's, as much as a column has room for."""
    return ", ".join(line.partition(":")[0] for line in others)


def _path(run: Mapping[str, Any]) -> str:
    """The path of a run, as far as the database has it."""
    if run["bandwidth_bps"] is None:
        return ""
    rate = format_rate(run["bandwidth_bps"]) if run["bandwidth_bps"] else "no known rate"
    return f"{rate}, {format_duration(run['rtt_us'])}"
