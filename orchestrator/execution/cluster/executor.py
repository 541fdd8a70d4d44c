"""The executor of a lab with more than one machine: claimed runs become tasks of a Dask cluster.

    start --> order --> task --> parcel: kept     --> the store here --> done | missed
                          ^         |--- failed   --> failed, with the worker's error
                          |         |--- lacking  --> the artefacts are sent to that worker,
                          '---------'                 and the run is ordered from it again
              worker lost, scheduler lost, the connection broken  --> queued: given back

Only those faults, which are independent of the run, return a run to the queue. A task is submitted once (`retries=0`) and the
scheduler does not retry lost tasks (`allowed-failures` 0), so that only the dispatcher counts attempts.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import os
import queue
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import field
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from distributed import Client, Future
from distributed.scheduler import KilledWorker

from longhaul.orchestrator.analysis.kept_series import make_overview
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.database.work import Claim
from longhaul.orchestrator.database.workers import Worker
from longhaul.orchestrator.execution.cluster.machines import ROOT, SLOT, programs_of
from longhaul.orchestrator.execution.cluster.run_remote import Order, Parcel, receive, run_order
from longhaul.orchestrator.execution.cluster.samples import ExportOfRuns
from longhaul.orchestrator.execution.cluster.scheduler_link import BROKEN, Helper, SchedulerLink
from longhaul.orchestrator.execution.kept_answers import answer_from_store
from longhaul.orchestrator.execution.local_executor import Outcome, arrived, rerun_outcome
from longhaul.orchestrator.execution.runner import failed_document
from longhaul.orchestrator.kernels.artefacts import hashes
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.guest_logs import receive_log
from longhaul.orchestrator.results.staging import Staging
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import (
    BackendError,
    GuestDied,
    LonghaulError,
    NotFound,
    ResultsError,
    WorkerLost,
    refusal,
)
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

# Orders and parcels handled at a time: a parcel is decompressed, written and recorded by these.
_HANDS = 4
# A parcel of a gigabyte arrives in this time.
_ANSWER_S = 120.0
# A cache that still lacks artefacts after so many transfers gets no more.
_MOST_SENT = 3


class _PeerGone(Exception):
    """The worker or the scheduler that a step needs is gone."""


@dataclass(slots=True)
class _Flight:
    """A claimed run on a worker."""

    claim: Claim
    files: Mapping[str, Path] = field(default_factory=dict)
    hashes: Mapping[str, str] = field(default_factory=dict)
    programs: str | None = None
    # Whether its samples are exported, and its time in Prometheus.
    streamed: tuple[bool, int | None] = (False, None)
    key: str = ""
    future: Future[Parcel] | None = None
    virtual_s: float = 0.0
    begun: bool = False
    over: bool = False
    sent: int = 0


class DaskCluster:
    """Runs at as many slots as the workers of one scheduler announce."""

    def __init__(self, settings: Settings, store: Store, address: str) -> None:
        self._settings = settings
        self._store = store
        self._staging = Staging(store.home)
        self._flights: dict[str, _Flight] = {}
        self._by_key: dict[str, _Flight] = {}
        self._ended: queue.SimpleQueue[Outcome] = queue.SimpleQueue()
        self._hands = ThreadPoolExecutor(_HANDS, "hand")
        self._life = os.urandom(4).hex()
        self._count = itertools.count()
        self._lock = threading.Lock()
        self._export = ExportOfRuns(settings, store)
        self._link = SchedulerLink(address, f"longhaul-{self._life}", self._heard, self._lost)

    def __enter__(self) -> Self:
        self._staging.__enter__()
        self._export.open()
        self._link.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        for run_id in list(self._flights):
            self.cancel(run_id)
        self._hands.shutdown()
        self._link.close()
        self._export.close()
        self._staging.__exit__(kind, value, trace)

    @property
    def needs(self) -> tuple[str, ...]:
        helpers = self._link.helpers
        kinds = ["sandbox", "programs"] if helpers else []
        to_themselves = _alone_on_machine(helpers)
        kinds += ["alone"] if to_themselves else []
        kinds += ["root"] if any(helper.is_root for helper in to_themselves) else []
        return tuple(kinds)

    def room(self, needs: str) -> bool:
        if needs not in self.needs:
            return False
        flights = [flight for flight in list(self._flights.values()) if not flight.over]
        stuck = self.unplaced()
        slots = sum(helper.slots for helper in self._link.helpers)
        # Enough more runs that workers do not wait for the dispatcher, and few enough to lose with a worker.
        if len(flights) - len(stuck) >= slots + math.ceil(slots / 4) + 3:
            return False
        if needs == "programs":
            return not stuck
        # One run at a time of those that need a machine of their own.
        return needs == "sandbox" or not any(flight.claim.needs == needs for flight in flights)

    def start(self, claim: Claim) -> None:
        self._flights[claim.run_id] = flight = _Flight(claim)
        self._hands.submit(self._guarded_step, flight, self._order)

    def cancel(self, run_id: str) -> None:
        if flight := self._flights.get(run_id):
            self._end(flight, Outcome(flight.claim, "cancelled"))

    def running(self) -> Mapping[str, tuple[int, float]]:
        return {key: (flight.claim.fence, flight.virtual_s) for key, flight in list(self._flights.items())}

    def root_host(self) -> str:
        with contextlib.suppress(_PeerGone):
            return self._idlest(ROOT).machine
        return ""

    def unplaced(self) -> Mapping[str, str]:
        announced = {name for helper in self._link.helpers for name in helper.resources}
        why = "no worker of the cluster has the programs of this machine that it was queued with (Mininet, iperf3)"
        return {
            key: why
            for key, flight in list(self._flights.items())
            if flight.future is not None and not flight.over and flight.programs and flight.programs not in announced
        }

    def workers(self) -> list[Worker]:
        alone = _alone_on_machine(self._link.helpers)
        return [
            Worker(
                helper.address,
                helper.machine or helper.host,
                helper.slots,
                ("sandbox", "programs", *(["alone"] if helper in alone else []), *([ROOT] if helper.is_root else [])),
            )
            for helper in self._link.helpers
        ]

    def outcomes(self, wait_s: float) -> list[Outcome]:
        found = arrived(self._ended, wait_s)
        for outcome in found:
            self._flights.pop(outcome.claim.run_id, None)
        return found

    def _guarded_step(self, flight: _Flight, step: Callable[[_Flight], None]) -> None:
        """One step of a flight; after any error, the flight continues or ends."""
        claim = flight.claim
        try:
            if not flight.over:
                step(flight)
        except LonghaulError as error:
            # An unreachable database is not the run's fault; if the run was kept, its folder is found again.
            again = isinstance(error, ResultsError) and not isinstance(error, NotFound)
            self._end(flight, Outcome(claim, "queued" if again else "failed", _document(claim, error), why=str(error)))
        except _PeerGone as error:
            self._lose(flight, str(error), counted=False)
        except BROKEN as error:
            self._link.look_again()
            self._lose(flight, f"the cluster did not respond ({type(error).__name__}: {error})", counted=False)
        except Exception as error:  # one faulty run must not end the dispatcher of the others
            what = f"{type(error).__name__}: {error}"
            fault = BackendError("running", f"run {claim.run_id}", what, "please report this")
            self._end(flight, Outcome(claim, "failed", _document(claim, fault)))

    def _order(self, flight: _Flight) -> None:
        claim = flight.claim
        run = Run.from_json(claim.run)
        backend = open_backend(run.backend, self._settings)
        known = None if claim.rerun_of else answer_from_store(claim.run_id, self._store, run.capture)
        if known is not None:
            self._end(flight, Outcome(claim, known["status"], known))
            return
        if run.capture is not None:
            what = "workers of a cluster send no packets"
            hint = "leave capture out, or capture with `longhaul run` or a service without a cluster"
            raise BackendError("running", claim.run_id, what, hint)
        with _reading(claim):
            flight.files = backend.artefacts(run)
            flight.hashes = hashes(flight.files)
        flight.programs = programs_of(backend, run)
        if claim.rerun_of is None:
            flight.streamed = self._export.ordered(run, claim.run_id)
        self._submit(flight)

    def _submit(self, flight: _Flight, worker: str | None = None) -> None:
        client, claim = self._client(), flight.claim
        resources: dict[str, float] = {SLOT: 1}
        if claim.needs in ("alone", ROOT):
            helper = self._idlest(claim.needs)
            worker = helper.address
            resources = {SLOT: helper.slots, **({ROOT: 1} if claim.needs == ROOT else {})}
        if flight.programs:
            resources[flight.programs] = 1
        key = f"run-{claim.run_id}-{self._life}-{next(self._count)}"
        flight.key = key
        self._by_key[key] = flight
        future = client.submit(
            run_order,
            Order(key, claim, flight.hashes, f"longhaul-{self._life}", *flight.streamed),
            key=key,
            resources=resources,
            workers=None if worker is None else [worker],
            retries=0,
            pure=False,
        )
        with self._lock:
            flight.future = future
        future.add_done_callback(partial(self._done, flight))
        if flight.over:
            future.release()
        elif self._link.client is not client:
            raise _PeerGone("the scheduler is gone")

    def _client(self) -> Client:
        if (client := self._link.client) is None:
            raise _PeerGone("the scheduler is gone")
        return client

    def _idlest(self, needs: str) -> Helper:
        """A worker alone on its machine; its other runs end before this one begins."""
        helpers = [one for one in _alone_on_machine(self._link.helpers) if needs != ROOT or one.is_root]
        if not helpers:
            raise _PeerGone("its worker is gone")
        return max(helpers, key=lambda helper: (helper.slots, helper.address))

    def _done(self, flight: _Flight, future: Future[Parcel]) -> None:
        # After the end no thread is left to handle it, and no caller to ask for it.
        with contextlib.suppress(RuntimeError):
            self._hands.submit(self._guarded_step, flight, partial(self._take, future=future))

    def _take(self, flight: _Flight, future: Future[Parcel]) -> None:
        if flight.future is not future:
            return
        if future.status == "finished":
            self._unpack(flight, future.result(timeout=_ANSWER_S))
        elif future.status == "error":
            error = future.exception(timeout=_ANSWER_S)
            if not isinstance(error, KilledWorker):
                raise BackendError(
                    "running", f"run {flight.claim.run_id}", f"{type(error).__name__}: {error}", "see its worker's log"
                )
            self._lose(flight, f"its worker {error.last_worker.address} is gone", counted=flight.begun)
        else:
            self._link.look_again()
            self._lose(flight, "the scheduler is gone", counted=False)

    def _unpack(self, flight: _Flight, parcel: Parcel) -> None:
        claim = flight.claim
        if parcel.status == "kept":
            assert parcel.document is not None
            document = self._store.receive(parcel.document["run"], parcel.files, self._staging)
            make_overview(self._store, document["run"])
            if claim.rerun_of is not None:
                self._end(flight, rerun_outcome(claim, self._store, parcel.document))
            else:
                self._end(flight, Outcome(claim, document["status"], document))
                self._export.received(document)
        elif parcel.status == "failed":
            assert parcel.document is not None
            document = parcel.document.copy()
            if document["error"]["error"] == GuestDied.__name__:
                self._store.count_death()
            if parcel.log is not None and (where := receive_log(self._store.home, claim.run_id, parcel.log)):
                error = document["error"]
                document["error"] = error | {"hint": "; ".join(filter(None, [error["hint"], where]))}
            self._end(flight, Outcome(claim, "failed", document))
        elif parcel.status == "lacking":
            self._send(flight, parcel)
        else:
            self._lose(flight, f"its worker {parcel.worker} ended", counted=False)

    def _send(self, flight: _Flight, parcel: Parcel) -> None:
        client = self._client()
        flight.sent += 1
        if flight.sent > _MOST_SENT:
            what = f"it still lacks artefacts that were sent {_MOST_SENT} times"
            raise BackendError("sending artefacts to", parcel.worker, what, "check whether its LONGHAUL_CACHE is full")
        names = {sha256: name for name, sha256 in flight.hashes.items()}
        with _reading(flight.claim):
            contents = {sha256: flight.files[names[sha256]].read_bytes() for sha256 in parcel.lacking}
        try:
            client.run(receive, contents, workers=[parcel.worker])
        except LonghaulError:
            raise
        except Exception as error:  # Dask raises many errors for a missing worker
            raise _PeerGone(f"its worker {parcel.worker} is gone") from error
        self._submit(flight, parcel.worker)

    def _lose(self, flight: _Flight, why: str, *, counted: bool) -> None:
        claim = flight.claim
        error = WorkerLost(
            "running", f"run {claim.run_id}", why, "submit the experiment again once the cluster runs again"
        )
        self._end(flight, Outcome(claim, "queued", _document(claim, error), why=why, counted=counted))

    def _end(self, flight: _Flight, outcome: Outcome) -> None:
        with self._lock:
            if flight.over:
                return
            flight.over = True
        self._by_key.pop(flight.key, None)
        if flight.future is not None:
            # The scheduler forgets an unneeded task, and its worker ends the guest.
            flight.future.release()
        self._ended.put(outcome)

    def _heard(self, message: Mapping[str, Any]) -> None:
        if "exporter" in message:
            self._export.heard(message)
        elif flight := self._by_key.get(message["key"]):
            flight.begun, flight.virtual_s = True, message["virtual_s"]

    def _lost(self) -> None:
        self._by_key.clear()
        for flight in list(self._flights.values()):
            if flight.future is not None:
                self._lose(flight, "the scheduler is gone", counted=False)


@contextlib.contextmanager
def _reading(claim: Claim) -> Iterator[None]:
    """A file that is missing here is not a fault of the cluster."""
    try:
        yield
    except OSError as error:
        raise BackendError(
            "reading the artefacts of", f"run {claim.run_id}", refusal(error), "see `longhaul doctor`"
        ) from error


def _document(claim: Claim, error: LonghaulError) -> RunDocument:
    return failed_document(Run.from_json(claim.run), claim.run_id, error)


def _alone_on_machine(helpers: tuple[Helper, ...]) -> list[Helper]:
    """Workers that are alone on their machine."""
    on_host = Counter(helper.host for helper in helpers)
    return [helper for helper in helpers if on_host[helper.host] == 1]
