"""`longhaul reproduce`: a paper's experiments through the ordinary pipeline, then its published claims against what was measured.

    PAPER[/FIGURE] --papers/load.py--> figures, their experiments --pipeline--> documents --papers/verdicts.py--> verdicts

An experiment that several figures name is run once. What is printed with --json is the document of `run --json` with `verdicts`
added; rows of its `summary` say which experiment they are of.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from longhaul.cli.output import EXIT_DONE, EXIT_FAILED, EXIT_MISSED
from longhaul.cli.verbs import carry_out_all
from longhaul.orchestrator.analysis.aggregate import summarise_repeats
from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.execution.pipeline import Document, Pipeline, opened_live
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
from longhaul.orchestrator.papers.reproduction import verdict_line
from longhaul.orchestrator.papers.verdicts import Verdict, judge_claim
from longhaul.orchestrator.plan.compile import Plan, compile_plan
from longhaul.orchestrator.preview.describe import describe_plan
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.system.settings import load_settings


@dataclass(frozen=True, slots=True)
class Carried:
    """An experiment as it was carried out: its plan and its documents."""

    plan: Plan
    documents: list[Document]

    @property
    def experiment(self) -> Experiment:
        return self.plan.experiment


def reproduce(
    target: str | None, *, quick: bool, jobs: int | None, as_json: bool, output: Path | None, use_cache: bool
) -> int:
    """Run, judge, print; the exit code: 4 where a run failed, 1 where a claim that gates differs."""
    chosen = _chosen(target)
    settings = load_settings()
    store = Store(settings)
    with opened_live(settings, store) as live:
        pipeline = Pipeline(open_backend("sandbox", settings), store, use_cache, live=live)
        experiments = _experiments(chosen, quick=quick)
        plans = [compile_plan(experiment) for experiment in experiments.values()]
        documents = carry_out_all(pipeline, plans, target or "all", jobs or settings.jobs, quiet=as_json)
        carried = dict(zip(experiments, map(Carried, plans, documents), strict=True))
    verdicts = {paper.paper: judge_figures(figures, carried) for paper, figures in chosen}
    result = _document(target or "all", carried, verdicts)
    if as_json:
        print(json.dumps(result))
    else:
        _print(verdicts)
    if output is not None:
        _write(result, chosen, verdicts, carried, store, output, quick=quick)
    if any(document["status"] == "failed" for document in result["runs"]):
        return EXIT_FAILED
    return EXIT_MISSED if any(one.fails for told in verdicts.values() for one in told) else EXIT_DONE


def judge_figures(figures: Sequence[Figure], carried: Mapping[str, Carried]) -> list[Verdict]:
    """A verdict a claim, in the order of the paper."""
    verdicts = []
    for figure in figures:
        for claim in figure.claims:
            one = carried[experiment_name(figure, claim)]
            verdicts.append(judge_claim(figure.name, claim, one.documents, one.experiment.aggregate))
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


def _document(name: str, carried: Mapping[str, Carried], verdicts: Mapping[str, Sequence[Verdict]]) -> Document:
    return {
        "experiment": name,
        "runs": [document for one in carried.values() for document in one.documents],
        "summary": [
            {"experiment": one.experiment.experiment, **row}
            for one in carried.values()
            for row in summarise_repeats(
                [document for document in one.documents if document["status"] != "failed"], one.experiment.aggregate
            )
        ],
        "verdicts": [{"paper": paper, **one.as_dict()} for paper, told in verdicts.items() for one in told],
    }


def _print(verdicts: Mapping[str, Sequence[Verdict]]) -> None:
    from longhaul.cli.console import results_console, verdict_table

    console = results_console()
    for paper, told in verdicts.items():
        console.print(verdict_table(paper, told))
        for one in told:
            if one.why:
                console.print(f"{one.figure} {one.claim}: {one.why}", highlight=False, markup=False)
        console.print(verdict_line(told), highlight=False)


def _write(
    result: Document,
    chosen: Sequence[tuple[Paper, Sequence[Figure]]],
    verdicts: Mapping[str, Sequence[Verdict]],
    carried: Mapping[str, Carried],
    store: Store,
    output: Path,
    *,
    quick: bool,
) -> None:
    from longhaul.orchestrator.execution.evaluation import run_and_trace
    from longhaul.orchestrator.papers.drawings import Measured
    from longhaul.orchestrator.papers.reproduction import markdown
    from longhaul.orchestrator.papers.reproduction_page import reproduction_page

    kept = partial(run_and_trace, store=store)
    measured = {
        name: Measured(one.documents, one.experiment.aggregate, describe_plan(one.plan), kept)
        for name, one in carried.items()
    }
    output.mkdir(parents=True, exist_ok=True)
    write_whole(output / "result.json", json.dumps(result, indent=1))
    for paper, figures in chosen:
        told, how = verdicts[paper.paper], _how(paper.paper, quick=quick)
        write_whole(output / f"{paper.paper}.md", markdown(paper, figures, told, how=how))
        write_whole(output / f"{paper.paper}.html", reproduction_page(paper, figures, told, measured, how=how))


def _how(paper: str, *, quick: bool) -> str:
    if quick:
        return f"Measured by `longhaul reproduce {paper} --quick`: the fewest points that give the verdicts, once each."
    return f"Measured by `longhaul reproduce {paper}`."
