"""The worker's side of one run: run it and pack its result, or list the artefacts that this worker lacks.

Dask calls these functions, each in a thread of a worker process. A run checks ten times a second whether it is still
wanted: a cancelled task, a lost dispatcher or a lost scheduler ends its guest at once.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from distributed import Scheduler, Worker, get_worker

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.database.work import Claim
from longhaul.orchestrator.execution.runner import Runner, failed_document
from longhaul.orchestrator.kernels.artefacts import Artefacts
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.outbox import Outbox
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.system.errors import BackendError, LonghaulError, RunCancelled, refusal, remedy
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import load_settings

if TYPE_CHECKING:
    from longhaul.orchestrator.live.exporter import Progress
    from longhaul.orchestrator.live.run_export import LiveElsewhere

_REPORT_EVERY_S = 1.0
_RUNNING = ("executing", "long-running")


@dataclass(frozen=True, slots=True)
class Order:
    """A run for a worker: the artefacts of its guest, by name and hash, and the topic of its progress reports.

    `streamed` if its samples are exported to Prometheus; `begin_ms` is its time there, if one was allocated.
    """

    key: str
    claim: Claim
    artefacts: Mapping[str, str]
    topic: str
    streamed: bool = False
    begin_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """The result of an order: `kept` with the files and the document of a kept run, `failed` with a document, `lacking` with hashes, or `cancelled`."""

    status: str
    worker: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    document: RunDocument | None = None
    log: bytes | None = None
    lacking: tuple[str, ...] = ()


class _Bench:
    """The environment in which this process runs runs."""

    def __init__(self) -> None:
        self.settings = load_settings()
        self.artefacts = Artefacts(self.settings.cache, AGENT)
        # It lasts as long as the process; the next one removes the files of a killed process.
        self.staging = Staging(self.settings.home).__enter__()
        atexit.register(self.staging.__exit__, None, None, None)
        self._backends: dict[tuple[str, str], Backend] = {}
        self.report: Callable[[Mapping[str, Any]], None] = lambda message: None
        self.live = self._open_live()

    def _open_live(self) -> LiveElsewhere | None:
        """Samples go from here if this machine can reach Prometheus."""
        if self.settings.prometheus is None:
            return None
        from longhaul.orchestrator.live.run_export import LiveElsewhere

        live = LiveElsewhere(self.settings, self._report)
        atexit.register(live.exporter.close)
        return live

    def _report(self, progress: Progress) -> None:
        """Report to the dispatcher, which writes it into the database."""
        self.report({"exporter": self.settings.origin, "progress": asdict(progress)})

    def backend(self, name: str, artefacts: Mapping[str, str]) -> Backend:
        """A backend that uses exactly these files."""
        settings = self.settings
        if artefacts:
            folder = self.artefacts.lay_out(artefacts)
            settings = replace(settings, cache=folder, agent=folder / "agent")
        return self._backends.setdefault((name, str(settings.cache)), open_backend(name, settings))


@cache
def bench() -> _Bench:
    """The bench of this process, set up on first use."""
    return _Bench()


def run_order(order: Order) -> Parcel:
    """Run it; every fault of the run is returned as a document, so that an exception is a fault of the cluster."""
    worker = get_worker()
    run = Run.from_json(order.claim.run)
    try:
        lacking = bench().artefacts.lacking(order.artefacts)
        if lacking:
            return Parcel("lacking", worker.address, lacking=tuple(lacking))
        return _run_order(order, run, worker)
    except RunCancelled:
        return Parcel("cancelled", worker.address)
    except LonghaulError as error:
        return Parcel("failed", worker.address, document=failed_document(run, order.claim.run_id, error))
    except OSError as error:
        what = f"{refusal(error)} on {worker.address}"
        fault = BackendError("running", f"run {order.claim.run_id}", what, remedy(error))
        return Parcel("failed", worker.address, document=failed_document(run, order.claim.run_id, fault))


def _run_order(order: Order, run: Run, worker: Worker) -> Parcel:
    claim = order.claim
    outbox = Outbox(bench().settings)
    report_progress = _progress_reporter(order, worker)
    report_progress(0)
    try:
        with _exporting(order, worker) as live:
            runner = Runner(bench().backend(run.backend, order.artefacts), outbox, live=live)
            document = runner.run(run, claim.spec, bench().staging, report_progress)
    except RunCancelled:
        raise
    except LonghaulError as error:
        failed = failed_document(run, claim.run_id, error)
        return Parcel("failed", worker.address, document=failed, log=outbox.last_log)
    # A rerun may get another id: that is its result.
    if claim.rerun_of is None and document["run"] != claim.run_id:
        what = f"its programs on {worker.address} are not those it was queued with: its id is now {document['run']}"
        raise BackendError("running", claim.run_id, what, "submit the experiment again")
    return Parcel("kept", worker.address, files=outbox.files, document=document)


def _exporting(order: Order, worker: Worker) -> AbstractContextManager[LiveElsewhere | None]:
    live = bench().live
    if live is None or not order.streamed:
        return nullcontext()
    bench().report = partial(worker.log_event, order.topic)
    return live.expecting(order.claim.run_id, order.begin_ms)


def _progress_reporter(order: Order, worker: Worker) -> Callable[[int], None]:
    """Reports the progress of the run about once a second, and raises RunCancelled when it is no longer wanted."""
    reported_at = -_REPORT_EVERY_S
    claim = order.claim

    def report_progress(virtual_ns: int) -> None:
        nonlocal reported_at
        task = worker.state.tasks.get(order.key)
        if task is None or task.state not in _RUNNING or worker.status.name != "running":
            raise RunCancelled("running", f"run {claim.run_id}", "it is no longer wanted")
        now = time.monotonic()
        if now - reported_at >= _REPORT_EVERY_S:
            reported_at = now
            worker.log_event(order.topic, {"key": order.key, "worker": worker.address, "virtual_s": virtual_ns / 1e9})

    return report_progress


async def receive(contents: Mapping[str, bytes]) -> None:
    """Store artefacts in the cache."""
    for sha256, content in contents.items():
        bench().artefacts.receive(sha256, content)


def fail_at_once(dask_scheduler: Scheduler) -> int:
    """Called on the scheduler: a task lost with its worker is reported to the dispatcher, which counts attempts, and not retried here."""
    dask_scheduler.allowed_failures = 0
    return dask_scheduler.allowed_failures
