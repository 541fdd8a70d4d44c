"""The answer of a prediction: a row for each candidate, from rounds that are all answered, or as far as they are.

`walk` drives the rounds of all candidates side by side, so that their runs share the processors, and then the runs beside another flow.
Its `answer` gives the observations of experiments, an error of one, or None for one that has not been run yet: then that candidate waits.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any

from longhaul.orchestrator.analysis.prediction.host_settings import settings_for
from longhaul.orchestrator.analysis.prediction.observation import Observation
from longhaul.orchestrator.analysis.prediction.question import USUAL_WITHIN, Question
from longhaul.orchestrator.analysis.prediction.rounds import (
    BUDGET_S,
    Candidate,
    Outcome,
    Round,
    Step,
    beside_other,
    first_run,
    predict_candidate,
    transfer_experiment,
)
from longhaul.orchestrator.spec.load import plain_data
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import LonghaulError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

Answer = Sequence[Observation] | LonghaulError | None
Answers = Callable[[Sequence[Experiment]], list[Answer]]

_REFERENCE = Candidate("cubic", 1)
_LEAST_BESIDE_S, _LEAST_BESIDE_RTTS = 10.0, 60
# A candidate that is slower than the fastest beyond both intervals needs none closer than this.
_CLEARLY_SLOWER = 0.5


@dataclass(slots=True)
class Walked:
    """The outcomes, errors and harms so far; `waiting` are experiments that have to be run for more."""

    question: Question
    outcomes: dict[Candidate, Outcome] = field(default_factory=dict)
    faults: dict[Candidate, LonghaulError] = field(default_factory=dict)
    others_byte_s: dict[Candidate, float] = field(default_factory=dict)
    waiting: list[Experiment] = field(default_factory=list)
    cpu_s: float = 0.0
    runs: int = 0

    @property
    def complete(self) -> bool:
        return not self.waiting


def walk(question: Question, answers: Answers, wanted: float = USUAL_WITHIN, budget_s: float = BUDGET_S) -> Walked:
    """Every round that is answered."""
    walked = Walked(question)
    steps = {
        Candidate(control, streams): predict_candidate(question, Candidate(control, streams), wanted, budget_s)
        for control in question.controls
        for streams in question.streams
    }
    asked: dict[Candidate, Round] = {}
    for candidate, step in steps.items():
        _advance(walked, asked, candidate, step, None)
    while asked:
        _drop_slower(walked, asked)
        now = dict(asked)
        asked.clear()
        found_all = answers([one.experiment for one in now.values()])
        for (candidate, one), found in zip(now.items(), found_all, strict=True):
            if found is None:
                walked.waiting.append(one.experiment)
            elif isinstance(found, LonghaulError):
                walked.faults[candidate] = found
            else:
                _count(walked, found)
                _advance(walked, asked, candidate, steps[candidate], found)
    if walked.complete:
        _look_beside(walked, answers)
    return walked


def _advance(
    walked: Walked,
    asked: dict[Candidate, Round],
    candidate: Candidate,
    step: Step,
    found: Sequence[Observation] | None,
) -> None:
    try:
        asked[candidate] = next(step) if found is None else step.send(found)
    except StopIteration as ended:
        walked.outcomes[candidate] = ended.value
    except LonghaulError as error:
        walked.faults[candidate] = error


def _drop_slower(walked: Walked, asked: dict[Candidate, Round]) -> None:
    """No more rounds for candidates that are clearly slower than the fastest so far: their intervals decide."""
    known = {candidate: one.so_far.completion for candidate, one in asked.items() if one.so_far is not None}
    times = [*known.values(), *(one.completion for one in walked.outcomes.values())]
    fastest_s = min((one.high_s for one in times if one is not None), default=0.0)
    for candidate, time in known.items():
        so_far = asked[candidate].so_far
        if time is not None and so_far is not None and time.low_s > fastest_s and time.half_width <= _CLEARLY_SLOWER:
            walked.outcomes[candidate] = so_far
            del asked[candidate]


def _look_beside(walked: Walked, answers: Answers) -> None:
    """Runs of every candidate beside one flow of CUBIC, and of one flow of CUBIC beside it, which is the measure of them all."""
    question = walked.question
    if not walked.outcomes:
        return
    rtt_s = first_run(transfer_experiment(question, _REFERENCE, 1.0, 1)).meaning.rtt_us / 1e6
    decided = [one for one in walked.outcomes.values() if one.steady is not None]
    longest_s = max(
        [one.steady.length_s / one.steady.runs + one.steady.begin_s for one in decided if one.steady] or [0.0]
    )
    length_s = max(longest_s, _LEAST_BESIDE_S, _LEAST_BESIDE_RTTS * rtt_s)
    candidates = list(dict.fromkeys([_REFERENCE, *walked.outcomes]))
    experiments = [beside_other(question, candidate, length_s) for candidate in candidates]
    for candidate, experiment, found in zip(candidates, experiments, answers(experiments), strict=True):
        if found is None:
            walked.waiting.append(experiment)
        elif not isinstance(found, LonghaulError):
            _count(walked, found)
            walked.others_byte_s[candidate] = sum(one.other_byte_s(one.length_s / 2) for one in found) / len(found)


def _count(walked: Walked, found: Sequence[Observation]) -> None:
    walked.runs += len(found)
    walked.cpu_s += sum(one.cpu_s for one in found)


def as_document(walked: Walked) -> dict[str, Any]:
    """The document of a prediction, the fastest candidate first."""
    question = walked.question
    run = first_run(transfer_experiment(question, _REFERENCE, 1.0, 1))
    payload_bps = run.meaning.bandwidth_bps * run.meaning.mss_bytes / run.meaning.frame_bytes
    rows = [_row(walked, one, run.meaning.mtu) for one in walked.outcomes.values()]
    rows.sort(key=lambda row: (row["seconds"] is None, row["seconds"] or 0.0))
    decided = [row for row in rows if row["seconds"] is not None]
    return {
        **question.as_document(),
        "status": "done" if walked.complete else "running",
        "payload_bps": payload_bps,
        "least_s": question.size_bytes * 8 / payload_bps,
        "rows": rows,
        "faults": [
            {"cc": candidate.control, "streams": candidate.streams, "error": error.as_dict()}
            for candidate, error in walked.faults.items()
        ],
        "fastest": [
            {"cc": row["cc"], "streams": row["streams"]} for row in decided if row["low_s"] <= decided[0]["high_s"]
        ],
        "runs": walked.runs,
        "cpu_s": walked.cpu_s,
    }


def _row(walked: Walked, one: Outcome, mtu: int) -> dict[str, Any]:
    question, candidate, found = walked.question, one.candidate, one.completion
    settings = settings_for(candidate.control, candidate.streams, one.inflight_packets, mtu, question.size_bytes)
    steady = one.steady
    return {
        "cc": candidate.control,
        "streams": candidate.streams,
        "how": one.how,
        "why": one.why,
        "seconds": found and found.seconds,
        "low_s": found and found.low_s,
        "high_s": found and found.high_s,
        "rate_bps": one.rate_byte_s * 8,
        "startup_s": steady and steady.begin_s,
        "loss_epochs": steady and steady.epochs,
        "fills_line": steady is not None and steady.filled,
        "harm": _harm(walked, candidate),
        "buffer_bytes": settings.buffer_bytes,
        "sysctls": settings.sysctls,
        "commands": list(settings.commands),
        "experiment": plain_data(transfer_experiment(question, candidate, _length_s(one), 1)),
        "runs": list(one.runs),
        "cpu_s": one.cpu_s,
        "virtual_s": one.virtual_s,
    }


def _length_s(one: Outcome) -> float:
    return 60.0 if one.steady is None else one.steady.begin_s + one.steady.length_s / one.steady.runs


def _harm(walked: Walked, candidate: Candidate) -> dict[str, float] | None:
    """How much one flow of CUBIC loses beside the transfer, compared with beside another flow of CUBIC."""
    beside, reference = walked.others_byte_s.get(candidate), walked.others_byte_s.get(_REFERENCE)
    if beside is None or not reference:
        return None
    return {"share": 1 - beside / reference, "other_bps": beside * 8, "other_beside_cubic_bps": reference * 8}
