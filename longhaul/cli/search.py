"""What `longhaul tune` and `longhaul search` do at the command line: read the words, search, print, write files."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from longhaul.cli.output import EXIT_DONE, EXIT_MISSED
from longhaul.cli.verbs import carry_out
from longhaul.orchestrator.analysis.objective import read_claim, read_objective
from longhaul.orchestrator.analysis.search.breaking_point import Found, search
from longhaul.orchestrator.analysis.search.ranges import read_ranges
from longhaul.orchestrator.analysis.search.tuning import Knob, Tuned, read_knob, tune
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Document, Pipeline, opened_live
from longhaul.orchestrator.plan.compile import Plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.load import Experiment, load_experiment
from longhaul.orchestrator.spec.yaml_text import document_text
from longhaul.orchestrator.system.files import check_places, write_whole
from longhaul.orchestrator.system.settings import load_settings

# How many candidates a table shows, the best first.
_SHOWN = 20


def tune_experiment(
    name: str,
    changes: Sequence[str],
    params: Sequence[str],
    objective: str,
    *,
    sampler: str,
    trials: int,
    over: str,
    confirm: int,
    seed: int | None,
    repeats: int | None,
    jobs: int | None,
    output: Path | None,
    heat_map: Path | None,
    as_json: bool,
) -> int:
    """Search, confirm, print; the exit code."""
    check_places(output, heat_map)
    experiment = _experiment(name, changes, seed, repeats)
    knobs = [read_knob(text, experiment) for text in params]
    goal = read_objective(objective, _flows(experiment))
    runner = _Runner(jobs, quiet=as_json)
    tuned = tune(experiment, knobs, goal, runner, sampler=sampler, trials=trials, over=over, confirm=confirm)
    confirmation = tuned.confirmation
    if output is not None:
        write_whole(output, document_text(tuned.experiment, _tuned_remarks(tuned, goal.text, over)))
    surface = _surface(tuned, knobs)
    if heat_map is not None and surface is not None:
        from longhaul.orchestrator.analysis.search.surface import as_svg

        write_whole(heat_map, as_svg(surface, f"{experiment.experiment}: {goal.text}"))
    if as_json:
        document = {
            "experiment": experiment.experiment,
            "objective": goal.text,
            "over": over,
            "sampler": sampler,
            "points": [dict(place) for place in tuned.places],
            "untuned": tuned.untuned.as_json(),
            "trials": [trial.as_json() for trial in tuned.trials],
            "best": tuned.best.as_json(),
            "confirmation": None if confirmation is None else confirmation.as_json(),
            "tuned": tuned.experiment,
            "runs": runner.count,
        }
        print(json.dumps(document))
    else:
        _print_tuned(tuned, goal.text, over, surface)
        _say_written(output, heat_map if surface is not None else None)
    return EXIT_DONE if confirmation is not None and confirmation.better else EXIT_MISSED


def search_experiment(
    name: str,
    changes: Sequence[str],
    overs: Sequence[str],
    claim: str,
    *,
    trials: int,
    confirm: int,
    seed: int | None,
    repeats: int | None,
    jobs: int | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Search, confirm, print; the exit code is that of an expectation: 1 where the claim breaks."""
    check_places(output)
    experiment = _experiment(name, changes, seed, repeats)
    ranges = read_ranges(overs)
    claimed = read_claim(claim, _flows(experiment))
    runner = _Runner(jobs, quiet=as_json)
    found = search(experiment, ranges, claimed, runner, trials=trials, confirm=confirm)
    if output is not None and found.experiment is not None:
        remark = f"A counterexample of {claimed.text}, found by `longhaul search`."
        write_whole(output, document_text(found.experiment, [remark]))
    if as_json:
        document = {
            "experiment": experiment.experiment,
            "claim": claimed.text,
            "fields": [one.field for one in ranges],
            "conditions": [condition.as_json() for condition in found.tried],
            "counterexample": found.counterexample.as_json() if found.counterexample else None,
            "confirmation": {
                "seeds": list(found.seeds),
                "values": list(found.values),
                "unconfirmed": found.unconfirmed,
            },
            "counterexample_experiment": found.experiment,
            "runs": runner.count,
        }
        print(json.dumps(document))
    else:
        _print_found(found, claimed.text)
        _say_written(output if found.experiment is not None else None, None)
    return EXIT_MISSED if found.counterexample else EXIT_DONE


class _Runner:
    """Carries plans out as `longhaul run` does, and counts the runs."""

    def __init__(self, jobs: int | None, *, quiet: bool) -> None:
        self._settings = load_settings()
        self._pipeline = Pipeline(open_backend("sandbox", self._settings), Store(self._settings))
        self._jobs = jobs or self._settings.jobs
        self._quiet = quiet
        self.count = 0

    def __call__(self, plan: Plan) -> list[Document]:
        self.count += len(plan.runs)
        with opened_live(self._settings, self._pipeline.store) as self._pipeline.live:
            return carry_out(self._pipeline, plan, self._jobs, quiet=self._quiet)


def _experiment(name: str, changes: Sequence[str], seed: int | None, repeats: int | None) -> Experiment:
    given = [f"{field}={value}" for field, value in (("seed", seed), ("repeats", repeats)) if value is not None]
    return load_experiment(name, [*changes, *given])


def _flows(experiment: Experiment) -> list[str]:
    return [name for flow in experiment.flows for name in flow.names]


def _surface(tuned: Tuned, knobs: Sequence[Knob]) -> Any:
    """The surface of two parameters; None of any other number."""
    if len(knobs) != 2:
        return None
    from longhaul.orchestrator.analysis.search.surface import surface_of

    numbers = {
        knob.name: {
            str(trial.params[knob.name]): float(knob.parameter.read(trial.params[knob.name])) for trial in tuned.trials
        }
        for knob in knobs
    }
    return surface_of([(trial.params, trial.value) for trial in tuned.trials], numbers)


def _print_tuned(tuned: Tuned, objective: str, over: str, surface: Any) -> None:
    from longhaul.cli.console import plain_table, results_console

    console = results_console()
    worked = sorted((one for one in tuned.trials if one.value is not None), key=lambda one: -(one.value or 0.0))
    rows = []
    for trial in [tuned.untuned, *worked[:_SHOWN]]:
        row: dict[str, Any] = {name: trial.params.get(name, "as written") for name in tuned.best.params}
        if len(tuned.places) > 1:
            row |= {", ".join(place.values()): value for place, value in zip(tuned.places, trial.points, strict=True)}
        rows.append(row | {objective if len(tuned.places) == 1 else over: trial.value})
    console.print(plain_table(rows))
    if len(worked) > _SHOWN:
        print(f"and {len(worked) - _SHOWN} more")
    for trial in tuned.trials:
        if trial.fault:
            print(f"{_settings(trial.params)}: {trial.fault}")
    if surface is not None:
        from longhaul.orchestrator.analysis.search.surface import as_text

        print(f"\n{as_text(surface)}\n")
    for line in _verdict(tuned, objective, over):
        print(line)


def _verdict(tuned: Tuned, objective: str, over: str) -> list[str]:
    confirmation = tuned.confirmation
    if confirmation is None:
        return [f"nothing that was tried is better than the experiment as it is written ({tuned.untuned.value:.6g})"]
    seeds = f"{len(confirmation.seeds)} fresh seeds ({confirmation.seeds[0]} to {confirmation.seeds[-1]})"
    whole = f"{objective}{f', {over} of {len(tuned.places)} points' if len(tuned.places) > 1 else ''}"
    return [
        f"best: {_settings(tuned.best.params)}",
        f"on {seeds}, {whole}: {confirmation.untuned:.6g} as written, {confirmation.tuned:.6g} tuned",
        f"difference {confirmation.difference:.6g} ({confirmation.low:.6g} to {confirmation.high:.6g}, 95 %, paired by seed): "
        + ("confirmed" if confirmation.better else "not confirmed"),
    ]


def _tuned_remarks(tuned: Tuned, objective: str, over: str) -> list[str]:
    return ["By `longhaul tune`:", *_verdict(tuned, objective, over)]


def _print_found(found: Found, claim: str) -> None:
    from longhaul.cli.console import plain_table, results_console

    shown = sorted(found.tried, key=lambda one: one.distance)
    rows = [
        {
            "distance": f"{one.distance:.3f}",
            **one.values,
            "the claim": "breaks" if one.breaks else one.fault or "holds",
            "margin": _per_cent(one.margins),
        }
        for one in shown
    ]
    results_console().print(plain_table(rows))
    if found.counterexample is None:
        print(
            f"{claim}: holds at each of the {len(found.tried)} conditions tried"
            if not found.unconfirmed
            else f"{claim}: breaks at {found.unconfirmed} of the conditions tried, and at none of them with every fresh seed"
        )
        return
    values = ", ".join(f"{value:.6g}" for value in found.values)
    print(
        f"{claim}: breaks at {_settings(found.counterexample.values)}, {found.counterexample.distance:.3f} from the benign end"
    )
    print(f"on fresh seeds {found.seeds[0]} to {found.seeds[-1]} it is {values}")
    if found.unconfirmed:
        print(f"{found.unconfirmed} closer ones broke, but not with every fresh seed")


def _per_cent(margins: Sequence[float]) -> str:
    return ", ".join(f"{margin:+.1%}" for margin in margins)


def _settings(values: Any) -> str:
    return ", ".join(f"{name}={value}" for name, value in values.items())


def _say_written(*files: Path | None) -> None:
    from longhaul.cli.console import notes_console

    write: Callable[..., None] = notes_console().print
    for file in files:
        if file is not None:
            write(f"written: {file}", highlight=False, markup=False, soft_wrap=True)
