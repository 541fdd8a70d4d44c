"""Bisects: which commit, patch or change of a module made an experiment behave otherwise.

A bisect is kept in <home>/bisects/<id>.json after every step, so that the same call continues one that was ended.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from longhaul.laboratory.bisection_sources import StepSource, source_of
from longhaul.laboratory.experiments import Changes, ExperimentLike, load
from longhaul.laboratory.searches import Runner, WatcherOf, flows_of
from longhaul.orchestrator.analysis.intervals import mean_interval
from longhaul.orchestrator.analysis.objective import Objective, read_objective
from longhaul.orchestrator.kernels.histories import History, Verdict
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.load import plain_data
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.errors import BackendError, LonghaulError, PlanError
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings, load_settings
from longhaul.results.bisection import Bisection

_ATTEMPT = "bisecting"
# A mean of fewer runs has no useful interval.
_FEWEST = 3
# A step whose interval holds the threshold is run again with more seeds, so many times at most.
_MOST_DOUBLINGS = 2


@dataclass(frozen=True, slots=True)
class Step:
    """A step that was judged; `runs` are the ids of its runs."""

    step: str
    what: str
    verdict: Verdict
    values: tuple[float, ...] = ()
    runs: tuple[str, ...] = ()
    note: str = ""


def bisect(
    experiment: ExperimentLike,
    *,
    tree: str | os.PathLike[str] | None = None,
    module: str | os.PathLike[str] | None = None,
    good: str = "",
    bad: str = "",
    patches: Sequence[str | os.PathLike[str]] = (),
    base: str = "6.12",
    config: Sequence[str] = (),
    measure: str | None = None,
    flow: str | None = None,
    set: Changes = (),
    seed: int | None = None,
    repeats: int | None = None,
    jobs: int | None = None,
    fresh: bool = False,
    watcher: WatcherOf | None = None,
    report: Callable[[str], None] = lambda line: None,
) -> Bisection:
    """Find the first commit of a kernel (`tree`) or a module (`module`), or the first of `patches`, that makes an experiment behave otherwise.

    Without `measure`, a step is good if the experiment meets its `expect`. With one, as in "goodput(app)", it is good if the mean of all
    runs is on the side of the good end; ends that do not differ beyond chance are refused. The arguments are those of `longhaul bisect`.
    """
    settings = load_settings()
    loaded = load(experiment, set=set)
    given = {name: value for name, value in (("seed", seed), ("repeats", repeats)) if value is not None}
    if measure is not None and repeats is None and loaded.repeats < _FEWEST:
        given["repeats"] = _FEWEST
    loaded = load(loaded, set=given) if given else loaded
    objective = (
        read_objective(f"{measure}({flow})" if flow and measure else measure, flows_of(loaded)) if measure else None
    )
    if objective is None and not loaded.expect:
        hint = "give it one, or name a measure, as in --measure 'goodput(app)'"
        raise PlanError(_ATTEMPT, loaded.experiment, "the experiment has no `expect`", hint)
    if flow and not measure:
        raise PlanError(_ATTEMPT, loaded.experiment, "a flow is named without a measure", "name a measure too")
    source = source_of(settings, loaded, tree, module, (good, bad), [Path(one) for one in patches], base, config)
    with source.held(settings):
        state = _State(settings, source, loaded, objective, fresh=fresh)
        judge = _Judge(loaded, source, objective, Runner(jobs, watcher))
        return _search(source, state, judge, objective, loaded, report)


def _search(
    source: StepSource,
    state: _State,
    judge: _Judge,
    objective: Objective | None,
    loaded: Experiment,
    report: Callable[[str], None],
) -> Bisection:
    history = source.history
    for end in (history.good, history.bad):
        if end not in state.steps:
            report(f"the {'good' if end == history.good else 'bad'} end: {history.describe(end)}")
            state.add(judge.measure_end(end))
    threshold = _threshold(history, state, objective)
    ends = [fmean(state.steps[end].values) for end in (history.good, history.bad)] if threshold is not None else []
    judge.threshold, judge.falls = threshold, ends != sorted(ends)
    while (step := history.middle(state.verdicts())) is not None:
        left = len(history.suspects(state.verdicts()))
        more = left.bit_length() - 1
        report(f"{left} suspects, about {more} step{'' if more == 1 else 's'}: {history.describe(step)}")
        judged = judge.measure_step(step)
        report(f"  {judged.verdict}{': ' + judged.note if judged.note else ''}")
        state.add(judged)
    suspects = history.suspects(state.verdicts())
    found = suspects[0] if len(suspects) == 1 else None
    before = history.parent(found) if found else None
    if before is not None and before not in state.steps:
        # The other side of a merge.
        state.add(judge.measure_step(before))
    return Bisection(
        {
            "experiment": loaded.experiment,
            "measure": objective.text if objective else None,
            "threshold": threshold,
            "found": state.document(found),
            "before": state.document(before),
            "suspects": [{"step": step, "what": history.describe(step)} for step in suspects],
            "steps": [asdict(step) for step in state.steps.values()],
            "runs": judge.runner.count,
        }
    )


def _threshold(history: History, state: _State, objective: Objective | None) -> float | None:
    """The middle between the ends' means; PlanError if the ends do not differ."""
    good, bad = state.steps[history.good], state.steps[history.bad]
    for end in (good, bad):
        if end.verdict == "skipped":
            state.forget(end.step)
            raise BackendError(_ATTEMPT, end.what, f"this end cannot be judged: {end.note}", "name another end")
    if objective is None:
        if good.verdict == bad.verdict:
            word = "meet" if good.verdict == "good" else "miss"
            raise PlanError(
                _ATTEMPT,
                f"{good.what} to {bad.what}",
                f"the two ends do not differ: both {word} `expect`",
                "name other ends",
            )
        if good.verdict == "bad":
            raise PlanError(
                _ATTEMPT,
                f"{good.what} to {bad.what}",
                "the good end misses `expect` and the bad end meets it",
                "exchange them",
            )
        return None
    differences = [b - a for a, b in zip(good.values, bad.values, strict=True)]
    mean, low, high = mean_interval(_array(differences))
    if low <= 0 <= high:
        what = (
            f"the two ends do not differ: {objective.text} is {fmean(good.values):.6g} and {fmean(bad.values):.6g}, "
            f"a difference of {mean:.3g} with a 95 % interval from {low:.3g} to {high:.3g}"
        )
        raise PlanError(_ATTEMPT, f"{good.what} to {bad.what}", what, "name other ends, or use more repeats")
    return (fmean(good.values) + fmean(bad.values)) / 2


def _array(values: Sequence[float]) -> Any:
    import numpy as np

    return np.array(values, np.float64)


class _Judge:
    """Runs the experiment at a step, and judges it."""

    def __init__(self, experiment: Experiment, source: StepSource, objective: Objective | None, runner: Runner) -> None:
        self._experiment, self._source, self._objective, self.runner = experiment, source, objective, runner
        # With a measure: the middle between the ends, and whether the bad end is the smaller one.
        self.threshold: float | None = None
        self.falls = False

    def measure_end(self, step: str) -> Step:
        """An end; with a measure, its verdict is its name."""
        found = self._run(step, self._experiment.repeats)
        if self._objective is None or found.verdict == "skipped":
            return found
        return replace(found, verdict="good" if step == self._source.history.good else "bad")

    def measure_step(self, step: str) -> Step:
        """A step: by `expect`, or by the side of the threshold on which its mean is."""
        repeats = self._experiment.repeats
        found = self._run(step, repeats)
        if self.threshold is None or found.verdict == "skipped":
            return found
        for _ in range(_MOST_DOUBLINGS):
            if not self._is_near(found):
                break
            repeats *= 2
            found = self._run(step, repeats)
        mean = fmean(found.values)
        near = ", which its interval holds" if self._is_near(found) else ""
        note = f"{mean:.6g}, the threshold is {self.threshold:.6g}{near}"
        return replace(found, verdict="bad" if (mean > self.threshold) != self.falls else "good", note=note)

    def _is_near(self, step: Step) -> bool:
        _, low, high = mean_interval(_array(step.values))
        return self.threshold is not None and low <= self.threshold <= high

    def _run(self, step: str, repeats: int) -> Step:
        what = self._source.history.describe(step)
        with tempfile.TemporaryDirectory(prefix="longhaul-bisect-") as scratch:
            try:
                changes = self._source.changes(step, Path(scratch))
                experiment = load(self._experiment, set={**changes, "repeats": repeats})
                documents = self.runner(compile_plan(experiment))
            except LonghaulError as error:
                return Step(step, what, "skipped", note=str(error))
        return self._judged(step, what, documents)

    def _judged(self, step: str, what: str, documents: Sequence[RunDocument]) -> Step:
        runs = tuple(document["run"] for document in documents)
        failed = [document for document in documents if document["status"] == "failed"]
        if failed:
            return Step(step, what, "skipped", runs=runs, note=str(failed[0]["error"]))
        if self._objective is None:
            missed = any(document["status"] == "missed" for document in documents)
            return Step(step, what, "bad" if missed else "good", runs=runs)
        try:
            values = tuple(self._objective.value(document) for document in documents)
        except ValueError as error:
            return Step(step, what, "skipped", runs=runs, note=str(error))
        return Step(step, what, "good", values, runs)


class _State:
    """The steps that were judged, kept in a file."""

    def __init__(
        self,
        settings: Settings,
        source: StepSource,
        experiment: Experiment,
        objective: Objective | None,
        *,
        fresh: bool,
    ) -> None:
        request = [
            source.key,
            source.history.good,
            source.history.bad,
            plain_data(experiment),
            objective.text if objective else None,
        ]
        name = hashlib.sha256(json.dumps(request, sort_keys=True, default=str).encode()).hexdigest()[:20]
        self._file = settings.home / "bisects" / f"{name}.json"
        self.steps: dict[str, Step] = {}
        if not fresh and self._file.is_file():
            try:
                rows = json.loads(self._file.read_text())
            except (OSError, ValueError) as error:
                raise BackendError(
                    _ATTEMPT, str(self._file), "this file of an earlier try is damaged", "use --fresh"
                ) from error
            self.steps = {
                row["step"]: Step(**row | {"values": tuple(row["values"]), "runs": tuple(row["runs"])}) for row in rows
            }

    def add(self, step: Step) -> None:
        """Keep a step."""
        self.steps[step.step] = step
        self._write()

    def forget(self, step: str) -> None:
        """Judge a step again the next time."""
        del self.steps[step]
        self._write()

    def verdicts(self) -> dict[str, Verdict]:
        """The verdict of each step."""
        return {name: step.verdict for name, step in self.steps.items()}

    def document(self, name: str | None) -> dict[str, Any] | None:
        """A step for JSON."""
        return asdict(self.steps[name]) if name in self.steps else None

    def _write(self) -> None:
        new = self._file.with_suffix(".new")
        write_whole(new, json.dumps([asdict(step) for step in self.steps.values()], indent=1))
        new.replace(self._file)
