"""The Markdown summary of an experiment for a pull request: verdict, expectations, measures, failures, ids."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.analysis.aggregate import by_point
from longhaul.orchestrator.analysis.pairing import run_text
from longhaul.orchestrator.analysis.report.comparison_text import amount_text, count_text, plain
from longhaul.orchestrator.analysis.values import key_of
from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import sentence

# The key of a row in a summary: a point and a flow.
_Key = tuple[str, str]

# More rows than this are counted: a pull request is not a report.
_MOST_ROWS = 40
_OF_FLOWS = ("goodput", "rtt_p50", "rtt_p95", "retransmits", "completion_s")
_OF_RUNS = ("goodput_total", "utilisation", "queue_delay", "jain")


def markdown(result: Mapping[str, Any]) -> str:
    """The summary of a `run --json` document."""
    return "\n".join(_markdown(result)) + "\n"


def verdict_text(result: Mapping[str, Any]) -> str:
    """The outcomes of the runs, in one sentence."""
    runs: list[RunDocument] = result["runs"]
    counts = {status: sum(run["status"] == status for run in runs) for status in ("done", "missed", "failed")}
    cached = sum(bool(run.get("cached")) for run in runs)
    kept = f"; {cached} answered from the store" if cached else ""
    outcomes = [
        f"{counts['failed']} failed" if counts["failed"] else "",
        f"{counts['missed']} missed an expectation" if counts["missed"] else "",
    ]
    ended = ", ".join(filter(None, outcomes)) or ("every expectation met" if _expects(runs) else "no expectations")
    state = f" (it is {result['status']})" if result.get("status") in ("cancelled", "queued", "running") else ""
    return f"{count_text(len(runs), 'run')}{state}: {ended}{kept}"


def _markdown(result: Mapping[str, Any]) -> Iterator[str]:
    runs: list[RunDocument] = result["runs"]
    good = runs and all(run["status"] == "done" for run in runs) and result.get("status", "done") == "done"
    yield f"### {plain(result['experiment'])}\n"
    yield f"{'✅' if good else '❌'} {plain(verdict_text(result))}.\n"
    yield from _table(("point", "expectation", "met", "measured"), [*_expectations(runs)])
    yield from _table(("point", "flow", "n", *_OF_FLOWS, *_OF_RUNS), [*_measures(result["summary"])])
    yield from _failures(runs)
    if "id" in result:
        yield f"Experiment `{result['id']}` on {plain(result['server'])}.\n"
    elif len(runs) == 1:
        yield f"Run `{runs[0]['run']}`.\n"


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table without its empty columns."""
    used = [column for column in range(len(header)) if any(row[column] for row in rows)]
    if not used:
        return
    yield "| " + " | ".join(plain(header[column]) for column in used) + " |"
    yield "|" + "---|" * len(used)
    for row in rows[:_MOST_ROWS]:
        yield "| " + " | ".join(plain(row[column]) for column in used) + " |"
    yield f"\nAnd {len(rows) - _MOST_ROWS} more rows.\n" if len(rows) > _MOST_ROWS else ""


def _expects(runs: Sequence[RunDocument]) -> bool:
    return any(run.get("expect") for run in runs)


def _expectations(runs: Sequence[RunDocument]) -> Iterator[tuple[str, ...]]:
    """For each point and expectation, the number of runs that meet it and the range of values; missed ones first."""
    rows = []
    for group in by_point([run for run in runs if run.get("expect")]):
        for verdicts in zip(*(run["expect"] for run in group), strict=True):
            # An expectation's measured value follows its last colon.
            text = verdicts[0]["text"].rpartition(": ")[0]
            met = sum(verdict["ok"] for verdict in verdicts)
            sign = "✅" if met == len(verdicts) else "❌"
            measure = re.match(r"[a-z0-9_]*", text)
            values = sorted(verdict["value"] for verdict in verdicts if verdict["value"] is not None)
            named = measure[0] if measure else ""
            shown = " to ".join(dict.fromkeys(amount_text(named, value) for value in (*values[:1], *values[-1:])))
            rows.append((point_text(group[0]["point"]), text, f"{sign} {met} of {len(verdicts)}", shown or "no value"))
    yield from sorted(rows, key=lambda row: not row[2].startswith("❌"))


def _measures(summary: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, ...]]:
    """A row a point and flow; measures of a whole run are in the row of its first flow."""
    values: dict[_Key, dict[str, Mapping[str, Any]]] = {}
    of_runs: dict[str, dict[str, Mapping[str, Any]]] = {}
    for row in summary:
        if row.get("phase") is None:
            point = point_text(row["point"])
            place = values.setdefault((point, row["flow"]), {}) if row["flow"] else of_runs.setdefault(point, {})
            place[row["measure"]] = row
    for (point, flow), found in values.items():
        whole = of_runs.pop(point, {})
        cells = [_amount(name, found.get(key_of(name, flow))) for name in _OF_FLOWS]
        cells += [_amount(name, whole.get(key_of(name, None))) for name in _OF_RUNS]
        yield (point, flow, str(max(row["n"] for row in found.values())), *cells)


def _amount(measure: str, row: Mapping[str, Any] | None) -> str:
    if row is None:
        return ""
    value, low, high = (amount_text(measure, row[name]) for name in ("value", "low", "high"))
    return value if value == low == high else f"{value} ({low} to {high})"


def _failures(runs: Sequence[RunDocument]) -> Iterator[str]:
    failed = [run for run in runs if run["status"] == "failed"]
    for run in failed[:_MOST_ROWS]:
        why = f"{run_text(run)}: {sentence(run['error'])}"
        yield f"- run `{run['run']}` failed, {plain(why)}"
    if len(failed) > _MOST_ROWS:
        yield f"- and {len(failed) - _MOST_ROWS} more"
    if failed:
        yield ""
