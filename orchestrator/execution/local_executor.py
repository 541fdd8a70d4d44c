"""The default executor: as many runs at a time on this machine as it has slots.

An executor gets claimed runs and reports their outcomes; it never touches the queue. A run that needs the machine for itself,
because it runs in real time, starts when no other run is active, and no other starts until it ends.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, Self

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.work import Claim
from longhaul.orchestrator.database.workers import Worker
from longhaul.orchestrator.execution.evaluation import rerun_verdict
from longhaul.orchestrator.execution.kept_answers import answer_from_store
from longhaul.orchestrator.execution.pipeline import opened_live
from longhaul.orchestrator.execution.runner import Runner, cancelled_document, failed_document
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument, RunEnd
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import (
    BackendError,
    HostBusy,
    LonghaulError,
    NotFound,
    ResultsError,
    RunCancelled,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

if TYPE_CHECKING:
    from longhaul.orchestrator.live.run_export import Live

# A run on hosts measures nothing on this machine.
_SHAREABLE = ("sandbox", "programs", "hosts")
# Leased hosts are tried again after this time.
_HOSTS_PAUSE_S = 3.0


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a claimed run: kept, or a document with its error, or to be returned to the queue."""

    claim: Claim
    status: str
    document: RunDocument | None = None
    why: str = ""
    # Whether it counts as an attempt: their number is limited.
    counted: bool = True


class Executor(Protocol):
    """Runs claimed runs, somewhere."""

    @property
    def needs(self) -> tuple[str, ...]:
        """Which kinds of run it can run now."""
        ...

    def room(self, needs: str) -> bool:
        """Whether a run of this kind would start now."""
        ...

    def start(self, claim: Claim) -> None:
        """Begin; the outcome comes later."""
        ...

    def cancel(self, run_id: str) -> None:
        """End a run that is no longer wanted."""
        ...

    def running(self) -> Mapping[str, tuple[int, float]]:
        """Active runs: id -> (fence, virtual seconds reached)."""
        ...

    def root_host(self) -> str:
        """The name of the machine on which the next run that needs root would start."""
        ...

    def unplaced(self) -> Mapping[str, str]:
        """Runs that no connected worker can run: id -> why."""
        ...

    def workers(self) -> list[Worker]:
        """The workers that run them."""
        ...

    def outcomes(self, wait_s: float) -> list[Outcome]:
        """Outcomes since the last call; waits so long for the first."""
        ...


@dataclass(slots=True)
class _Slot:
    claim: Claim
    virtual_s: float = 0.0
    cancelled: threading.Event = field(default_factory=threading.Event)
    # The user cancelled it; otherwise it is run again.
    unwanted: bool = False

    def report(self, virtual_ns: int) -> None:
        if self.cancelled.is_set():
            raise RunCancelled("running", f"run {self.claim.run_id}", "cancelled")
        self.virtual_s = virtual_ns / 1e9


class LocalSlots:
    """Threads of this process, a guest each."""

    needs = ("sandbox", "programs", "alone", "root", "hosts")

    def __init__(self, settings: Settings, store: Store, slots: int) -> None:
        self._settings = settings
        self._store = store
        self._most = slots
        self._slots: dict[str, _Slot] = {}
        self._ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._threads = ThreadPoolExecutor(slots, "slot")
        self._staging = Staging(store.home)
        self._open = contextlib.ExitStack()
        self._live: Live | None = None
        self._hosts_after_s = 0.0

    def __enter__(self) -> Self:
        self._open.enter_context(self._staging)
        self._live = self._open.enter_context(opened_live(self._settings, self._store))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for slot in list(self._slots.values()):
            slot.cancelled.set()
        self._threads.shutdown()
        self._open.close()

    def room(self, needs: str) -> bool:
        if needs == "hosts" and (time.monotonic() < self._hosts_after_s or self._has_hosts()):
            return False
        if not self._slots:
            return True
        all_shareable = all(slot.claim.needs in _SHAREABLE for slot in self._slots.values())
        return needs in _SHAREABLE and all_shareable and len(self._slots) < self._most

    def _has_hosts(self) -> bool:
        return any(slot.claim.needs == "hosts" for slot in self._slots.values())

    def start(self, claim: Claim) -> None:
        self._slots[claim.run_id] = slot = _Slot(claim)
        self._threads.submit(self._run_slot, slot)

    def cancel(self, run_id: str) -> None:
        if slot := self._slots.get(run_id):
            slot.unwanted = True
            slot.cancelled.set()

    def running(self) -> Mapping[str, tuple[int, float]]:
        return {key: (slot.claim.fence, slot.virtual_s) for key, slot in list(self._slots.items())}

    def root_host(self) -> str:
        return socket.gethostname()

    def unplaced(self) -> Mapping[str, str]:
        return {}

    def workers(self) -> list[Worker]:
        needs = [kind for kind in self.needs if kind != "root" or os.geteuid() == 0]
        return [Worker(socket.gethostname(), socket.gethostname(), self._most, needs)]

    def outcomes(self, wait_s: float) -> list[Outcome]:
        found = arrived(self._ended, wait_s)
        for outcome in found:
            self._slots.pop(outcome.claim.run_id, None)
            if outcome.claim.needs == "hosts" and outcome.status == "queued":
                self._hosts_after_s = time.monotonic() + _HOSTS_PAUSE_S
        return found

    def _run_slot(self, slot: _Slot) -> None:
        outcome = run_claim(
            slot.claim, self._settings, self._store, self._staging, slot.report, self._live, lambda: slot.unwanted
        )
        self._ended.put(outcome)


def arrived(ended: queue.SimpleQueue[Outcome], wait_s: float) -> list[Outcome]:
    """All available outcomes, or the first that arrives within that time."""
    found: list[Outcome] = []
    with contextlib.suppress(queue.Empty):
        while True:
            found.append(ended.get(timeout=0 if found else wait_s))
    return found


def run_claim(
    claim: Claim,
    settings: Settings,
    store: Store,
    staging: Staging,
    report: Any,
    live: Live | None = None,
    unwanted: Callable[[], bool] = lambda: False,
) -> Outcome:
    """Run a claimed run here and keep it; every error gives an outcome. Of an `unwanted` one the simulated part is kept."""
    run = Run.from_json(claim.run)
    try:
        keeps_partial = unwanted if claim.rerun_of is None else lambda: False
        runner = Runner(open_backend(run.backend, settings), store, live=live, keeps_partial=keeps_partial)
        if claim.rerun_of is not None:
            return rerun_outcome(claim, store, runner.run(run, claim.spec, staging, report))
        known = answer_from_store(claim.run_id, store, run.capture)
        document = known or runner.run(run, claim.spec, staging, report)
        if document["run"] != claim.run_id:
            what = f"its programs are not those it was queued with: its id is now {document['run']}"
            raise BackendError("running", claim.run_id, what, "submit the experiment again")
        if known is None:
            from longhaul.orchestrator.analysis.kept_series import make_overview

            make_overview(store, claim.run_id)
        return Outcome(claim, document["status"], document)
    except RunCancelled as error:
        part = error.reached_s
        return Outcome(claim, "cancelled", None if part is None else cancelled_document(run, claim.run_id, part))
    except NotFound as error:
        return Outcome(claim, "failed", failed_document(run, claim.run_id, error))
    except HostBusy as error:
        return Outcome(claim, "queued", why=str(error), counted=False)
    except ResultsError as error:
        # The database is unreachable, which is not the run's fault; if it was kept, its folder is found again.
        return Outcome(claim, "queued", failed_document(run, claim.run_id, error), why=str(error))
    except LonghaulError as error:
        return Outcome(claim, "failed", failed_document(run, claim.run_id, error))
    except Exception as error:  # one faulty run must not end the dispatcher of the others
        fault = BackendError("running", f"run {claim.run_id}", f"{type(error).__name__}: {error}", "please report this")
        return Outcome(claim, "failed", failed_document(run, claim.run_id, fault))


def rerun_outcome(claim: Claim, store: Store, again: RunDocument) -> Outcome:
    """The outcome of a rerun, compared with the kept run."""
    verdict = rerun_verdict(store.get(str(claim.rerun_of)), again)
    status: RunEnd = "done" if verdict["identical"] else "missed"
    return Outcome(claim, status, again | {"run": claim.run_id, "status": status, "rerun": verdict})
