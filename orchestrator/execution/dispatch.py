"""Queued runs go to an executor: local slots by default, a Dask cluster by address.

        the queue (database/work.py)  --claim-->  Dispatcher  --start-->  Executor (local_executor.py)
              ^                                      |
              '---- renew, release, end -------------'

A dispatcher has no state of its own: claims are leases in the database, and the executor keeps results under the run's hash.
If it is killed at any moment, another one returns its claimed runs to the queue and continues.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from importlib.metadata import version
from typing import TYPE_CHECKING

from longhaul.orchestrator.database.leases import Leases, root_slot
from longhaul.orchestrator.database.work import Claim, Work
from longhaul.orchestrator.database.workers import TELL_S, Workers
from longhaul.orchestrator.execution.local_executor import Executor, LocalSlots, Outcome
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, ResultsError
from longhaul.orchestrator.system.locks import locked
from longhaul.orchestrator.system.logs import log_as_json
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.orchestrator.system.supervise import Stop, when_asked_to_stop

if TYPE_CHECKING:
    from longhaul.orchestrator.execution.cluster.executor import DaskCluster

_LOG = logging.getLogger("longhaul.dispatch")

# How long a claim lasts unless its holder renews it; renewed every second.
_LEASE_S = 20.0
_RENEW_S = 1.0
_LOOK_S = 0.1
_ROOT_PAUSE_S = 5.0
_DELIVERER_S = 2.0
# A run without a suitable worker waits this long before its followers are notified.
_UNPLACED_S = 10.0
# How often a run that is lost with a worker is tried again.
_MOST_ATTEMPTS = 5


class Dispatcher:
    """Claims for one executor, until it is stopped."""

    def __init__(self, store: Store, settings: Settings, executor: Executor, name: str) -> None:
        self._work = Work(store.database)
        self._leases = Leases(store.database)
        self._settings = settings
        self._executor = executor
        self._name = name
        self._renewed_s = 0.0
        self._pending: list[Outcome] = []
        self._looked_s = 0.0
        self._unplaced: dict[str, float] = {}
        self._reported: set[str] = set()
        self._root = ""
        self._root_fence: int | None = None
        self._root_after_s = 0.0
        self._workers = Workers(store.database)
        self._workers_reported_s = -TELL_S

    def serve(self, stop: Stop) -> None:
        """Dispatch until stopped; wait for an unreachable database."""
        patience_s = 0.0
        recovered = False
        while not stop.is_set():
            try:
                if not recovered and (count := self._work.reclaim(self._name)):
                    _LOG.info("put back %d runs that an earlier dispatcher had claimed", count)
                recovered = True
                self._round()
                patience_s = 0.0
            except ResultsError as error:
                patience_s = min(2.0, patience_s * 2 or _LOOK_S)
                _LOG.warning("%s; trying again in %.1f s", error, patience_s)
                stop.wait(patience_s)
        self._give_back()

    def _round(self) -> None:
        self._pending += self._executor.outcomes(0 if self._pending else _LOOK_S)
        while self._pending:
            self._settle(self._pending[0])
            self._pending.pop(0)
        self._keep_claims()
        self._report_unplaced()
        self._report_workers()
        while (kind := self._startable()) and (claims := self._claim(kind)):
            for claim in claims:
                self._executor.start(claim)

    def _startable(self) -> tuple[str, ...]:
        kinds = (kind for kind in self._executor.needs if self._executor.room(kind))
        return tuple(kind for kind in kinds if kind != "root" or time.monotonic() > self._root_after_s)

    def _claim(self, kinds: tuple[str, ...]) -> list[Claim]:
        claims = self._work.claim(self._name, 1, lease_s=_LEASE_S, most_each=self._settings.most_running, needs=kinds)
        return [claim for claim in claims if self._has_root(claim)]

    def _has_root(self, claim: Claim) -> bool:
        """A machine has one slot for root, shared by all dispatchers; without it the run returns to the queue for a while."""
        if claim.needs != "root":
            return True
        self._root = root_slot(self._executor.root_host())
        self._root_fence = self._leases.take(self._root, self._name, _LEASE_S, f"run {claim.run_id}")
        if self._root_fence is None:
            why = {"why": "another dispatcher has root's slot"}
            self._work.release(claim.run_id, claim.fence, why, counted=False)
            self._root_after_s = time.monotonic() + _ROOT_PAUSE_S
        return self._root_fence is not None

    def _settle(self, outcome: Outcome) -> None:
        claim = outcome.claim
        if claim.needs == "root" and self._root_fence is not None:
            self._leases.give_back(self._root, self._name, self._root_fence)
        if outcome.status == "queued":
            self._try_again(outcome)
        elif outcome.status in ("failed", "cancelled") or claim.rerun_of is not None:
            self._work.end(claim.run_id, claim.fence, outcome.status, outcome.document)

    def _try_again(self, outcome: Outcome) -> None:
        claim = outcome.claim
        if claim.attempts < _MOST_ATTEMPTS or not outcome.counted:
            self._work.release(claim.run_id, claim.fence, {"why": outcome.why}, counted=outcome.counted)
        else:
            self._work.end(claim.run_id, claim.fence, "failed", outcome.document)

    def _keep_claims(self) -> None:
        running = self._executor.running()
        if not running:
            return
        cancelled = self._work.cancelled(self._name) & set(running)
        if time.monotonic() - self._renewed_s > _RENEW_S:
            lost, more = self._work.renew(self._name, running, _LEASE_S)
            cancelled |= lost | more
            if self._root_fence is not None:
                self._leases.renew(self._root, self._name, self._root_fence, _LEASE_S)
            self._renewed_s = time.monotonic()
        for run_id in cancelled:
            self._executor.cancel(run_id)

    def _report_workers(self) -> None:
        if time.monotonic() - self._workers_reported_s > TELL_S:
            self._workers.tell(self._name, self._executor.workers(), version("longhaul"))
            self._workers_reported_s = time.monotonic()

    def _report_unplaced(self) -> None:
        """Report once a run that it waits for a worker that does not exist, so that users see why."""
        if time.monotonic() - self._looked_s < _RENEW_S:
            return
        self._looked_s = time.monotonic()
        kinds = self._executor.needs
        why = f"no connected worker takes such runs; the workers take: {', '.join(kinds) or 'none'}"
        waiting = dict.fromkeys(self._work.unplaced(kinds), why) | dict(self._executor.unplaced())
        # A cluster that is starting gets a moment.
        self._unplaced = {run_id: self._unplaced.get(run_id, self._looked_s) for run_id in waiting}
        due = {key for key, since in self._unplaced.items() if self._looked_s - since > _UNPLACED_S} - self._reported
        if due:
            self._work.say_unplaced({run_id: waiting[run_id] for run_id in due})
            _LOG.warning("%d runs wait, the first is %s: %s", len(due), min(due), waiting[min(due)])
            self._reported |= due

    def _give_back(self) -> None:
        """After an orderly end no process has to wait for a lease to expire."""
        try:
            self._work.reclaim(self._name)
            self._workers.tell(self._name, [], "")
        except ResultsError as error:
            _LOG.warning("%s; the claims end with their leases", error)


def serve_dispatcher(settings: Settings, stop: Stop) -> None:
    """The dispatcher of one home; if another dispatcher has it, this one waits for that one's end or its own stop."""
    settings.home.mkdir(parents=True, exist_ok=True)
    store = Store(settings)
    with contextlib.ExitStack() as locks:
        if _has_home(settings, stop, locks):
            deliverer = threading.Thread(target=_deliver, args=[settings, store, stop], name="deliverer", daemon=True)
            deliverer.start()
            with _executor(settings, store) as executor:
                Dispatcher(store, settings, executor, settings.origin).serve(stop)
            # It stops within a moment, unless a database or a receiver holds it.
            deliverer.join(_DELIVERER_S)


def _deliver(settings: Settings, store: Store, stop: Stop) -> None:
    """Deliver messages about experiments, beside the runs."""
    # Their modules load while the first runs start.
    from longhaul.orchestrator.execution.notifications.deliverer import deliver

    deliver(settings, store, stop)


def _has_home(settings: Settings, stop: Stop, locks: contextlib.ExitStack) -> bool:
    """Whether the home's lock was taken before the stop. It is tried again and again: a blocking wait would not notice the stop."""
    warned = False
    while not stop.is_set():
        try:
            locks.enter_context(locked(settings.home / "dispatch.lock", wait=False))
            return True
        except BlockingIOError:
            if not warned:
                _LOG.warning("another dispatcher has %s; waiting for its end", settings.home)
            warned = True
            stop.wait(_LOOK_S)
    return False


def _executor(settings: Settings, store: Store) -> LocalSlots | DaskCluster:
    if not settings.dask:
        return LocalSlots(settings, store, settings.jobs)
    # Dask takes a second to load, which a lab on one machine never needs.
    from longhaul.orchestrator.execution.cluster.executor import DaskCluster

    return DaskCluster(settings, store, settings.dask)


def main() -> int:
    """A separate process next to the API: traces are decoded here, requests are served there."""
    log_as_json()
    stop = Stop()
    when_asked_to_stop(stop.set)
    try:
        serve_dispatcher(load_settings(), stop)
    except LonghaulError as error:
        _LOG.error("%s", error)
        return error.exit_code
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
