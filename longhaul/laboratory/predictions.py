"""How long a transfer will take on a path, with which settings: a prediction from runs in virtual time."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Protocol

from longhaul.laboratory.experiments import execute, open_pipeline
from longhaul.orchestrator.analysis.prediction.completion import whole
from longhaul.orchestrator.analysis.prediction.observation import Observation, observe
from longhaul.orchestrator.analysis.prediction.question import USUAL_STREAMS, USUAL_WITHIN, Question, ask
from longhaul.orchestrator.analysis.prediction.rounds import (
    WHOLE_SEEDS,
    Candidate,
    real_experiment,
    transfer_experiment,
)
from longhaul.orchestrator.analysis.prediction.table import Answer, as_document, walk
from longhaul.orchestrator.execution.evaluation import run_and_trace
from longhaul.orchestrator.execution.pipeline import Watcher
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.host_policy import load_policy
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import BackendError, PlanError
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.units import format_rate, parse_rate
from longhaul.results.prediction import Prediction

# The length of a sample, and the share of what it transfers in the sandbox whose time is compared: the real path may be slower.
_SAMPLE_S, _SAMPLE_SHARE = 20.0, 0.5


class RoundWatcher(Protocol):
    """Opens the watcher of the runs of one round."""

    def __call__(self, runs: Sequence[Run]) -> AbstractContextManager[Watcher]: ...


def predict(
    size: str | int,
    path: str | os.PathLike[str] | Mapping[str, Any],
    *,
    streams: str | Sequence[int] = USUAL_STREAMS,
    cc: str | Sequence[str] = "all",
    within: float = USUAL_WITHIN,
    jobs: int | None = None,
    watcher: RoundWatcher | None = None,
) -> Prediction:
    """Predict the completion time of a transfer: predict("2 TB", "2 Gbit/s, 280 ms, loss 1e-5, buffer 20 ms", cc="bbr,cubic").

    `path` may also be a file of `longhaul hosts measure --json`, or its document. The arguments are those of `longhaul predict`.
    """
    question = ask(size, read_path_file(path), cc, streams)
    return Prediction(as_document(walk(question, Runs(jobs, watcher), within)))


def verify(
    prediction: Prediction, hosts: tuple[str, str], *, jobs: int | None = None, watcher: RoundWatcher | None = None
) -> dict[str, Any]:
    """Run a short transfer of the fastest candidate from one real host to another, predict the same one, and compare their times.

    The sample is what three runs of the predicted path transfer in some seconds. The host policy's rate of the sender limits both.
    """
    best = prediction.best
    if best is None:
        raise PlanError("verifying", "the prediction", "no candidate's time is known", "predict with other candidates")
    cap_bps = load_policy(load_settings()).host(hosts[0]).rate_bps
    path = dict(prediction["path"])
    path["bandwidth"] = format_rate(min(cap_bps, parse_rate(path["bandwidth"])))
    candidate = Candidate(best["cc"], best["streams"])
    question = Question(prediction["size_bytes"], path, (candidate.control,), (candidate.streams,))
    there = real_experiment(question, candidate, _SAMPLE_S)
    plan = compile_plan(there, backend="hosts", hosts=hosts)
    (here,) = Runs(jobs, watcher)([transfer_experiment(question, candidate, _SAMPLE_S, WHOLE_SEEDS)])
    if not isinstance(here, Sequence):
        raise here or BackendError("verifying", "the prediction", "its sample was not run")
    size_bytes = round(min(float(one.total[-1]) for one in here) * _SAMPLE_SHARE)
    predicted = whole([time_s for one in here if (time_s := one.completion_s(size_bytes)) is not None], here[0].rtt_s)
    with open_pipeline("hosts", cache=False) as pipeline:
        (documents,) = execute(pipeline, [plan], 1)
        found = _answer(documents, pipeline.store)
    if not isinstance(found, Sequence):
        raise found or BackendError("verifying", "the prediction", "the sample was not run on the hosts")
    measured_s = found[0].completion_s(size_bytes)
    return {
        "hosts": list(hosts),
        "cc": candidate.control,
        "streams": candidate.streams,
        "size_bytes": size_bytes,
        "predicted_s": predicted.seconds,
        "low_s": predicted.low_s,
        "high_s": predicted.high_s,
        # None: the real path had not transferred it within the run, which then had so many bytes.
        "measured_s": measured_s,
        "measured_bytes": round(float(found[0].total[-1])),
        "off": None if measured_s is None else measured_s / predicted.seconds - 1,
        "run": found[0].run,
    }


def read_path_file(path: str | os.PathLike[str] | Mapping[str, Any]) -> str | Mapping[str, Any]:
    """The document in a file of `hosts measure --json`; a line or a mapping as it is. PlanError."""
    if isinstance(path, Mapping) or (isinstance(path, str) and not path.endswith(".json")):
        return path
    name = os.fspath(path)
    try:
        with open(name, encoding="utf-8") as file:
            document = json.load(file)
    except (OSError, ValueError) as error:
        what = getattr(error, "strerror", None) or f"it is not JSON ({error})"
        raise PlanError(
            "reading the path", name, what, "give the output of `longhaul hosts measure FROM TO --json`"
        ) from None
    if not isinstance(document, dict):
        what = "it is not a JSON object"
        raise PlanError("reading the path", name, what, "give the output of `longhaul hosts measure FROM TO --json`")
    return document


class Runs:
    """Answers rounds by running them here; kept runs are not run again."""

    def __init__(self, jobs: int | None, watcher: RoundWatcher | None) -> None:
        self._jobs, self._watcher = jobs, watcher

    def __call__(self, experiments: Sequence[Experiment]) -> list[Answer]:
        plans = [compile_plan(one) for one in experiments]
        with ExitStack() as stack:
            watching = (
                Watcher()
                if self._watcher is None
                else stack.enter_context(self._watcher([run for plan in plans for run in plan.runs]))
            )
            pipeline = stack.enter_context(open_pipeline("sandbox", watcher=watching))
            answered = execute(pipeline, plans, self._jobs)
            return [_answer(documents, pipeline.store) for documents in answered]


def _answer(documents: Sequence[RunDocument], store: Store) -> Answer:
    for document in documents:
        if document["status"] == "failed":
            error = document["error"]
            return BackendError(error["attempting"], error["subject"], error["what"], error["hint"])
    return [observation(document, store) for document in documents]


def observation(document: RunDocument, store: Store) -> Observation:
    """What a kept run shows."""
    return observe(*run_and_trace(document, store), document["run"], document.get("cpu_s", 0.0))


__all__ = ["Question", "Runs", "observation", "predict", "read_path_file", "verify"]
