"""Documents of made-up runs, and recorded runs as kept ones."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.results.packing import EndedRun
from longhaul.orchestrator.results.run_sink import RunSink
from tests.support.recordings import RUNS, recorded


def document(run_id: str) -> Any:
    run, trace, facts = recorded("lossy_pair")
    about = {
        "run": run_id,
        "experiment": run.experiment,
        "status": "done",
        "backend": "sandbox",
        "kernel": "6.12",
        "seed": 1,
        "point": {},
        "virtual_s": 3.0,
        "wall_s": 0.1,
        "trace_sha256": "x" * 64,
    }
    return about | summarise(run, trace, facts)


def keep_recorded(
    sink: RunSink,
    key: str,
    name: str = "lossy_pair",
    spec: Mapping[str, Any] | None = None,
    program_files: Mapping[str, str] | None = None,
    **changed: Any,
) -> None:
    """Keep a recorded run as a pipeline does, with these files of a program; `changed` are fields of its document."""
    run, trace, _ = recorded(name)
    directory = sink.home / "staging" / key
    shutil.copytree(RUNS / name, directory)
    for file, text in (program_files or {}).items():
        (directory / file).parent.mkdir(exist_ok=True)
        (directory / file).write_text(text)
    run = replace(run, point=changed.get("point", run.point))
    found = document(key) | changed
    sink.keep(EndedRun(directory, run, key, {"kernel": "k"}, spec or {"experiment": name}, found, trace))
    shutil.rmtree(directory, ignore_errors=True)
