"""The status of a prediction in a lab: which of its runs are kept, what they show so far, and the next ones to submit.

The question is the key. Its rounds follow from it and from what the runs of earlier rounds show, so nothing but runs is stored: every caller
with the same question sees the same answer, and kept runs are not run again.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from longhaul.orchestrator.analysis.prediction.observation import Observation, observe
from longhaul.orchestrator.analysis.prediction.question import Question
from longhaul.orchestrator.analysis.prediction.table import Answer, Walked, as_document, walk
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.database.statuses import KEPT, LIVE
from longhaul.orchestrator.execution.evaluation import run_and_trace
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import BackendError, LonghaulError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

# Observations that stay in memory, so that a question that is asked again and again reads no trace twice.
_MOST_REMEMBERED = 400


@dataclass(frozen=True, slots=True)
class Waiting:
    """An experiment whose runs are not all kept, and how many of them wait or are running."""

    experiment: Experiment
    runs: int
    kept: int
    live: int


class Predictions:
    """Looks up predictions of one lab, and submits their runs."""

    def __init__(self, settings: Settings, store: Store, desk: Desk) -> None:
        self._settings, self._store, self._desk = settings, store, desk
        self._remembered: dict[str, Observation] = {}
        self._remembering = threading.Lock()

    def look(self, question: Question, within: float) -> dict[str, Any]:
        """The document of a prediction, as far as its runs are kept."""
        walked, waiting = self._walk(question, within)
        return self._document(walked, waiting)

    def submit(self, question: Question, within: float, owner: str) -> dict[str, Any]:
        """The same, with the runs of the next round submitted, unless they wait already."""
        walked, waiting = self._walk(question, within)
        asked = {"predicts": question.as_document()}
        for one in waiting:
            if one.kept + one.live < one.runs:
                self._desk.queue_internal(one.experiment, asked, owner)
        return self._document(
            walked, [Waiting(one.experiment, one.runs, one.kept, one.runs - one.kept) for one in waiting]
        )

    def _document(self, walked: Walked, waiting: Sequence[Waiting]) -> dict[str, Any]:
        live = sum(one.live for one in waiting)
        status = "done" if not waiting else "running" if live else "not run"
        return as_document(walked) | {"status": status, "waiting": sum(one.runs - one.kept for one in waiting)}

    def _walk(self, question: Question, within: float) -> tuple[Walked, list[Waiting]]:
        backend = open_backend("sandbox", self._settings)
        waiting: list[Waiting] = []

        def answers(experiments: Sequence[Experiment]) -> list[Answer]:
            return [self._answer(one, backend, waiting) for one in experiments]

        return walk(question, answers, within), waiting

    def _answer(self, experiment: Experiment, backend: Backend, waiting: list[Waiting]) -> Answer:
        ids = [run_id(run, backend.identity(run)) for run in compile_plan(experiment).runs]
        known = self._store.catalog.statuses(ids)
        statuses = [known.get(key, "") for key in ids]
        if "failed" in statuses:
            return self._failure(ids[statuses.index("failed")])
        if not all(status in KEPT for status in statuses):
            live, kept = (sum(status in some for status in statuses) for some in (LIVE, KEPT))
            waiting.append(Waiting(experiment, len(ids), kept, live))
            return None
        return [self._observation(key) for key in ids]

    def _failure(self, key: str) -> LonghaulError:
        document = self._store.catalog.documents([key])[key]
        error = document["error"]
        return BackendError(error["attempting"], error["subject"], error["what"], error["hint"])

    def _observation(self, key: str) -> Observation:
        with self._remembering:
            if (known := self._remembered.get(key)) is not None:
                return known
        document = self._store.get(key)
        found = observe(*run_and_trace(document, self._store), key, document.get("cpu_s", 0.0))
        with self._remembering:
            while len(self._remembered) >= _MOST_REMEMBERED:
                self._remembered.pop(next(iter(self._remembered)))
            self._remembered[key] = found
        return found
