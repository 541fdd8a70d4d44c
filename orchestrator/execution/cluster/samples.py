"""The dispatcher's side of the export of workers' runs: their times in Prometheus beforehand, and replays afterwards.

    a worker with LONGHAUL_PROMETHEUS    streams its runs itself, at the times that came with their orders
    a worker without                     leaves it to the dispatcher, which replays a run when it has arrived

One thread does all of it, so Prometheus never delays runs.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from longhaul.orchestrator.database.counters import Counts
from longhaul.orchestrator.database.prometheus_spans import Spans
from longhaul.orchestrator.live.replay import send
from longhaul.orchestrator.live.run_export import note, place, write_down
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import LonghaulError, NotFound, ServiceUnavailable
from longhaul.orchestrator.system.settings import Settings

_LOG = logging.getLogger("longhaul.cluster")

_AGAIN_S = 10.0


class ExportOfRuns:
    """The export of one dispatcher's runs."""

    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings = settings
        self._server = settings.prometheus
        self._store = store
        self._counts = Counts(store.database)
        self._todo: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name="export", daemon=True)

    def open(self) -> None:
        """Begin."""
        self._thread.start()

    def close(self) -> None:
        """Stop; `longhaul export` sends the runs that were not replayed."""
        self._ended.set()
        self._todo.put(None)
        self._thread.join()

    def ordered(self, run: Run, run_id: str) -> tuple[bool, int | None]:
        """Whether its samples are exported, and at which time; without a free time it is not streamed."""
        if self._server is None:
            return False, None
        try:
            return True, place(Spans(self._store.database), run, run_id, self._server)
        except LonghaulError as error:
            _LOG.warning("%s", error)
            return False, None

    def received(self, document: RunDocument) -> None:
        """A run has arrived, with its worker's report on its samples."""
        if self._server is None:
            return
        sent, run_id = document.get("prometheus"), document["run"]
        if sent:
            self._todo.put(partial(write_down, self._store, run_id, sent))
        if not sent or sent.get("why"):
            self._todo.put(partial(self._replay, run_id, time.time()))

    def heard(self, message: Mapping[str, Any]) -> None:
        """The counts that a worker's exporter reports."""
        self._todo.put(partial(self._counts.heard, message["exporter"], **message["progress"]))

    def _work(self) -> None:
        while (step := self._todo.get()) is not None:
            try:
                step()
            except ServiceUnavailable as error:
                _LOG.warning("%s; trying again", error)
                self._ended.wait(_AGAIN_S)
                self._todo.put(step)
            except NotFound:
                # Pruned or deleted since.
                continue
            except LonghaulError as error:
                _LOG.warning("%s", error)
            if self._ended.is_set():
                return

    def _replay(self, run_id: str, since_s: float) -> None:
        name = self._settings.origin
        self._counts.heard(name, since_s, 0, 0, 0)
        sent = send(self._store, self._store.get(run_id), self._server)
        note(self._store, run_id, sent)
        self._counts.heard(name, None, 0, sent["samples"], 0)
