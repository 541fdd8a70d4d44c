"""Runs the Runs of plans: answer kept runs from the store, run the others and keep them.

`execute` takes a Plan and gives one document a run (plan/run_document.py), in the plan's order, `jobs` at a time, the longest run
first. With several jobs one more run is evaluated and kept meanwhile, so that no guest waits for that. An unchanged run is answered from
the store (kept_answers.py), by today's formulas; every other one is run and kept by runner.py, in a staging folder that belongs to this
process by a lock. A failed run becomes a document with `status: failed` and its error, never a number; the other runs continue.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.execution.kept_answers import answer_from_store
from longhaul.orchestrator.execution.runner import Runner, failed_document
from longhaul.orchestrator.plan.compile import Plan
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, RunCancelled
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from longhaul.orchestrator.live.run_export import Live
    from longhaul.orchestrator.system.settings import Settings
    from longhaul.orchestrator.trace.records import Trace

# A Ctrl-C takes effect within this time.
_SIGNAL_NOTICED_S = 1.0


@dataclass(slots=True)
class Watcher:
    """Callbacks for progress on a terminal; every call may come from any worker thread."""

    started: Callable[[int, Run], None] = lambda index, run: None
    progress: Callable[[int, int], None] = lambda index, virtual_ns: None
    finished: Callable[[int, RunDocument], None] = lambda index, document: None


@dataclass(slots=True)
class Pipeline:
    """Runs plans, and answers kept runs."""

    backend: Backend
    store: Store
    use_cache: bool = True
    watcher: Watcher = field(default_factory=Watcher)
    # Called with the trace of each run that was not answered from the store.
    judged: Callable[[Trace], None] = lambda trace: None
    # Streams the samples of runs to Prometheus while they are running.
    live: Live | None = None
    _cancelled: threading.Event = field(default_factory=threading.Event)

    def execute(self, plan: Plan, jobs: int = 1) -> list[RunDocument]:
        """One document a run, in the plan's order. Ctrl-C ends the guests and keeps the finished runs."""
        (documents,) = self.execute_all([plan], jobs)
        return documents

    def execute_all(self, plans: Sequence[Plan], jobs: int = 1) -> list[list[RunDocument]]:
        """The same for several plans as one list of work; the watcher counts runs over all of them."""
        specs = [plan.experiment.model_dump(mode="json", exclude_none=True) for plan in plans]
        runs = [(run, spec) for plan, spec in zip(plans, specs, strict=True) for run in plan.runs]
        # The longest runs start first, so that no worker is idle at the end.
        order = sorted(range(len(runs)), key=lambda index: -wall_estimate_s(runs[index][0]))
        self._cancelled.clear()
        room = threading.Semaphore(max(1, jobs))
        with Staging(self.store.home) as staging, ThreadPoolExecutor(jobs + 1 if jobs > 1 else 1, "run") as workers:
            work: dict[int, Future[RunDocument]] = {}
            try:
                for index in order:
                    work[index] = workers.submit(self._walk, index, *runs[index], staging, room)
                _await_all(work.values())
                documents = iter([work[index].result() for index in range(len(runs))])
                return [list(itertools.islice(documents, len(plan.runs))) for plan in plans]
            except BaseException:
                self._cancelled.set()
                for future in work.values():
                    future.cancel()
                raise

    def rerun(self, run: Run, spec: Mapping[str, Any]) -> RunDocument:
        """Run a kept Run again, with today's kernel, agent and modules."""
        with Staging(self.store.home) as staging:
            return self._runner().run(run, spec, staging, partial(self._report, 0))

    def _walk(
        self, index: int, run: Run, spec: Mapping[str, Any], staging: Staging, room: AbstractContextManager[Any]
    ) -> RunDocument:
        identity = self.backend.identity(run)
        key = run_id(run, identity)
        if self.use_cache and (known := answer_from_store(key, self.store, run.capture)) is not None:
            self.watcher.finished(index, known)
            return known
        with ExitStack() as until_ended:
            until_ended.enter_context(room)
            try:
                self._stop_if_cancelled(index)
                self.watcher.started(index, run)
                progress = partial(self._report, index)
                document = self._runner().run_identified(run, key, identity, spec, staging, progress, until_ended)
            except LonghaulError as error:
                document = failed_document(run, key, error)
        self.watcher.finished(index, document)
        return document

    def _runner(self) -> Runner:
        return Runner(self.backend, self.store, self.judged, self.live)

    def _report(self, index: int, virtual_ns: int) -> None:
        self._stop_if_cancelled(index)
        self.watcher.progress(index, virtual_ns)

    def _stop_if_cancelled(self, index: int) -> None:
        if self._cancelled.is_set():
            raise RunCancelled("running", f"run {index + 1}", "cancelled")


def _await_all(work: Collection[Future[RunDocument]]) -> None:
    """Return as soon as all have ended or one has raised; Ctrl-C is noticed."""
    pending = set(work)
    while pending:
        # A signal that comes just before the wait does not end it, so it needs a limit.
        ended, pending = wait(pending, timeout=_SIGNAL_NOTICED_S, return_when=FIRST_EXCEPTION)
        if any(future.exception() for future in ended):
            return


def opened_live(settings: Settings, store: Store) -> AbstractContextManager[Live | None]:
    """The export of this process to Prometheus, if the settings name one; without one its libraries are not loaded."""
    if settings.prometheus is None:
        return nullcontext()
    from longhaul.orchestrator.live.run_export import open_live

    return open_live(settings, store) or nullcontext()
