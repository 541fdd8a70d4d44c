"""The runs of one candidate, round by round: each round is an experiment that asks for what the rounds before did not decide.

    shorter runs of several seeds --> steady? --no--> longer ones ... --> a whole transfer, if that is affordable
                                        `-yes--> close enough? --no--> longer ones
    then, beside one flow of CUBIC: how much that flow loses

A round is a generator's step: it yields an experiment and is sent the observations of its runs. So the same rounds are made by a process
that runs them, and by a service that looks which of them its run queue has finished. Nothing but the question and the observations decides.
With a steady state it also yields the outcome so far, which stands if no more runs are made.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Mapping, Sequence
from typing import Any

from longhaul.orchestrator.analysis.prediction.completion import Completion, extrapolate, whole
from longhaul.orchestrator.analysis.prediction.horizons import epochs_needed, guess, period_s, settling_epochs
from longhaul.orchestrator.analysis.prediction.observation import OTHER, STREAM, Observation
from longhaul.orchestrator.analysis.prediction.question import USUAL_WITHIN, Question
from longhaul.orchestrator.analysis.prediction.steady import FILLED_EPOCHS, FILLED_EPOCHS_BY_CHANCE, Steady, find_steady
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import guest_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.spec.congestion_controls import find_control
from longhaul.orchestrator.spec.load import parse_experiment
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, parse_duration, parse_share

Written = dict[str, Any]
Step = Generator["Round", Sequence[Observation], "Outcome"]

SEEDS, WHOLE_SEEDS = 2, 4
# More runs are not worth it where they could not make the interval this much smaller, or take more than this share of the transfer's time.
_WORTH, _MOST_SHARE = 0.7, 0.08
_MOST_ROUNDS = 6
# Processor seconds for the rounds of a candidate together, and for one round of whole transfers, on the machine of plan/cost.py.
BUDGET_S = 150.0
_MOST_FACTOR, _LEAST_FACTOR, _UNKNOWN_FACTOR, _TREND_FACTOR = 4.0, 1.4, 2.5, 2.0
# The steady part of the next runs is at least this share of that of the longest.
_LEAST_PART, _SPARE = 0.5, 1.2
# A transfer that is not much longer than the runs would be is run as a whole.
_WHOLE_SHARE = 0.6
_WHOLE_SPARE = 1.3
_HARM_BUDGET_S = 6.0
_BY_CHANCE = ("loss", "reverse_loss", "burst", "jitter", "reorder", "corrupt")
_LEAST_SAMPLE_US, _MOST_SAMPLE_US = 2_000, 20_000


@dataclass(frozen=True, slots=True)
class Candidate:
    """A congestion control and a number of streams."""

    control: str
    streams: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the rounds of a candidate found. `how` is steady, whole or undecided; a candidate that is undecided has a rate at most."""

    candidate: Candidate
    how: str
    why: str
    completion: Completion | None
    steady: Steady | None
    rate_byte_s: float
    inflight_packets: int
    runs: tuple[str, ...]
    cpu_s: float
    virtual_s: float
    # What the runs of the rounds have transferred.
    sent_bytes: float


@dataclass(frozen=True, slots=True)
class Round:
    """An experiment to run, and the outcome if it is not run; None if nothing is known without it."""

    experiment: Experiment
    so_far: Outcome | None = None


def transfer_experiment(
    question: Question, candidate: Candidate, length_s: float, seeds: int, *, first_seed: int = 1, beside: bool = False
) -> Experiment:
    """The experiment of a round: streams without a size, so that the start-up and the steady state are those of any size."""
    flows = _streams(candidate)
    if beside:
        flows.append({"name": OTHER, "cc": "cubic"})
    written: Written = {
        "experiment": "predict",
        "about": "A round of a prediction: the start-up and the steady state of a transfer.",
        "path": dict(question.path),
        "flows": flows,
        "duration": _duration(length_s),
        "repeats": seeds,
        "seed": first_seed,
        "sample": _sample(question.path),
    }
    return parse_experiment(written, "predict")


def real_experiment(question: Question, candidate: Candidate, length_s: float) -> Experiment:
    """The same streams on a real path, whose losses and queue are its own."""
    kept = ("bandwidth", "rtt", "one_way", "mtu")
    written: Written = {
        "experiment": "predict-sample",
        "about": "A sample of a predicted transfer, on the real path.",
        "path": {name: value for name, value in question.path.items() if name in kept},
        "flows": _streams(candidate),
        "duration": _duration(length_s),
    }
    return parse_experiment(written, "predict-sample")


def _streams(candidate: Candidate) -> list[Written]:
    count = {"count": candidate.streams} if candidate.streams > 1 else {}
    return [{"name": STREAM, "cc": candidate.control, **count}]


def _duration(length_s: float) -> str:
    return format_duration(math.ceil(length_s * 10) * 100_000)


def _random(path: Mapping[str, Any]) -> bool:
    """Whether the path loses or reorders packets by chance: then no loss is like the one before."""
    return any(path.get(name) for name in _BY_CHANCE)


def _sample(path: Mapping[str, Any]) -> str:
    """Often enough that no recovery, which takes a round trip or more, is missed."""
    one_way = path.get("one_way")
    ways = [path["rtt"]] if "rtt" in path else [one_way["forward"], one_way["reverse"]] if one_way else []
    try:
        rtt_us = sum(map(parse_duration, ways))
    except ValueError:
        # The experiment will be refused, with the reason.
        rtt_us = 0
    return format_duration(min(_MOST_SAMPLE_US, max(_LEAST_SAMPLE_US, rtt_us // 4)))


def first_run(experiment: Experiment) -> Run:
    """The first run of an experiment."""
    return compile_plan(experiment, repeats=1).runs[0]


def predict_candidate(
    question: Question, candidate: Candidate, wanted: float = USUAL_WITHIN, budget_s: float = BUDGET_S
) -> Step:
    """The rounds of one candidate."""
    control = find_control(candidate.control)
    run = first_run(transfer_experiment(question, candidate, 1.0, 1))
    loss = parse_share(question.path.get("loss") or 0)
    guessed = guess(run, candidate.control, candidate.streams, SEEDS, loss, question.size_bytes)
    length_s, time_s, last = guessed.first_s, guessed.whole_s, False
    spent = _Spent()
    steady: Steady | None = None
    so_far: Outcome | None = None
    observed: list[Observation] = []
    for number in range(_MOST_ROUNDS):
        if spent.virtual_s + SEEDS * length_s >= _WHOLE_SHARE * time_s:
            break
        # The runs of earlier rounds stay evidence, so each round has seeds of its own.
        affordable_s = _affordable_s(question, candidate, length_s, budget_s - spent.estimate_s, steady)
        if affordable_s is None:
            break
        experiment = transfer_experiment(question, candidate, affordable_s, SEEDS, first_seed=1 + number * SEEDS)
        found = yield Round(experiment, so_far)
        spent.add(found, SEEDS * guest_estimate_s(first_run(experiment)))
        observed += found
        steady = find_steady(
            observed,
            loss_based=control.loss_based,
            random_losses=_random(question.path),
            period_s=period_s(candidate.control),
            settling=settling_epochs(candidate.control),
        )
        if steady.rate_byte_s > 0:
            time_s = steady.begin_s + max(0.0, question.size_bytes - steady.begun_bytes) / steady.rate_byte_s
        if steady.why_not:
            length_s = _longer_s(steady, candidate, question.path)
            continue
        time = extrapolate(steady, question.size_bytes, observed[0].rtt_s, observed[0].payload_byte_s)
        so_far = spent.outcome(candidate, "steady", "", time, steady, observed)
        reachable = max(wanted, time.half_width * time.certain_share / _WORTH)
        if time.half_width <= reachable or last:
            return so_far
        factor = min(_MOST_FACTOR, max(_LEAST_FACTOR, time.factor_for(reachable)))
        length_s = steady.begin_s + (factor - 1) * steady.length_s / SEEDS
        # The last try takes the rest of its share of the transfer's time.
        most_s = (_MOST_SHARE * time_s - spent.virtual_s) / SEEDS
        last = length_s > most_s
        length_s = min(length_s, most_s)
        if length_s < steady.begin_s + steady.batch_s:
            return so_far
    if so_far is not None and steady is not None and not steady.why_not:
        return so_far
    return (yield from _whole_or_best(question, candidate, steady, observed, time_s, spent, budget_s))


def _whole_or_best(
    question: Question, candidate: Candidate, steady: Steady | None, observed: Sequence[Observation], time_s: float, spent: _Spent,
    budget_s: float,
) -> Step:  # fmt: skip
    """Whole transfers if they are affordable; else what the rounds have shown, without an interval if it was no steady state."""
    why = "the transfer is as short as the runs that would predict it" if steady is None else steady.why_not
    length_s = (
        _WHOLE_SPARE * time_s + 20 * first_run(transfer_experiment(question, candidate, 1.0, 1)).meaning.rtt_us / 1e6
    )
    for _ in range(_MOST_ROUNDS):
        experiment = transfer_experiment(question, candidate, length_s, WHOLE_SEEDS)
        if not _affordable(question, candidate, length_s, budget_s, WHOLE_SEEDS):
            break
        observed = yield Round(experiment)
        spent.add(observed, 0.0)
        times_s = [one.completion_s(question.size_bytes) for one in observed]
        known_s = [one for one in times_s if one is not None]
        if len(known_s) == len(times_s):
            found = whole(known_s, observed[0].rtt_s, question.size_bytes / observed[0].payload_byte_s)
            return spent.outcome(candidate, "whole", why or "more runs would take as long", found, steady, observed)
        share = min(float(one.total[-1]) for one in observed) / question.size_bytes
        length_s *= min(_MOST_FACTOR, max(1.2, 1.2 / max(share, 0.01)))
    return spent.outcome(candidate, "undecided", why, None, steady, observed)


def _longer_s(steady: Steady, candidate: Candidate, path: Mapping[str, Any]) -> float:
    """The length of the next runs where there is no steady state yet."""
    length_s, part_s, streams = steady.longest_s, steady.longest_s - steady.begin_s, candidate.streams
    if steady.filled and steady.settled and not steady.trend and steady.epochs:
        # Losses are rare: those that are missing take about as long as those that were seen.
        needed = FILLED_EPOCHS_BY_CHANCE if _random(path) else FILLED_EPOCHS * streams
        longer_s = (_SPARE * needed / steady.epochs - 1) * steady.length_s / SEEDS
        return steady.begin_s + min(_MOST_FACTOR * part_s, max(_LEAST_PART * part_s, longer_s))
    if steady.epochs_in_a_run < 1:
        return length_s * _UNKNOWN_FACTOR
    factor = epochs_needed(streams, SEEDS, settling_epochs(candidate.control), steady.epochs) / steady.epochs_in_a_run
    return length_s * min(
        _MOST_FACTOR, max(factor, _LEAST_FACTOR if steady.settled and not steady.trend else _TREND_FACTOR)
    )


def _affordable_s(
    question: Question, candidate: Candidate, length_s: float, budget_s: float, steady: Steady | None
) -> float | None:
    """This length, or a shorter one that the budget allows and that has some steady part; None if there is none."""
    least_s = 1.0 if steady is None else steady.begin_s + max(1.0, _LEAST_PART * (steady.longest_s - steady.begin_s))
    while not _affordable(question, candidate, length_s, budget_s):
        length_s *= 0.75
        if length_s <= least_s:
            return None
    return length_s


def _affordable(question: Question, candidate: Candidate, length_s: float, budget_s: float, seeds: int = SEEDS) -> bool:
    return seeds * guest_estimate_s(first_run(transfer_experiment(question, candidate, length_s, seeds))) <= budget_s


def beside_other(question: Question, candidate: Candidate, length_s: float) -> Experiment:
    """The candidate beside one flow of CUBIC, as long as is affordable."""
    while True:
        experiment = transfer_experiment(question, candidate, length_s, 2, beside=True)
        if length_s < 5.0 or 2 * guest_estimate_s(first_run(experiment)) <= _HARM_BUDGET_S:
            return experiment
        length_s *= 0.75


class _Spent:
    """The runs of the rounds, and what they took."""

    def __init__(self) -> None:
        self._runs: list[str] = []
        self._cpu_s = self._bytes = 0.0
        self.virtual_s = self.estimate_s = 0.0

    def add(self, observed: Sequence[Observation], estimate_s: float) -> None:
        self._runs += [one.run for one in observed]
        self._cpu_s += sum(one.cpu_s for one in observed)
        self.virtual_s += sum(one.length_s for one in observed)
        self.estimate_s += estimate_s
        self._bytes += sum(float(one.total[-1]) for one in observed)

    def outcome(
        self, candidate: Candidate, how: str, why: str, completion: Completion | None, steady: Steady | None,
        observed: Sequence[Observation],
    ) -> Outcome:  # fmt: skip
        rate = steady.rate_byte_s if steady is not None else 0.0
        if how == "whole" and observed:
            rate = max(float(one.total[-1]) / one.length_s for one in observed)
        inflight = max((one.inflight_packets for one in observed), default=0)
        return Outcome(
            candidate,
            how,
            why,
            completion,
            steady,
            rate,
            inflight,
            tuple(self._runs),
            self._cpu_s,
            self.virtual_s,
            self._bytes,
        )
