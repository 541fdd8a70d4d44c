"""Evaluates a run's trace: whether its numbers can be believed, its measures, its expectations.

A run is kept for years, but formulas are corrected and added: a document states which code computed it (`measured_by`), and a document
of other code is computed again from the kept trace before it is read.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.orchestrator.backends.base import Cost
from longhaul.orchestrator.execution.formulas import is_current, measured_by
from longhaul.orchestrator.execution.other_programs import differing_programs
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RerunVerdict, RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import FidelityBroken, ResultsError, RunDamaged, TraceError

# The step at which a run fails whose numbers cannot be believed.
CHECKING = "checking the fidelity of"

if TYPE_CHECKING:
    from longhaul.orchestrator.analysis.measures import Facts
    from longhaul.orchestrator.trace.records import Trace


def load_formulas() -> None:
    """Load the modules that evaluate runs; a kept run whose numbers are today's needs none of them."""
    import longhaul.orchestrator.analysis.expect
    import longhaul.orchestrator.analysis.fidelity.checks  # noqa: F401

    measured_by()


def judge(run: Run, key: str, directory: Path, cost: Cost) -> tuple[RunDocument, Trace]:
    """The document and the trace of a finished run directory; FidelityBroken if its numbers cannot be believed."""
    from longhaul.orchestrator.trace.records import read_trace, trace_sha256

    facts = json.loads((directory / "facts.json").read_text())
    trace = read_trace(directory / "trace.bin")
    document: RunDocument = {
        "run": key,
        "experiment": run.experiment,
        "status": "done",
        "backend": run.backend,
        "where": run.where,
        "clock": run.clock,
        "kernel": facts["kernel"],
        "seed": run.seed,
        "point": dict(run.point),
        "virtual_s": run.duration_us / 1e6,
        "wall_s": round(cost.wall_s, 3),
        "cpu_s": round(cost.cpu_s, 3),
        "max_rss_kb": cost.max_rss_kb,
        "retries": cost.retries,
        "trace_sha256": trace_sha256(directory / "trace.bin"),
        "cached": False,
    }
    if cost.parts > 1:
        document["parts"] = cost.parts
    if "kernel_parts" in facts:
        document["kernel_parts"] = facts["kernel_parts"]
    return _measured(document, run, trace, facts), trace


def up_to_date(document: RunDocument, store: Store) -> RunDocument:
    """A kept run's document by today's formulas; FidelityBroken if today's checks refuse it."""
    if is_current(document.get("measured_by")):
        return document
    document = _by_todays_formulas(document, store)
    store.revise(document)
    return document


def _by_todays_formulas(document: RunDocument, store: Store) -> RunDocument:
    manifest = store.manifest(document["run"])
    run, trace = store.planned(document["run"]), store.trace(document["run"])
    return _measured(document, run, trace, manifest["facts"])


def readable(document: RunDocument, store: Store) -> RunDocument:
    """A kept run's document for display: by today's formulas, or as it was computed then with a `caveat` that states why.

    Kept runs of an earlier kernel or agent may lack facts that today's checks need.
    """
    if is_current(document.get("measured_by")):
        return document
    try:
        document = _by_todays_formulas(document, store)
        # On a read-only disk it is computed at every reading.
        with contextlib.suppress(ResultsError):
            store.revise(document)
        return document
    except FidelityBroken as error:
        caveat = f"measured by earlier formulas: today's checks refuse it ({error.what})"
    except RunDamaged:
        raise
    except (ArithmeticError, LookupError, TraceError, TypeError, ValueError) as error:
        caveat = f"measured by earlier formulas: today's cannot measure it ({' '.join(str(error).split())})"
    return document | {"caveat": caveat}


def readable_all(documents: Iterable[RunDocument], store: Store) -> list[RunDocument]:
    """The documents of an experiment by today's formulas, so that an old baseline is computed like the result that it is compared with."""
    return list(each_readable(documents, store))


def each_readable(documents: Iterable[RunDocument], store: Store) -> Iterator[RunDocument]:
    """The same one after the other."""
    for document in documents:
        if document["status"] == "failed" or not store.is_kept(document["run"]):
            yield document
            continue
        try:
            yield readable(document | {"cached": False}, store) | {"cached": document.get("cached", False)}
        except RunDamaged as error:
            yield document | {"caveat": f"measured by earlier formulas: {error.what}"}


def kept_run(key: str, store: Store) -> tuple[RunDocument, Run, Trace]:
    """A kept run's document, plan and trace, by today's formulas if they can compute it."""
    document = readable(store.get(key), store)
    return document, *run_and_trace(document, store)


def run_and_trace(document: RunDocument, store: Store) -> tuple[Run, Trace]:
    """A kept run as it was planned, and its trace."""
    return store.planned(document["run"]), store.trace(document["run"])


def rerun_verdict(kept: RunDocument, again: RunDocument) -> RerunVerdict:
    """Whether every byte of the trace is the same, and which programs differ."""
    return {
        "run": kept["run"],
        "identical": again["trace_sha256"] == kept["trace_sha256"],
        "trace_sha256": again["trace_sha256"],
        "differences": differing_programs(kept.get("identity", {}), again["identity"]),
    }


def _measured(document: RunDocument, run: Run, trace: Trace, facts: Facts) -> RunDocument:
    """The document with numbers by today's formulas."""
    from longhaul.orchestrator.analysis import expect, measures
    from longhaul.orchestrator.analysis.fidelity import checks as fidelity
    from longhaul.orchestrator.analysis.fidelity.remedies import what_to_change

    checks = fidelity.check_fidelity(run, trace, facts)
    if broken := fidelity.broken_text(checks):
        raise FidelityBroken(
            CHECKING,
            f"run {document['run']}",
            broken,
            f"{what_to_change(run, ((one.name, one.text) for one in checks if not one.ok))}; nothing was kept, see docs/fidelity.md",
        )
    numbers = measures.summarise(run, trace, facts)
    results = expect.evaluate(run.expect, numbers)
    return {
        **document,
        **numbers,
        "fidelity": {"ok": True, "checks": [check.as_dict() for check in checks]},
        "expect": results,
        "status": "done" if all(result["ok"] for result in results) else "missed",
        "measured_by": measured_by(),
    }
