"""The connection to a Dask scheduler: renewed whenever it breaks, by its own thread.

    down --connect, prepare--> up: its workers are listed twice a second --the scheduler goes away--> down

A Dask client that reconnects by itself silently forgets its tasks; this one is discarded with its scheduler, and the user of
the link is notified once.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError
from typing import Any

from distributed import Client
from distributed.client import ClosedClientError
from distributed.comm.core import CommClosedError

from longhaul.orchestrator.execution.cluster.machines import ROOT, SLOT
from longhaul.orchestrator.execution.cluster.run_remote import fail_at_once
from longhaul.orchestrator.system.errors import BackendError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_LOG = logging.getLogger("longhaul.cluster")

# The errors of a broken connection within a call.
BROKEN = (OSError, CommClosedError, ClosedClientError, CancelledError)

_LOOK_S = 0.5
_ANSWER_S = 10.0
_LONGEST_PAUSE_S = 2.0


@dataclass(frozen=True, slots=True)
class Helper:
    """A connected worker, and its announced resources."""

    address: str
    host: str
    # The host name of its machine; a worker that Dask started itself does not report one.
    machine: str
    resources: Mapping[str, float]

    @property
    def slots(self) -> int:
        """Guests at a time."""
        return int(self.resources[SLOT])

    @property
    def is_root(self) -> bool:
        """Whether it can run on its host."""
        return ROOT in self.resources


class SchedulerLink:
    """Keeps a client of one scheduler, and a list of its workers."""

    def __init__(self, address: str, topic: str, heard: Callable[[Any], None], lost: Callable[[], None]) -> None:
        self._address = address
        self._topic = topic
        self._heard = heard
        self._lost = lost
        self._ended = threading.Event()
        self._broken = threading.Event()
        self._helpers: tuple[Helper, ...] = ()
        self._client: Client | None = None
        self._thread = threading.Thread(target=self._keep, name="scheduler-link", daemon=True)

    def open(self) -> None:
        """Begin; returns before there is a connection."""
        self._thread.start()

    def close(self) -> None:
        """End the connection."""
        self._ended.set()
        self._broken.set()
        self._thread.join()

    @property
    def client(self) -> Client | None:
        """The client, while there is a connection."""
        return self._client

    @property
    def helpers(self) -> tuple[Helper, ...]:
        """The connected workers that take runs."""
        return self._helpers

    def look_again(self) -> None:
        """Check the connection after a sign that it is lost; nothing more is sent until then."""
        self._client, self._helpers = None, ()
        self._broken.set()

    def _keep(self) -> None:
        pause_s = 0.0
        while not self._ended.wait(pause_s):
            self._broken.clear()
            try:
                with Client(self._address, timeout=_ANSWER_S, set_as_default=False, name="longhaul") as client:
                    pause_s = 0.0
                    self._prepare(client)
                    _LOG.info("connected to the scheduler %s", self._address)
                    self._follow(client)
            except (*BROKEN, BackendError) as error:
                if not pause_s:
                    _LOG.warning("the scheduler %s: %s; trying again until it responds", self._address, error)
                pause_s = min(_LONGEST_PAUSE_S, pause_s * 2 or 0.1)
            finally:
                self._client, self._helpers = None, ()
            self._lost()

    def _prepare(self, client: Client) -> None:
        client.subscribe_topic(self._topic, self._hear)
        try:
            allowed = client.run_on_scheduler(fail_at_once)
        except ImportError as error:
            hint = "start the scheduler from an installation of this version of Longhaul"
            raise BackendError(
                "setting up the scheduler", self._address, f"its Python reports: {error}", hint
            ) from error
        if allowed != 0:
            raise BackendError("setting up the scheduler", self._address, f"allowed-failures reads {allowed} and not 0")

    def _follow(self, client: Client) -> None:
        scheduler = None
        while client.status == "running":
            info = client.scheduler_info()
            if scheduler not in (None, info["id"]):
                return
            scheduler = info["id"]
            self._helpers = tuple(
                Helper(address, worker["host"], worker.get("longhaul", {}).get("machine", ""), worker["resources"])
                for address, worker in info["workers"].items()
                if SLOT in worker["resources"] and worker["status"] == "running"
            )
            self._client = client
            if self._broken.wait(_LOOK_S):
                return

    def _hear(self, event: tuple[float, Any]) -> None:
        self._heard(event[1])
