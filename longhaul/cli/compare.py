"""What `longhaul compare` does at the command line: find the two sides, compare, print, write files; the exit code is the gate's.

A side is a kept run, or a result: the document of `run --json` in a file, or the folder of `run --out`. Where kept runs are looked
for is the caller's business: here, or on a service (remote.py).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from longhaul.cli.output import EXIT_DONE, EXIT_MISSED
from longhaul.cli.verbs import write_report
from longhaul.orchestrator.analysis.compare import Comparison
from longhaul.orchestrator.analysis.gates import Plan, compare_pairs
from longhaul.orchestrator.analysis.pairing import Document, Pairing, pair_runs, split_by
from longhaul.orchestrator.analysis.report.comparison_text import as_json as as_document
from longhaul.orchestrator.analysis.report.comparison_text import (
    cells,
    gate_line,
    markdown,
    notes,
    shown_rows,
    sides_line,
    verdict_line,
)
from longhaul.orchestrator.analysis.report.junit import comparison_xml
from longhaul.orchestrator.execution.evaluation import readable
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import PlanError, ResultsError
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.system.settings import load_settings

# The documents of what is kept under a name.
Find = Callable[[str], list[Document]]

# Beside those of the gate; a sweep of many points has hundreds.
_SHOWN = 20


def compare_results(
    a: str,
    b: str | None,
    *,
    by: str | None,
    gates: Sequence[str],
    least: str,
    everything: bool,
    as_json: bool,
    junit: Path | None,
    summary: Path | None,
    report: Path | None,
    find: Find | None = None,
    plan: Plan | None = None,
    names: tuple[str, str] | None = None,
) -> int:
    """Compare, print, write; the exit code: 1 where a gated measure is worse. `names` are what A and B are called.

    Runs and their plans are those of this machine unless `find` and `plan` look elsewhere.
    """
    if junit is not None and not gates:
        raise PlanError(
            "writing", str(junit), "nothing gates, so that there is no test in it", "name a gate with --for"
        )
    found, pairing = _sides(a, b, by, find or _kept_here)
    comparison = compare_pairs(names or found, pairing, gates, least, plan or planned_here)
    if as_json:
        print(json.dumps(as_document(comparison)))
    else:
        _print(comparison, everything=everything)
    if junit is not None:
        write_whole(junit, comparison_xml(comparison))
    if summary is not None:
        write_whole(summary, markdown(comparison))
    if report is not None:
        write_report([one["run"] for pair in pairing.pairs for one in pair if one["status"] != "failed"], report)
    return EXIT_MISSED if comparison.fails else EXIT_DONE


def _sides(a: str, b: str | None, by: str | None, find: Find) -> tuple[tuple[str, str], Pairing]:
    """What the two sides are called, and their runs in pairs."""
    if (b is None) == (by is None):
        raise PlanError(
            "comparing", a, "with nothing" if b is None else "with B and --by", "give either B, or --by FIELD=A,B"
        )
    if b is not None:
        return (a, b), pair_runs(_documents(a, find), _documents(b, find))
    field, _, values = (by or "").partition("=")
    named = [value.strip() for value in values.split(",")] if values else []
    (first, runs), (second, others) = split_by(_documents(a, find), field.strip(), named).items()
    return (f"{field}={first}", f"{field}={second}"), pair_runs(runs, others)


def _documents(side: str, find: Find) -> list[Document]:
    """The runs of one side."""
    result = read_result(side)
    return find(side) if result is None else result["runs"]


def _kept_here(key: str) -> list[Document]:
    store = Store(load_settings())
    return [readable(store.get(key), store)]


def planned_here(key: str) -> Mapping[str, Any] | None:
    """The plan of a run that is kept on this machine."""
    return Store(load_settings()).run_document(key)


def read_result(side: str) -> Document | None:
    """The result in a file or folder of that name; None where there is none."""
    file = Path(side)
    if file.is_dir():
        file /= "result.json"
    if not file.is_file():
        return None
    try:
        result: Any = json.loads(file.read_text())
        documents: list[Document] = result["runs"]
        if not all({"run", "point", "seed", "status"} <= document.keys() for document in documents) or not documents:
            raise ValueError("it holds no runs")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not a result"
        hint = "name a kept run, the document of `longhaul run --json`, or the folder of `longhaul run --out`"
        raise ResultsError("reading the result", str(file), str(what), hint) from error
    return dict(result)


def _print(comparison: Comparison, *, everything: bool) -> None:
    from longhaul.cli.console import notes_console, plain_table, results_console

    # Of a single pair every measure fits on a screen.
    everything = everything or len(comparison.pairing.pairs) == 1
    rows = shown_rows(comparison, everything=everything)
    shown = rows if everything else rows[: _SHOWN + comparison.gated]
    print(sides_line(comparison))
    if shown:
        results_console().print(plain_table([cells(row) for row in shown]))
    if len(shown) < len(rows):
        print(f"and {len(rows) - len(shown)} more that changed; --all shows every measure")
    for note in notes(comparison):
        notes_console().print(f"note: {note}", style="yellow", highlight=False, markup=False)
    print(verdict_line(comparison))
    if comparison.gated:
        print(gate_line(comparison))
