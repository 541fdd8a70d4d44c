"""Run a paper's experiments through the ordinary pipeline, then compare its published claims with the measured values.

    PAPER[/FIGURE] --papers/load.py--> figures, their experiments --pipeline--> documents --papers/verdicts.py--> verdicts

An experiment that several figures name runs once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from longhaul.laboratory.experiments import execute, open_pipeline, result_of
from longhaul.orchestrator.execution.evaluation import run_and_trace
from longhaul.orchestrator.execution.pipeline import Watcher
from longhaul.orchestrator.papers.load import (
    Figure,
    Paper,
    experiment_name,
    experiment_of,
    find_figures,
    load_paper,
    published_papers,
    quick_experiment,
)
from longhaul.orchestrator.papers.verdicts import Verdict, judge_claim
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.preview.describe import describe_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.files import write_whole
from longhaul.results.reproduction import Reproduction
from longhaul.results.result import Result

# Opens the watcher of these runs.
WatcherOf = Callable[[Sequence[Run]], AbstractContextManager[Watcher]]


class Reproduced(Reproduction):
    """A reproduction with the data of its page."""

    def __init__(
        self,
        target: str,
        chosen: Sequence[tuple[Paper, Sequence[Figure]]],
        plans: Mapping[str, Plan],
        results: Mapping[str, Result],
        store: Store,
        *,
        quick: bool,
    ) -> None:
        self.judged = {paper.paper: _judge_figures(figures, plans, results) for paper, figures in chosen}
        super().__init__(_document(target, results, self.judged), results)
        self._chosen, self._plans, self._store, self._quick = chosen, plans, store, quick

    def write(self, folder: str | Path) -> Path:
        """Write result.json, and a page for each paper as Markdown and as HTML."""
        from longhaul.orchestrator.papers.drawings import Measured
        from longhaul.orchestrator.papers.reproduction import markdown
        from longhaul.orchestrator.papers.reproduction_page import reproduction_page

        folder = Path(folder)
        kept = partial(run_and_trace, store=self._store)
        measured = {
            name: Measured(self.results[name]["runs"], plan.experiment.aggregate, describe_plan(plan), kept)
            for name, plan in self._plans.items()
        }
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / "result.json", json.dumps(self.document, indent=1))
        for paper, figures in self._chosen:
            verdicts, how = self.judged[paper.paper], self._how(paper.paper)
            write_whole(folder / f"{paper.paper}.md", markdown(paper, figures, verdicts, how=how))
            write_whole(folder / f"{paper.paper}.html", reproduction_page(paper, figures, verdicts, measured, how=how))
        return folder

    def _how(self, paper: str) -> str:
        if self._quick:
            return f"Measured by `longhaul reproduce {paper} --quick`: the fewest points that give the verdicts, once each."
        return f"Measured by `longhaul reproduce {paper}`."


def reproduce(
    target: str | None = None,
    *,
    quick: bool = False,
    jobs: int | None = None,
    cache: bool = True,
    watcher: WatcherOf | None = None,
) -> Reproduced:
    """Run the experiments of a paper or of one of its figures ("unpa/fig3"), or of all papers, and judge the published claims.

    `quick` runs the fewest points that still give the verdicts.
    """
    chosen = _chosen(target)
    experiments = _experiments(chosen, quick=quick)
    plans = {name: compile_plan(experiment) for name, experiment in experiments.items()}
    opened = watcher([run for plan in plans.values() for run in plan.runs]) if watcher else nullcontext(Watcher())
    with opened as watching, open_pipeline("sandbox", cache=cache, watcher=watching) as pipeline:
        documents = execute(pipeline, list(plans.values()), jobs)
    results = {
        name: result_of(plan, found, pipeline.store)
        for (name, plan), found in zip(plans.items(), documents, strict=True)
    }
    return Reproduced(target or "all", chosen, plans, results, pipeline.store, quick=quick)


def _judge_figures(
    figures: Sequence[Figure], plans: Mapping[str, Plan], results: Mapping[str, Result]
) -> list[Verdict]:
    """A verdict for each claim, in the order of the paper."""
    verdicts = []
    for figure in figures:
        for claim in figure.claims:
            name = experiment_name(figure, claim)
            verdicts.append(judge_claim(figure.name, claim, results[name]["runs"], plans[name].experiment.aggregate))
    return verdicts


def _chosen(target: str | None) -> list[tuple[Paper, list[Figure]]]:
    if target is None:
        papers = [paper for paper in map(load_paper, published_papers()) if paper.kind == "paper"]
        return [(paper, list(paper.figures)) for paper in papers]
    name, _, figure = target.partition("/")
    paper = load_paper(name)
    return [(paper, find_figures(paper, figure or None))]


def _experiments(chosen: Sequence[tuple[Paper, Sequence[Figure]]], *, quick: bool) -> dict[str, Experiment]:
    uses = [use for _, figures in chosen for figure in figures for use in figure.uses]
    return {use.experiment: quick_experiment(use) if quick else experiment_of(use.experiment) for use in uses}


def _document(target: str, results: Mapping[str, Result], judged: Mapping[str, Sequence[Verdict]]) -> dict[str, Any]:
    """The document of `run --json` with the verdicts; rows of its summary name their experiment."""
    return {
        "experiment": target,
        "runs": [document for result in results.values() for document in result["runs"]],
        "summary": [
            {"experiment": result.experiment, **row} for result in results.values() for row in result["summary"]
        ],
        "verdicts": [{"paper": paper, **one.as_dict()} for paper, verdicts in judged.items() for one in verdicts],
    }
