"""Runs one Run and keeps its result: stage, run in a backend, decode, evaluate, keep.

    staging folder --run.json--> backend --run directory--> evaluation.py --document, trace--> RunSink

It never checks whether the run is kept already: callers with a store check before (kept_answers.py). It needs only the part of a store
that is a RunSink (results/run_sink.py), so a worker of a cluster, which has no database, runs the same way.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.backends.base import Backend, Cost
from longhaul.orchestrator.execution.host_leases import hold_hosts_of_run
from longhaul.orchestrator.plan.cost import guest_estimate_s
from longhaul.orchestrator.plan.run import Progress, Run
from longhaul.orchestrator.plan.run_document import RunDocument, RunEnd
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.packing import EndedRun
from longhaul.orchestrator.results.partial_runs import Part, discard_partial
from longhaul.orchestrator.results.run_sink import RunSink
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.system.errors import (
    BackendError,
    GuestDied,
    KernelComplained,
    LonghaulError,
    RunTimedOut,
    TraceError,
    refusal,
    remedy,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.pace import note_run
from longhaul.orchestrator.system.process import lower_priority

if TYPE_CHECKING:
    from longhaul.orchestrator.live.run_export import Live, RunExport
    from longhaul.orchestrator.trace.records import Trace


# Set as soon as this process has begun to load what ends a run.
_LOADING = threading.Event()


@dataclass(frozen=True, slots=True)
class Runner:
    """Runs Runs in one backend, and gives their results to one sink."""

    backend: Backend
    sink: RunSink
    # Called with the trace of each run.
    judged: Callable[[Trace], None] = lambda trace: None
    # Streams the samples of a run to Prometheus while it is running.
    live: Live | None = None
    # Whether to keep the simulated part of a cancelled run: true if its owner cancelled it.
    keeps_partial: Callable[[], bool] = lambda: False

    def run(self, run: Run, spec: Mapping[str, Any], staging: Staging, progress: Progress) -> RunDocument:
        """Run it, even if it is kept; `progress` may raise to end it."""
        identity = self.backend.identity(run)
        return self.run_identified(run, run_id(run, identity), identity, spec, staging, progress, ExitStack())

    def run_identified(
        self,
        run: Run,
        key: str,
        identity: Mapping[str, str],
        spec: Mapping[str, Any],
        staging: Staging,
        progress: Progress,
        until_ended: ExitStack,
    ) -> RunDocument:
        """The same with its identity and id known; closes `until_ended` after the backend's end, before the evaluation."""
        discard_partial(self.sink.home, key)
        with (
            staging.directory(key) as directory,
            _system_errors(directory),
            self._part(run, key, directory, spec) as part,
        ):
            progress = part.watched(progress)
            (directory / "run.json").write_text(json.dumps(replace(run, capture=None).as_json()))
            self._begin_to_load()
            with self._exporting(run, key, directory) as export:
                cost = self._run(run, key, directory, export.watched(progress) if export else progress)
            until_ended.close()
            if run.script is not None:
                # Its hosts, links and flows are known now.
                run = Run.from_json(json.loads((directory / "run.json").read_text()))
            if run.backend == "sandbox" and run.clock == "virtual" and cost.parts == 1 and not cost.copied:
                note_run(guest_estimate_s(run), cost.cpu_s)
            outcome, status = None, "failed"
            try:
                document, trace = _judged(run, key, directory, cost)
                self.judged(trace)
                document["identity"] = dict(identity)
                if export is not None:
                    document["prometheus"] = outcome = export.outcome()
                self.sink.keep(EndedRun(directory, run, key, identity, spec, document, trace))
                status = document["status"]
            finally:
                if export is not None:
                    export.close(outcome, status)
        return document

    def _part(self, run: Run, key: str, directory: Path, spec: Mapping[str, Any]) -> Part:
        traces = self.backend.growing_traces(run, directory)
        return Part(self.sink.home, directory, traces, run, key, spec, self.keeps_partial)

    def _begin_to_load(self) -> None:
        """Load what evaluates and keeps runs while the first guest runs: it takes longer than a short run."""
        if not _LOADING.is_set():
            _LOADING.set()
            threading.Thread(target=self._load_evaluation, daemon=True).start()

    def _load_evaluation(self) -> None:
        # The guests come first: a run in parts may need every processor.
        lower_priority()
        from longhaul.orchestrator.execution.evaluation import load_formulas

        load_formulas()
        self.sink.make_ready()

    def _exporting(self, run: Run, key: str, directory: Path) -> AbstractContextManager[RunExport | None]:
        if self.live is None or run.script is not None:
            return nullcontext()
        export = self.live.export_of(run, key, self.backend.growing_traces(run, directory))
        return export or nullcontext()

    def _run(self, run: Run, key: str, directory: Path, progress: Progress) -> Cost:
        try:
            with hold_hosts_of_run(run, key, self.sink) as watch:
                return self.backend.run(run, directory, watch(progress))
        except BackendError as error:
            if not _left_log(run, error):
                raise
            error.hint = "; ".join(filter(None, [error.hint, self.sink.keep_log(directory, key)]))
            if isinstance(error, GuestDied):
                self.sink.count_death()
            raise


def _judged(run: Run, key: str, directory: Path, cost: Cost) -> tuple[RunDocument, Trace]:
    from longhaul.orchestrator.execution.evaluation import judge

    try:
        return judge(run, key, directory, cost)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        # A user-supplied module may have written anything as the guest; the project's own may not.
        if not any(module.source for module in run.modules):
            raise
        what = f"it is malformed ({type(error).__name__}: {error})"
        raise TraceError("reading the guest's files of", run.experiment, what, "check its module") from error


def failed_document(run: Run, key: str, error: LonghaulError) -> RunDocument:
    """The document of a run that gave no numbers."""
    return {**_unmeasured(run, key, "failed"), "error": error.as_dict()}


def cancelled_document(run: Run, key: str, reached_s: float) -> RunDocument:
    """The document of a cancelled run with a kept part."""
    return {**_unmeasured(run, key, "cancelled"), "partial": {"reached_s": reached_s, "of_s": run.duration_us / 1e6}}


def _unmeasured(run: Run, key: str, status: RunEnd) -> RunDocument:
    return {
        "run": key,
        "experiment": run.experiment,
        "status": status,
        "backend": run.backend,
        "seed": run.seed,
        "point": dict(run.point),
        "cached": False,
    }


def _left_log(run: Run, error: BackendError) -> bool:
    """Whether the log of its guest says more than the error: of programs it has what they printed."""
    if isinstance(error, (GuestDied, KernelComplained, RunTimedOut)):
        return True
    return type(error) is BackendError and any(flow.program is not None for flow in run.flows)


@contextlib.contextmanager
def _system_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        named = str(error.filename or "")
        own = not named or Path(named).is_relative_to(directory)
        hint = remedy(error, "set LONGHAUL_HOME to another folder" if own else "")
        raise BackendError("running in", str(directory), refusal(error), hint) from error
