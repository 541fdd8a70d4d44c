"""What a run's trace comes to: whether its numbers can be believed, its measures, its gate.

A kept run answers for years, but formulas are mended and added: a document says by which code it was measured (`measured_by`), and one that
was measured by other code is measured again from the kept trace before anybody reads it.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any

from orchestrator import airtime
from orchestrator.analysis import (
    budget,
    expect,
    fairness,
    fidelity,
    links,
    measures,
    real_paths,
    series,
    windows,
    wireless,
)
from orchestrator.backends.base import Cost
from orchestrator.errors import FidelityBroken
from orchestrator.results.store import Store
from orchestrator.run import Run
from orchestrator.trace import Trace, read_trace, trace_sha256

Document = dict[str, Any]

# All that turns a trace into numbers, and what those are held against.
FORMULAS = (airtime, budget, expect, fairness, fidelity, links, measures, real_paths, series, windows, wireless)


@cache
def measured_by() -> str:
    """A hash of the code of every formula."""
    code = hashlib.sha256()
    for module in FORMULAS:
        code.update(Path(str(module.__file__)).read_bytes())
    return code.hexdigest()[:12]


def judge(run: Run, key: str, directory: Path, cost: Cost) -> tuple[Document, Trace]:
    """The document and the trace of a finished run directory; FidelityBroken where its numbers cannot be believed."""
    facts = json.loads((directory / "facts.json").read_text())
    trace = read_trace(directory / "trace.bin")
    document: Document = {
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
    return document | _measured(run, key, trace, facts), trace


def up_to_date(document: Document, store: Store) -> Document:
    """A kept run's document by today's formulas; FidelityBroken where today's checks would not have let it pass."""
    if document.get("measured_by") == measured_by():
        return document
    manifest = store.manifest(document["run"])
    run, trace = Run.from_json(manifest["run"]), store.trace(document["run"])
    document = document | _measured(run, document["run"], trace, manifest["facts"])
    store.revise(document)
    return document


def kept_run(key: str, store: Store) -> tuple[Document, Run, Trace]:
    """All there is of a kept run, by today's formulas."""
    document = up_to_date(store.get(key), store)
    return document, *run_and_trace(document, store)


def run_and_trace(document: Document, store: Store) -> tuple[Run, Trace]:
    """A kept run as it was planned, and the trace that it left."""
    return Run.from_json(store.manifest(document["run"])["run"]), store.trace(document["run"])


def rerun_verdict(kept: Document, again: Document) -> Document:
    """Whether every byte of the trace is the same, and which of the programs that made it are not."""
    now = again["identity"]
    return {
        "run": kept["run"],
        "identical": again["trace_sha256"] == kept["trace_sha256"],
        "trace_sha256": again["trace_sha256"],
        "differences": [
            f"{name}: {kept['identity'][name][:12] if name in kept['identity'] else 'none'} then, {value[:12]} now"
            for name, value in now.items()
            if kept["identity"].get(name) != value
        ],
    }


def _measured(run: Run, key: str, trace: Trace, facts: Document) -> Document:
    checks = fidelity.check_fidelity(run, trace, facts)
    if broken := fidelity.broken_text(checks):
        raise FidelityBroken(
            "checking the fidelity of",
            f"run {key}",
            broken,
            "nothing was kept; see `longhaul plan` and docs/fidelity.md",
        )
    document = measures.summarise(run, trace, facts)
    document["fidelity"] = {"ok": True, "checks": [check.as_dict() for check in checks]}
    document["expect"] = expect.evaluate(run.expect, document)
    document["status"] = "done" if all(expectation["ok"] for expectation in document["expect"]) else "missed"
    document["measured_by"] = measured_by()
    return document
