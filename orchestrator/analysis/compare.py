"""Two runs side by side: the same measure of each, and whether they are the same run to the byte."""

from __future__ import annotations

from typing import Any

from orchestrator.analysis.measures import FLOW_VALUES, PATH_VALUES, RUN_VALUES, value_of


def compare_documents(a: dict[str, Any], b: dict[str, Any]) -> dict[str, Any]:
    """A verdict and one row a measure that both have, with the difference in per cent of the first."""
    names = [flow["name"] for flow in a["flows"] if flow["name"] in {other["name"] for other in b["flows"]}]
    places: list[tuple[str | None, str]] = [(name, measure) for name in names for measure in FLOW_VALUES]
    places += [(None, measure) for measure in (*PATH_VALUES, *RUN_VALUES)]
    rows = []
    for flow, measure in places:
        first, second = value_of(a, measure, flow), value_of(b, measure, flow)
        if first is None or second is None:
            continue
        change = "" if first == second else "new" if first == 0 else f"{(second - first) / abs(first):+.2%}"
        rows.append({"flow": flow or "", "measure": measure, "a": first, "b": second, "change": change})
    same = a["trace_sha256"] == b["trace_sha256"]
    return {"a": a["run"], "b": b["run"], "identical": same, "verdict": _verdict(same, rows), "measures": rows}


def _verdict(same: bool, rows: list[dict[str, Any]]) -> str:
    if same:
        return "identical: the traces are equal to the byte"
    changed = sum(bool(row["change"]) for row in rows)
    return f"different: {changed} of {len(rows)} measures differ"
