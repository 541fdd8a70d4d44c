"""Walks Runs along the road: check, prepare, run, decode, judge, keep.

`execute` takes a Plan and gives one document a run (plan/run_document.py), in the plan's order, `jobs` at a time, what takes
longest first. Of several, one more is judged and kept meanwhile, so that no guest has to wait for that. An unchanged run is answered from
the store, by today's formulas. Work happens in a staging folder that belongs to this process by a lock; what a killed process left there is
swept by the next one. A failed run becomes a document with `status: failed` and its error, never a number; the other runs go on.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.backends.base import Backend, Cost
from longhaul.orchestrator.execution.host_leases import held_hosts
from longhaul.orchestrator.plan.compile import Plan
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.plan.run import Progress, Run, run_id
from longhaul.orchestrator.plan.run_document import PrometheusExport, RunDocument, RunEnd
from longhaul.orchestrator.results.partial_runs import Part, discard_partial
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import (
    BackendError,
    FidelityBroken,
    GuestDied,
    KernelComplained,
    LonghaulError,
    RunCancelled,
    RunDamaged,
    RunTimedOut,
    TraceError,
    remedy,
)

if TYPE_CHECKING:
    from longhaul.orchestrator.live.run_export import Beside, Live
    from longhaul.orchestrator.system.settings import Settings
    from longhaul.orchestrator.trace.records import Trace


@dataclass(slots=True)
class Watcher:
    """What the person in front of it wants to hear; every call may come from any worker thread."""

    started: Callable[[int, Run], None] = lambda index, run: None
    progress: Callable[[int, int], None] = lambda index, virtual_ns: None
    finished: Callable[[int, RunDocument], None] = lambda index, document: None


@dataclass(slots=True)
class Pipeline:
    """Where runs are carried out and kept."""

    backend: Backend
    store: Store
    use_cache: bool = True
    watcher: Watcher = field(default_factory=Watcher)
    # Is given the trace of each run that was carried out.
    judged: Callable[[Trace], None] = lambda trace: None
    # Samples of runs go to Prometheus while they go on.
    live: Live | None = None
    # Whether what a run had simulated is worth keeping when it is cancelled: somebody gave it up.
    keeps_partial: Callable[[], bool] = lambda: False
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def execute(self, plan: Plan, jobs: int = 1) -> list[RunDocument]:
        """One document a run, in the plan's order. A Ctrl-C ends the guests and keeps what was finished."""
        (documents,) = self.execute_all([plan], jobs)
        return documents

    def execute_all(self, plans: Sequence[Plan], jobs: int = 1) -> list[list[RunDocument]]:
        """The same of several plans as one heap of work; the watcher counts runs through all of them."""
        specs = [plan.experiment.model_dump(mode="json", exclude_none=True) for plan in plans]
        runs = [(run, spec) for plan, spec in zip(plans, specs, strict=True) for run in plan.runs]
        # Nothing long is left for the end, when the other workers have nothing to do.
        order = sorted(range(len(runs)), key=lambda index: -wall_estimate_s(runs[index][0]))
        self._cancelled.clear()
        room = threading.Semaphore(max(1, jobs))
        with Staging(self.store.home) as staging, ThreadPoolExecutor(jobs + 1 if jobs > 1 else 1, "run") as workers:
            work: dict[int, Future[RunDocument]] = {}
            try:
                for index in order:
                    work[index] = workers.submit(self._walk, index, *runs[index], staging, room)
                wait(work.values(), return_when=FIRST_EXCEPTION)
                documents = iter([work[index].result() for index in range(len(runs))])
                return [list(itertools.islice(documents, len(plan.runs))) for plan in plans]
            except BaseException:
                self._cancelled.set()
                for future in work.values():
                    future.cancel()
                raise

    def rerun(self, run: Run, spec: Mapping[str, Any]) -> RunDocument:
        """Carry a kept Run out again, with today's kernel, agent and modules."""
        with Staging(self.store.home) as staging:
            return self.carry_out(run, spec, staging, partial(self._report, 0))

    def carry_out(self, run: Run, spec: Mapping[str, Any], staging: Staging, progress: Progress) -> RunDocument:
        """Carry one Run out, whatever is kept; `progress` may raise to end it."""
        identity = self.backend.identity(run)
        return self._carry_out(run, run_id(run, identity), identity, spec, staging, progress, ExitStack())

    def _walk(
        self, index: int, run: Run, spec: Mapping[str, Any], staging: Staging, room: AbstractContextManager[Any]
    ) -> RunDocument:
        identity = self.backend.identity(run)
        key = run_id(run, identity)
        if self.use_cache and (known := self.known(key)) is not None:
            self.watcher.finished(index, known)
            return known
        with ExitStack() as until_ended:
            until_ended.enter_context(room)
            try:
                self._stop_if_cancelled(index)
                self.watcher.started(index, run)
                progress = partial(self._report, index)
                document = self._carry_out(run, key, identity, spec, staging, progress, until_ended)
            except LonghaulError as error:
                document = failed_document(run, key, error)
        self.watcher.finished(index, document)
        return document

    def known(self, key: str) -> RunDocument | None:
        """A kept run, by today's formulas; one that today's checks refuse is forgotten, and one that is damaged replaced."""
        from longhaul.orchestrator.execution.evaluation import up_to_date

        if not self.store.is_kept(key) or self.store.fault(key) is not None:
            return None
        known = self.store.find(key)
        if known is None:
            return None
        try:
            known = up_to_date(known, self.store)
        except FidelityBroken:
            self.store.delete(key)
            return None
        except RunDamaged:
            # It would have been measured again from what lies there.
            return None
        self.store.adopt(known)
        return known | {"cached": True}

    def _carry_out(
        self,
        run: Run,
        key: str,
        identity: Mapping[str, str],
        spec: Mapping[str, Any],
        staging: Staging,
        progress: Progress,
        until_ended: ExitStack,
    ) -> RunDocument:
        discard_partial(self.store.home, key)
        with (
            staging.directory(key) as directory,
            _system_errors(directory),
            self._part(run, key, directory, spec) as part,
        ):
            progress = part.watched(progress)
            (directory / "run.json").write_text(json.dumps(run.as_json()))
            threading.Thread(target=self._make_ready, daemon=True).start()
            with self._beside(run, key, directory) as beside:
                cost = self._run(run, key, directory, beside.watched(progress) if beside else progress)
            until_ended.close()
            outcome: PrometheusExport | None = None
            status = "failed"
            try:
                document, trace = _judged(run, key, directory, cost)
                self.judged(trace)
                document["identity"] = dict(identity)
                if beside is not None:
                    document["prometheus"] = outcome = beside.outcome()
                self.store.keep(directory, run, key, identity, spec, document, trace)
                status = document["status"]
            finally:
                if beside is not None:
                    beside.close(outcome, status)
        return document

    def _part(self, run: Run, key: str, directory: Path, spec: Mapping[str, Any]) -> Part:
        traces = self.backend.growing_traces(run, directory)
        return Part(self.store.home, directory, traces, run, key, spec, self.keeps_partial)

    def _make_ready(self) -> None:
        """Load what judging and keeping need: it takes longer than a short run, and a guest leaves time for it."""
        import longhaul.orchestrator.execution.evaluation  # noqa: F401

        self.store.make_ready()

    def _beside(self, run: Run, key: str, directory: Path) -> AbstractContextManager[Beside | None]:
        beside = self.live.beside(run, key, self.backend.growing_traces(run, directory)) if self.live else None
        return beside or nullcontext()

    def _run(self, run: Run, key: str, directory: Path, progress: Progress) -> Cost:
        try:
            with held_hosts(run, key, self.store, self.store.settings) as watch:
                return self.backend.run(run, directory, watch(progress))
        except (GuestDied, KernelComplained, RunTimedOut) as error:
            error.hint = "; ".join(filter(None, [error.hint, self.store.keep_log(directory, key)]))
            if isinstance(error, GuestDied):
                self.store.count_death()
            raise

    def _report(self, index: int, virtual_ns: int) -> None:
        self._stop_if_cancelled(index)
        self.watcher.progress(index, virtual_ns)

    def _stop_if_cancelled(self, index: int) -> None:
        if self._cancelled.is_set():
            raise RunCancelled("running", f"run {index + 1}", "cancelled")


def opened_live(settings: Settings, store: Store) -> AbstractContextManager[Live | None]:
    """The export of this process, if there is to be one: what it takes to load is loaded for nobody else."""
    if settings.prometheus is None:
        return nullcontext()
    from longhaul.orchestrator.live.run_export import open_live

    return open_live(settings, store) or nullcontext()


def _judged(run: Run, key: str, directory: Path, cost: Cost) -> tuple[RunDocument, Trace]:
    from longhaul.orchestrator.execution.evaluation import judge

    try:
        return judge(run, key, directory, cost)
    except (ArithmeticError, LookupError, RecursionError, TypeError, ValueError) as error:
        # A module that was brought along may have written anything in the guest's name; the project's own may not.
        if not any(module.source for module in run.modules):
            raise
        what = f"it makes no sense ({type(error).__name__}: {error})"
        raise TraceError(
            "reading what the guest left of", run.experiment, what, "look at what its module does"
        ) from error


def failed_document(run: Run, key: str, error: LonghaulError) -> RunDocument:
    """The document of a run that gave no numbers."""
    return {**_unmeasured(run, key, "failed"), "error": error.as_dict()}


def cancelled_document(run: Run, key: str, reached_s: float) -> RunDocument:
    """The document of a run that was cancelled, of which a part is kept."""
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


@contextlib.contextmanager
def _system_errors(directory: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        what, named = error.strerror or str(error), str(error.filename or "")
        own = not named or Path(named).is_relative_to(directory)
        hint = remedy(error, "set LONGHAUL_HOME to another folder" if own else "")
        said = f"{named}: {what}" if named else what
        raise BackendError("carrying out the run in", str(directory), said, hint) from error
