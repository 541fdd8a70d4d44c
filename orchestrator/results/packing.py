"""The form in which runs are kept: a finished run directory becomes Parquet files, the guest's log and a manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.results.seals import MANIFEST, sealed_files, sealed_text
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.run import Run
    from longhaul.orchestrator.plan.run_document import RunDocument
    from longhaul.orchestrator.trace.records import Trace


@dataclass(frozen=True, slots=True)
class EndedRun:
    """The directory of a finished run, with all that is kept of it."""

    directory: Path
    run: Run
    run_id: str
    identity: Mapping[str, str]
    spec: Mapping[str, Any]
    document: RunDocument
    trace: Trace


def load_packing() -> None:
    """Load the libraries that packing needs, before the first run has ended."""
    import longhaul.orchestrator.results.traces  # noqa: F401


def pack_run(ended: EndedRun) -> None:
    """Give a run directory the form in which runs are kept."""
    from longhaul.orchestrator.results.traces import write_traces

    directory, document = ended.directory, ended.document
    write_traces(directory, ended.trace)
    manifest = {
        "format": 1,
        "run_id": ended.run_id,
        # A capture is no part of a run (packets.py).
        "spec": {name: value for name, value in ended.spec.items() if name != "capture"},
        "run": ended.run.as_json(),
        "identity": dict(ended.identity),
        "trace_sha256": document["trace_sha256"],
        "facts": json.loads((directory / "facts.json").read_text()),
        "document": dict(document),
    }
    for raw in ("trace.bin", "run.json", "facts.json", "status.json"):
        (directory / raw).unlink()
    manifest["files"] = sealed_files(directory)
    (directory / MANIFEST).write_text(sealed_text(manifest))
