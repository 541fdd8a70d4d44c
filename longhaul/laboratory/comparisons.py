"""Compare two sides: results, runs, ids of kept runs, files of `run --json`, folders of `run --out`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.recordings.recording import Recording

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
    match: Mapping[str, str] | None = None,
) -> Comparison:
    """Compare two sides, paired by point and seed; the arguments are those of `longhaul compare`. B may be a recording of another tool.

    Instead of B, `by` compares two values of a swept field of A: by="flows.app.cc=cubic,bbr". `ok` is false where a
    measure of `gates`, as in "goodput(app)", is worse in B by `min_effect` or more. `trace` also finds the first
    record in which the traces of each pair differ. `match` has the recorded flow, by a part of its name, of a flow.
    """
    found = compare_sides(a, b, by=by, gates=gates, min_effect=min_effect, names=names, match=match)
    return Comparison(as_json(found, differences_here(found) if trace else None))


def differences_here(comparison: Compared) -> list[TraceDifference]:
    """The first difference of each pair of traces that this machine keeps."""
    if comparison.recorded:
        raise PlanError("comparing traces with", comparison.b, "a recording has no trace", "leave out --trace")
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
    match: Mapping[str, str] | None = None,
) -> Compared:
    """The same with every pair. Kept runs and their plans are read from this machine unless `find` and `plan` read them elsewhere."""
    find = find or _kept_here
    if recordings := _recordings_of(a, b):
        from longhaul.orchestrator.analysis.recordings.pairs import compare_with_recordings

        sides = names or (_name(a), str(b))
        return compare_with_recordings(sides, _documents(a, find), recordings, gates, min_effect, match or {})
    if match:
        raise PlanError("matching flows of", str(b), "it is not a recording", "leave out --match")
    found, pairing = _sides(a, b, by, find)
    return compare_pairs(names or found, pairing, gates, min_effect, plan or planned_here)


def _recordings_of(a: Side, b: Side | None) -> list[Recording]:
    """The recordings that B names, if it names some."""
    from longhaul.orchestrator.analysis.recordings.read import read_recordings

    if isinstance(a, str) and Path(a).exists() and read_result(a, needed=False) is None and read_recordings(Path(a)):
        raise PlanError(
            "comparing", a, "a recording is the second side", "name the run first: `longhaul compare RUN FILE`"
        )
    if not isinstance(b, str) or not Path(b).exists() or read_result(b, needed=False) is not None:
        return []
    return read_recordings(Path(b))


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


def read_result(side: str, *, needed: bool = True) -> dict[str, Any] | None:
    """The result in a file or folder of that name; None if there is none, or if it is another file and none is needed."""
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
        if not needed and not isinstance(error, OSError):
            return None
        what = error.strerror if isinstance(error, OSError) else "it is not a result"
        hint = "name a kept run, the document of `longhaul run --json`, the folder of `longhaul run --out`, or a recording (docs/comparing.md)"
        raise ResultsError("reading the result", str(file), str(what), hint) from error
    return dict(result)
