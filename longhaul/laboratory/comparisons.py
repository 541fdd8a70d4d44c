"""Compare two sides: results, runs, ids of kept runs, files of `run --json`, folders of `run --out`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from longhaul.orchestrator.analysis.compare import Comparison as Compared
from longhaul.orchestrator.analysis.gates import Plan, compare_pairs
from longhaul.orchestrator.analysis.pairing import Pairing, pair_runs, split_by
from longhaul.orchestrator.analysis.report.comparison_text import as_json
from longhaul.orchestrator.analysis.trace_differences import TraceDifference, trace_differences
from longhaul.orchestrator.execution.evaluation import readable
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import PlanError, ResultsError
from longhaul.orchestrator.system.settings import load_settings
from longhaul.results.comparison import Comparison
from longhaul.results.result import Result
from longhaul.results.run import Run

Side = str | Result | Run
# Finds the documents of the kept runs of a name.
Find = Callable[[str], list[RunDocument]]


def compare(
    a: Side,
    b: Side | None = None,
    *,
    by: str | None = None,
    gates: Sequence[str] = (),
    min_effect: str = "2 %",
    names: tuple[str, str] | None = None,
    trace: bool = False,
) -> Comparison:
    """Compare two sides, paired by point and seed; the arguments are those of `longhaul compare`.

    Instead of B, `by` compares two values of a swept field of A: by="flows.app.cc=cubic,bbr". `ok` is false where a
    measure of `gates`, as in "goodput(app)", is worse in B by `min_effect` or more. `trace` also finds the first
    record in which the traces of each pair differ.
    """
    found = compare_sides(a, b, by=by, gates=gates, min_effect=min_effect, names=names)
    return Comparison(as_json(found, differences_here(found) if trace else None))


def differences_here(comparison: Compared) -> list[TraceDifference]:
    """The first difference of each pair of traces that this machine keeps."""
    return trace_differences(comparison, Store(load_settings()))


def compare_sides(
    a: Side,
    b: Side | None,
    *,
    by: str | None,
    gates: Sequence[str],
    min_effect: str,
    names: tuple[str, str] | None = None,
    find: Find | None = None,
    plan: Plan | None = None,
) -> Compared:
    """The same with every pair. Kept runs and their plans are read from this machine unless `find` and `plan` read them elsewhere."""
    found, pairing = _sides(a, b, by, find or _kept_here)
    return compare_pairs(names or found, pairing, gates, min_effect, plan or planned_here)


def _sides(a: Side, b: Side | None, by: str | None, find: Find) -> tuple[tuple[str, str], Pairing]:
    """The names of the two sides, and their runs in pairs."""
    if (b is None) == (by is None):
        raise PlanError(
            "comparing",
            _name(a),
            "with nothing" if b is None else "with B and --by",
            "give either B, or --by FIELD=A,B",
        )
    if b is not None:
        return (_name(a), _name(b)), pair_runs(_documents(a, find), _documents(b, find))
    field, _, values = (by or "").partition("=")
    named = [value.strip() for value in values.split(",")] if values else []
    (first, runs), (second, others) = split_by(_documents(a, find), field.strip(), named).items()
    return (f"{field}={first}", f"{field}={second}"), pair_runs(runs, others)


def _name(side: Side) -> str:
    return side if isinstance(side, str) else side.id if isinstance(side, Run) else side.experiment


def _documents(side: Side, find: Find) -> list[RunDocument]:
    """The runs of one side."""
    if isinstance(side, Run):
        return [side.document]
    if isinstance(side, Result):
        return [run.document for run in side.runs]
    result = read_result(side)
    return find(side) if result is None else result["runs"]


def _kept_here(key: str) -> list[RunDocument]:
    store = Store(load_settings())
    return [readable(store.get(key), store)]


def planned_here(key: str) -> Mapping[str, Any] | None:
    """The plan of a run kept on this machine."""
    return Store(load_settings()).run_document(key)


def read_result(side: str) -> dict[str, Any] | None:
    """The result in a file or folder of that name; None if there is none."""
    file = Path(side)
    if file.is_dir():
        file /= "result.json"
    if not file.is_file():
        return None
    try:
        result: Any = json.loads(file.read_text())
        documents: list[RunDocument] = result["runs"]
        if not all({"run", "point", "seed", "status"} <= document.keys() for document in documents) or not documents:
            raise ValueError("it contains no runs")
    except (OSError, ValueError, TypeError, KeyError, AttributeError) as error:
        what = error.strerror if isinstance(error, OSError) else "it is not a result"
        hint = "name a kept run, the document of `longhaul run --json`, or the folder of `longhaul run --out`"
        raise ResultsError("reading the result", str(file), str(what), hint) from error
    return dict(result)
