"""The status of a published figure's reproduction in a lab: which of its runs are kept, the verdict of each claim, its charts.

    Figure --extent--> its experiments --compiled--> ids of runs --database-->  documents --verdicts.py--> a verdict a claim

`full` covers the paper's points, `quick` the fewest points that give the verdicts. Only runs that exactly these programs would make
count, by their ids. A claim is judged when all runs of its experiment have ended, and is `not run` before.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal

from longhaul.orchestrator.backends import open_backend
from longhaul.orchestrator.backends.base import Backend
from longhaul.orchestrator.database.statuses import KEPT, LIVE
from longhaul.orchestrator.execution.evaluation import run_and_trace, up_to_date
from longhaul.orchestrator.execution.submission import Desk
from longhaul.orchestrator.papers.claims import Claim
from longhaul.orchestrator.papers.load import (
    Figure,
    Paper,
    experiment_name,
    experiment_of,
    find_figures,
    load_paper,
    quick_experiment,
)
from longhaul.orchestrator.papers.verdicts import Verdict, judge_claim
from longhaul.orchestrator.plan.compile import compile_plan
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import count_points
from longhaul.orchestrator.system.errors import FidelityBroken
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import Settings

# A chart of a figure for a response: its plates as SVG, and its numbers as CSV.
Picture = dict[str, Any]
Extent = Literal["quick", "full"]
EXTENTS: tuple[Extent, ...] = ("quick", "full")
NOT_RUN = "not run"
# Points of a line over time in a chart.
_POINTS = 300


@dataclass(frozen=True, slots=True)
class Planned:
    """The runs of an experiment as these programs would make them: ids in order, and their time on one processor."""

    experiment: Experiment
    run_ids: Sequence[str]
    wall_s: float
    # One run of each set of modules and its identity: while that is unchanged, so are the ids.
    probes: Sequence[tuple[Run, Mapping[str, str]]]


@dataclass(frozen=True, slots=True)
class Count:
    """How many runs an extent has, by status."""

    runs: int
    kept: int
    live: int
    failed: int
    # None if it was not computed.
    wall_estimate_s: float | None

    @property
    def complete(self) -> bool:
        """Whether every run has ended with numbers to judge."""
        return self.kept + self.failed == self.runs


@dataclass(frozen=True, slots=True)
class Standing:
    """A figure in this lab, by the runs of one extent."""

    paper: Paper
    figure: Figure
    extent: Extent
    counts: Mapping[Extent, Count]
    verdicts: Sequence[Verdict]
    # For each shipped experiment: the name of its runs in lists, and the documents of finished runs.
    names: Mapping[str, str]
    aggregates: Mapping[str, str]
    documents: Mapping[str, Sequence[RunDocument]]


class Standings:
    """Looks up the status of figures in one lab."""

    def __init__(self, settings: Settings, store: Store, desk: Desk) -> None:
        self._settings, self._store, self._desk = settings, store, desk
        self._planned: dict[tuple[str, Extent], Planned] = {}
        self._planning = threading.Lock()

    def look(self, paper: str, figure: str, extent: Extent | None = None) -> Standing:
        """A figure by the runs of that extent, or of the fullest extent with runs."""
        found = load_paper(paper)
        (one,) = find_figures(found, figure)
        return self._look(found, one, extent, open_backend("sandbox", self._settings))

    def survey(self, paper: str, extent: Extent | None = None) -> list[Standing]:
        """All figures of a paper; a figure without any recorded run is not compiled, which would take long."""
        found = load_paper(paper)
        backend = open_backend("sandbox", self._settings)
        names = {name: experiment_of(name).experiment for one in found.figures for name in _experiments(one)}
        recorded = self._store.catalog.recorded(list(names.values()))
        return [
            self._look(found, one, extent, backend)
            if any(names[name] in recorded for name in _experiments(one))
            else _untouched(found, one, extent or "quick")
            for one in found.figures
        ]

    def _look(self, paper: Paper, one: Figure, extent: Extent | None, backend: Backend) -> Standing:
        planned = {each: self._plans(one, each, backend) for each in EXTENTS}
        known = self._store.catalog.statuses(
            list({key for plans in planned.values() for plan in plans.values() for key in plan.run_ids})
        )
        counts = {each: _count(plans, known) for each, plans in planned.items()}
        extent = extent or _fullest(counts)
        documents = {name: self._documents(plan, known) for name, plan in planned[extent].items()}
        verdicts = []
        for claim in one.claims:
            name = experiment_name(one, claim)
            plan = planned[extent][name]
            # Verdicts need all points.
            whole = len(documents[name]) == len(set(plan.run_ids))
            judged = judge_claim(one.name, claim, documents[name], plan.experiment.aggregate) if whole else None
            verdicts.append(judged or _not_run(one, claim))
        names = {name: plan.experiment.experiment for name, plan in planned[extent].items()}
        aggregates = {name: plan.experiment.aggregate for name, plan in planned[extent].items()}
        return Standing(paper, one, extent, counts, verdicts, names, aggregates, documents)

    def submit(self, paper: str, figure: str, extent: Extent, owner: str) -> list[str]:
        """Submit the experiments of that extent of a figure; returns their ids. Kept runs are not run again."""
        (one,) = find_figures(load_paper(paper), figure)
        return [
            self._desk.queue_internal(
                _experiment(one, name, extent),
                {"shipped": name, "reproduces": f"{paper}/{figure}", "extent": extent},
                owner,
            )
            for name in _experiments(one)
        ]

    def draw(self, standing: Standing) -> list[Picture]:
        """Its charts, as far as runs exist: vector graphics, and their numbers as CSV. For one thread at a time."""
        from longhaul.orchestrator.papers.drawings import Measured, draw

        measured = {
            name: Measured(documents, standing.aggregates[name], "", partial(run_and_trace, store=self._store))
            for name, documents in standing.documents.items()
        }
        pictures = []
        for picture in standing.figure.pictures:
            name = experiment_name(standing.figure, picture)
            claims = [claim for claim in standing.figure.claims if experiment_name(standing.figure, claim) == name]
            drawn = draw(picture, measured[name], claims, _POINTS) if standing.documents[name] else None
            if drawn is not None:
                plates = [
                    {"svg": plate.svg, "width_px": plate.width_px, "title": plate.title} for plate in drawn.plates
                ]
                entry = {"title": picture.title, "wide": drawn.wide, "plates": plates, "csv": drawn.table.as_csv()}
                pictures.append(entry)
        return pictures

    def _plans(self, figure: Figure, extent: Extent, backend: Backend) -> dict[str, Planned]:
        with self._planning:
            return {name: self._plan(figure, name, extent, backend) for name in _experiments(figure)}

    def _plan(self, figure: Figure, name: str, extent: Extent, backend: Backend) -> Planned:
        known = self._planned.get((name, extent))
        if known is not None and all(backend.identity(run) == made_with for run, made_with in known.probes):
            return known
        experiment = _experiment(figure, name, extent)
        runs = compile_plan(experiment).runs
        made_with = [backend.identity(run) for run in runs]
        probes = {tuple(sorted(one.items())): (run, one) for run, one in zip(runs, made_with, strict=True)}
        ids = [run_id(run, one) for run, one in zip(runs, made_with, strict=True)]
        planned = Planned(experiment, ids, sum(map(wall_estimate_s, runs)), list(probes.values()))
        self._planned[name, extent] = planned
        return planned

    def _documents(self, plan: Planned, known: Mapping[str, str]) -> list[RunDocument]:
        """The documents of the runs that have ended, by today's formulas."""
        ended = [key for key in dict.fromkeys(plan.run_ids) if known.get(key) in (*KEPT, "failed")]
        found = self._store.catalog.documents(ended)
        documents = []
        for key in ended:
            document = found.get(key)
            if document is None:
                continue
            try:
                documents.append(up_to_date(document, self._store) if known[key] in KEPT else document)
            except FidelityBroken:
                # A new submission will run it again.
                continue
        return documents


def _not_run(figure: Figure, claim: Claim) -> Verdict:
    return replace(judge_claim(figure.name, claim, [], "mean"), verdict=NOT_RUN, measured="")


def _untouched(paper: Paper, figure: Figure, extent: Extent) -> Standing:
    """The status of a figure without any run."""
    experiments = {each: {name: _experiment(figure, name, each) for name in _experiments(figure)} for each in EXTENTS}
    runs = {
        each: sum(one.repeats * count_points(one.sweep) for one in some.values()) for each, some in experiments.items()
    }
    counts = {each: Count(count, 0, 0, 0, None) for each, count in runs.items()}
    chosen = experiments[extent]
    return Standing(
        paper=paper,
        figure=figure,
        extent=extent,
        counts=counts,
        verdicts=[_not_run(figure, claim) for claim in figure.claims],
        names={name: one.experiment for name, one in chosen.items()},
        aggregates={name: one.aggregate for name, one in chosen.items()},
        documents={name: [] for name in chosen},
    )


def _experiments(figure: Figure) -> list[str]:
    return list(dict.fromkeys(use.experiment for use in figure.uses))


def _experiment(figure: Figure, name: str, extent: Extent) -> Experiment:
    use = next(use for use in figure.uses if use.experiment == name)
    return quick_experiment(use) if extent == "quick" else experiment_of(name)


def _count(plans: Mapping[str, Planned], known: Mapping[str, str]) -> Count:
    ids = dict.fromkeys(key for plan in plans.values() for key in plan.run_ids)
    statuses = [known.get(key, "") for key in ids]
    kept, live = (sum(status in some for status in statuses) for some in (KEPT, LIVE))
    wall_s = sum(plan.wall_s for plan in plans.values())
    return Count(len(ids), kept, live, statuses.count("failed"), round(wall_s, 1))


def _fullest(counts: Mapping[Extent, Count]) -> Extent:
    """The full extent if it is complete, else the quick one, unless only the full one has runs."""
    if counts["full"].complete or (counts["full"].kept and not counts["quick"].kept):
        return "full"
    return "quick"
