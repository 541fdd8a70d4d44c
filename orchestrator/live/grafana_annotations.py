"""Annotates the start, end and scheduled changes of a run in Grafana, through POST /api/annotations.

    run --tell--> marks that wait --(a thread)--> Grafana      taken | not now: tried again, a few times | refused: dropped

No run waits for it or fails by it: a mark is put into a list; one that Grafana does not take within a few tries is dropped,
with one line in the log of a service. The dashboards' own marks come from Prometheus, and do not need this.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from html import escape
from typing import Any

import httpx

from longhaul.orchestrator.live.grafana_links import run_on_service
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.changes import run_marks
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Grafana

_LOG = logging.getLogger("longhaul.grafana")

_PAUSES_S = (0.5, 1.0, 2.0, 4.0)
_ANSWER_S = 3.0
# At the end of a process, for all waiting marks.
_LAST_S = 2.0
_AGAIN = (408, 429, 500, 502, 503, 504)


@dataclass(frozen=True, slots=True)
class Mark:
    """One annotation: without a dashboard, found by its tags."""

    time_ms: int
    text: str
    tags: tuple[str, ...]

    def as_json(self) -> dict[str, Any]:
        """The body for Grafana's API."""
        return {"time": self.time_ms, "tags": list(self.tags), "text": self.text}


def start_of(run: Run, run_id: str, begin_ms: int, service: str = "") -> Mark:
    """The run's start."""
    return Mark(begin_ms, f"{_named(run, run_id, service)} starts", _tags(run, run_id, "start"))


def end_of(run: Run, run_id: str, begin_ms: int, end_ms: int, status: str, service: str = "") -> list[Mark]:
    """The changes until the run's end, and the end."""
    marks = [
        Mark(at_ms, f"{_named(run, run_id, service)}: {escape(one.text)}", _tags(run, run_id, "change"))
        for one in run_marks(run)
        if (at_ms := begin_ms + one.at_us // 1000) <= end_ms
    ]
    text = f"{_named(run, run_id, service)} ends: {status}"
    return [*marks, Mark(end_ms, text, (*_tags(run, run_id, "end"), f"status:{status}"))]


def _named(run: Run, run_id: str, service: str) -> str:
    """The run's title; Grafana shows a text as HTML."""
    title = escape(run.title)
    return f'<a href="{escape(run_on_service(service, run_id))}">{title}</a>' if service else title


def _tags(run: Run, run_id: str, kind: str) -> tuple[str, ...]:
    return ("longhaul", kind, f"run:{run_id}", f"experiment:{run.experiment}", f"backend:{run.backend}")


class Teller:
    """Sends marks to one Grafana in order, by a thread that exists while any wait."""

    def __init__(self, grafana: Grafana, pauses_s: Sequence[float] = _PAUSES_S) -> None:
        self._grafana = grafana
        self._pauses_s = pauses_s
        self._waiting: list[Mark] = []
        self._changed = threading.Condition()
        self._closed_s: float | None = None
        self._thread: threading.Thread | None = None

    def tell(self, marks: Sequence[Mark]) -> None:
        """Queue marks; returns at once."""
        with self._changed:
            self._waiting += marks
            if self._thread is None and self._waiting:
                self._thread = threading.Thread(target=self._tell_all, name="annotations", daemon=True)
                self._thread.start()

    def close(self) -> None:
        """Drop the marks that Grafana does not take at once."""
        with self._changed:
            self._closed_s = time.monotonic()
            self._changed.notify_all()
            thread = self._thread
        if thread is not None:
            thread.join(_LAST_S)

    def _tell_all(self) -> None:
        headers = {"Authorization": f"Bearer {self._grafana.token}"}
        with httpx.Client(headers=headers, timeout=_ANSWER_S, trust_env=False) as http:
            while True:
                with self._changed:
                    if not self._waiting:
                        self._thread = None
                        return
                    mark = self._waiting[0]
                why = self._post(http, mark)
                if why:
                    _LOG.info("annotating in Grafana at %s: %s; dropped: %s", self._grafana.url, why, mark.text)
                with self._changed:
                    self._waiting.pop(0)

    def _post(self, http: httpx.Client, mark: Mark) -> str:
        """Why Grafana did not take it; empty if it did."""
        url = f"{self._grafana.url}/api/annotations"
        why = ""
        for pause_s in (*self._pauses_s, None):
            try:
                answer = http.post(url, json=mark.as_json())
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                why = " ".join(str(error).split()) or type(error).__name__
            else:
                if answer.is_success:
                    return ""
                why = f"it responded {answer.status_code}"
                if answer.status_code not in _AGAIN:
                    return why
            if pause_s is None or self._over(pause_s):
                break
        return why

    def _over(self, pause_s: float) -> bool:
        """Pause; returns whether there is no time for another try."""
        with self._changed:
            self._changed.wait_for(lambda: self._closed_s is not None, pause_s)
        return self._closed_s is not None
