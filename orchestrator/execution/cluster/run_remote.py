"""What happens on a worker: one run, carried out and packed, or the list of what this worker lacks for it.

These functions are called by Dask, in a thread of a worker process each. A run asks ten times a second whether anybody still
wants it: a cancelled task, a dispatcher that is gone and a scheduler that is gone all end its guest at once.
"""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
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
from longhaul.orchestrator.system.errors import BackendError, LonghaulError, RunCancelled, remedy
from longhaul.orchestrator.system.installation import AGENT
from longhaul.orchestrator.system.settings import load_settings

if TYPE_CHECKING:
    from longhaul.orchestrator.live.exporter import Progress
    from longhaul.orchestrator.live.run_export import LiveElsewhere

_TELL_EVERY_S = 1.0
_RUNNING = ("executing", "long-running")


@dataclass(frozen=True, slots=True)
class Order:
    """A run for a worker: what its guest is made of, by name and hash, and where it tells how far it has come.

    `streamed` if its samples are wanted in Prometheus; `begin_ms` is its place there, if it was given one.
    """

    key: str
    claim: Claim
    artefacts: Mapping[str, str]
    topic: str
    streamed: bool = False
    begin_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Parcel:
    """What comes back: `kept` with the files and the document of a kept run, `failed` with a document, `lacking` with hashes, or `cancelled`."""

    status: str
    worker: str
    files: Mapping[str, bytes] = field(default_factory=dict)
    document: RunDocument | None = None
    log: bytes | None = None
    lacking: tuple[str, ...] = ()


class _Bench:
    """Where this process carries runs out."""

    def __init__(self) -> None:
        self.settings = load_settings()
        self.artefacts = Artefacts(self.settings.cache, AGENT)
        # It lasts as long as the process; what one that was killed has left there, the next one sweeps.
        self.staging = Staging(self.settings.home).__enter__()
        atexit.register(self.staging.__exit__, None, None, None)
        self._backends: dict[tuple[str, str], Backend] = {}
        self.told: Callable[[Mapping[str, Any]], None] = lambda message: None
        self.live = self._open_live()

    def _open_live(self) -> LiveElsewhere | None:
        """Where this machine has a way to Prometheus, samples go from here."""
        if self.settings.prometheus is None:
            return None
        from longhaul.orchestrator.live.run_export import LiveElsewhere

        live = LiveElsewhere(self.settings, self._tell)
        atexit.register(live.exporter.close)
        return live

    def _tell(self, progress: Progress) -> None:
        """The dispatcher writes it into the record."""
        self.told({"exporter": self.settings.origin, "progress": asdict(progress)})

    def backend(self, name: str, artefacts: Mapping[str, str]) -> Backend:
        """A backend that uses these files and no others."""
        settings = self.settings
        if artefacts:
            folder = self.artefacts.lay_out(artefacts)
            settings = replace(settings, cache=folder, agent=folder / "agent")
        return self._backends.setdefault((name, str(settings.cache)), open_backend(name, settings))


@cache
def bench() -> _Bench:
    """The one of this process, set up when it is first asked for."""
    return _Bench()


def carry(order: Order) -> Parcel:
    """Carry out a run; whatever is wrong with it comes back as a document, so that an exception is a fault of the cluster."""
    worker = get_worker()
    run = Run.from_json(order.claim.run)
    try:
        lacking = bench().artefacts.lacking(order.artefacts)
        if lacking:
            return Parcel("lacking", worker.address, lacking=tuple(lacking))
        return _carry(order, run, worker)
    except RunCancelled:
        return Parcel("cancelled", worker.address)
    except LonghaulError as error:
        return Parcel("failed", worker.address, document=failed_document(run, order.claim.run_id, error))
    except OSError as error:
        what = f"{f'{error.filename}: ' if error.filename else ''}{error.strerror or error} on {worker.address}"
        fault = BackendError("carrying out", f"run {order.claim.run_id}", what, remedy(error))
        return Parcel("failed", worker.address, document=failed_document(run, order.claim.run_id, fault))


def _carry(order: Order, run: Run, worker: Worker) -> Parcel:
    claim = order.claim
    outbox = Outbox(bench().settings)
    tell = _teller(order, worker)
    tell(0)
    try:
        with _beside(order, worker) as live:
            runner = Runner(bench().backend(run.backend, order.artefacts), outbox, live=live)
            document = runner.run(run, claim.spec, bench().staging, tell)
    except RunCancelled:
        raise
    except LonghaulError as error:
        failed = failed_document(run, claim.run_id, error)
        return Parcel("failed", worker.address, document=failed, log=outbox.last_log)
    # What a rerun comes out as is what it is for.
    if claim.rerun_of is None and document["run"] != claim.run_id:
        what = f"its programs on {worker.address} are not those it was queued with: it came out as {document['run']}"
        raise BackendError("running", claim.run_id, what, "submit the experiment again")
    return Parcel("kept", worker.address, files=outbox.files, document=document)


def _beside(order: Order, worker: Worker) -> AbstractContextManager[LiveElsewhere | None]:
    live = bench().live
    if live is None or not order.streamed:
        return nullcontext()
    bench().told = partial(worker.log_event, order.topic)
    return live.expecting(order.claim.run_id, order.begin_ms)


def _teller(order: Order, worker: Worker) -> Callable[[int], None]:
    """Tells about once a second how far the run has come, and raises RunCancelled when nobody wants it."""
    told_at = -_TELL_EVERY_S
    claim = order.claim

    def tell(virtual_ns: int) -> None:
        nonlocal told_at
        task = worker.state.tasks.get(order.key)
        if task is None or task.state not in _RUNNING or worker.status.name != "running":
            raise RunCancelled("running", f"run {claim.run_id}", "nobody wants it any more")
        now = time.monotonic()
        if now - told_at >= _TELL_EVERY_S:
            told_at = now
            worker.log_event(order.topic, {"key": order.key, "worker": worker.address, "virtual_s": virtual_ns / 1e9})

    return tell


async def receive(contents: Mapping[str, bytes]) -> None:
    """Take artefacts in."""
    for sha256, content in contents.items():
        bench().artefacts.receive(sha256, content)


def fail_at_once(dask_scheduler: Scheduler) -> int:
    """Called on the scheduler: what is lost with its worker is told to the dispatcher, which counts, and not tried again here."""
    dask_scheduler.allowed_failures = 0
    return dask_scheduler.allowed_failures
