"""Documents of made-up runs, recorded runs as kept ones, and damage to these."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from longhaul.orchestrator.analysis.measures import summarise
from longhaul.orchestrator.results.packing import EndedRun
from longhaul.orchestrator.results.run_sink import RunSink
from longhaul.orchestrator.results.seals import MANIFEST
from longhaul.orchestrator.results.store import Store
from tests.support.recordings import RUNS, recorded

KEYS = {"lossy_pair": "a" * 20, "real_clock": "b" * 20, "two_queues": "c" * 20}


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


def keep(store: Store, name: str = "lossy_pair", *, sealed: bool = True) -> str:
    """A recorded run, kept as pipelines keep one, with files of a program; unsealed as they were before manifests had hashes."""
    key = KEYS[name]
    program_files = {"iperf3/a.client.json": '{"end": {"sum_sent": {"bytes": 1448}}}'}
    keep_recorded(store, key, name, program_files=program_files)
    if not sealed:
        manifest = store.manifest(key)
        for name in ("files", "sha256"):
            del manifest[name]
        (store.directory(key) / MANIFEST).write_text(json.dumps(manifest))
    return key


def flip(file: Path, bit: int) -> None:
    """Turn a single bit of a file over."""
    content = bytearray(file.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    file.write_bytes(content)
