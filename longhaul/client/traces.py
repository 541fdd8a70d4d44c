"""The traces of runs on a service: files that are downloaded when a chart or a frame needs them, and kept as long as the result."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.results.seals import MANIFEST, read_manifest
from longhaul.orchestrator.results.traces import ALWAYS_KEPT, FILE_NAMES, read_kind, read_traces
from longhaul.orchestrator.trace.records import Records, Trace


class ServiceTraces:
    """The kept runs of a service, read through its client."""

    def __init__(self, plan_of: Callable[[str], Mapping[str, Any]], download: Callable[[str, str, Path], Path]) -> None:
        self._plan_of, self._download = plan_of, download
        self._folder = Path(tempfile.mkdtemp(prefix="longhaul-"))
        weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)

    def planned(self, run_id: str) -> Run:
        """The plan of the run."""
        return Run.from_json(dict(self._plan_of(run_id)))

    def trace(self, run_id: str) -> Trace:
        """Every record."""
        return read_traces(self._with_files(run_id, *FILE_NAMES.values()))

    def records(self, run_id: str, kind: str) -> Records:
        """The records of one kind."""
        return read_kind(self._with_files(run_id, FILE_NAMES[kind]), kind)

    def text(self, run_id: str, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
        """A text made of a run: nothing is kept of the runs of a service."""
        return make()[0]

    def _with_files(self, run_id: str, *names: str) -> Path:
        folder = self._folder / run_id
        # The manifest has the hash of each file.
        if not (folder / MANIFEST).is_file():
            self._download(run_id, MANIFEST, folder)
        kept = {*ALWAYS_KEPT, *read_manifest(folder).get("files", ())}
        for name in names:
            if name in kept and not (folder / name).is_file():
                self._download(run_id, name, folder)
        return folder
