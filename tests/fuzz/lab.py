"""One drawn experiment through the real sandbox, without a document: spec, plan, guest, trace, fidelity."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from longhaul.orchestrator.backends.sandbox import Sandbox
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.system.settings import Settings
from longhaul.orchestrator.trace.records import Trace, read_trace

# Wall time after which a short run counts as hanging.
_WALL_LIMIT_S = 300


@dataclass(frozen=True, slots=True)
class Finished:
    """A run that ended by itself, with its trace and facts."""

    run: Run
    trace: Trace
    facts: dict[str, Any]


class Lab:
    """Runs one run at a time; nothing is kept."""

    def __init__(self, settings: Settings) -> None:
        self._backend = Sandbox(replace(settings, wall_limit_s=_WALL_LIMIT_S, stall_limit_s=_WALL_LIMIT_S))

    def plan(self, written: Mapping[str, Any]) -> Run:
        """The only run of an experiment; raises SpecError and PlanError."""
        (run,) = compile_plan(parse_experiment(written, "fuzz")).runs
        return run

    def execute(self, run: Run) -> Finished:
        """Run it; raises BackendError or TraceError if the run failed."""
        with TemporaryDirectory(prefix="longhaul-fuzz-") as folder:
            directory = Path(folder)
            (directory / "run.json").write_text(json.dumps(run.as_json()))
            self._backend.run(run, directory, lambda virtual_ns: None)
            facts = json.loads((directory / "facts.json").read_text())
            return Finished(run, read_trace(directory / "trace.bin"), facts)
