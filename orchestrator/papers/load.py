"""Published papers as data: orchestrator/papers/published/*.yaml, one file a paper, checked against the experiments it names.

    Paper --- Figure* --- Use*      its shipped experiments, and the fewest points that still give the verdicts
                      |-- Picture*  a chart of the runs, over the paper's axes
                      `-- Claim*    one published statement: its text, its computation from runs, its tolerance, whether it gates

The kinds of claim are in claims.py, the kinds of picture in figure_specs.py. A file that names an unknown experiment, flow, field, value or measure is refused with the
field's path. Published files contain no code.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError

from longhaul.orchestrator.papers.claims import (
    CLAIMS,
    AnyClaim,
    Claim,
    CurveClaim,
    CurveTable,
    Matrix,
    OrderingClaim,
    Part,
    RankClaim,
    Selector,
    TableClaim,
    selects,
    unselected,
)
from longhaul.orchestrator.papers.figure_specs import PICTURES, AnyPicture, Curves, Map, Picture, breaches
from longhaul.orchestrator.spec.fields import Duration, Name, Period
from longhaul.orchestrator.spec.load import load_experiment
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.sweep import expand, point_texts, swept_texts
from longhaul.orchestrator.spec.yaml_text import Document, path_of, read_document
from longhaul.orchestrator.system.errors import PlanError, SpecError, nearest

_PUBLISHED = Path(__file__).resolve().parent / "published"


class Quick(Part):
    """The fewest points that still give the verdicts, and the duration of each."""

    points: list[Selector] = Field(min_length=1, description="the points to keep: those that any of these select")
    duration: Period | None = Field(None, description="replaces the experiment's")
    warmup: Duration | None = Field(None, description="replaces the experiment's")
    repeats: int = Field(1, ge=1, le=1000, description="replaces the experiment's")


class Use(Part):
    """An experiment of a figure."""

    experiment: str = Field(description="a shipped name")
    quick: Quick | None = Field(None, description="the points of --quick; by default all")


class Figure(Part):
    """A published figure or table."""

    name: Name
    about: str = Field(min_length=1, description="the content of the figure")
    uses: list[Use] = Field(min_length=1, description="its experiments")
    pictures: list[Picture] = Field(min_length=1, description="its charts, in the figure's order")
    claims: list[Claim] = Field(default_factory=list, description="the published claims; without any, only pictures")


class Paper(Part):
    """The whole file; a pack is the project's own: it claims what its sources require of any congestion control."""

    kind: Literal["paper", "pack"] = "paper"
    paper: Name | str = Field(description="its short name, equal to the file's")
    citation: str = Field(min_length=1, description="its publication")
    about: str = Field(min_length=1, description="its subject, and what its text leaves open")
    figures: list[Figure] = Field(min_length=1)


def published_papers() -> list[str]:
    """The names of the papers."""
    return sorted(path.stem for path in _PUBLISHED.glob("*.yaml"))


@cache
def load_paper(name: str) -> Paper:
    """A paper by its name, read once; PlanError for an unknown one, SpecError if its file is inconsistent."""
    if name not in published_papers():
        raise PlanError("reproducing", name, "no such paper", f"known: {', '.join(published_papers())}")
    return read_paper(read_document(_PUBLISHED / f"{name}.yaml"))


def read_paper(document: Document) -> Paper:
    """The paper in a document; SpecError with a line for each error."""
    try:
        paper = Paper.model_validate(document.data)
    except ValidationError as error:
        raise SpecError(document.subject, [_line(document, one) for one in error.errors(include_url=False)]) from None
    problems = [f"{place}: {what}" for figure in paper.figures for place, what in _breaches(figure)]
    problems += [f"{place}: {what}" for place, what in _quick_twice(paper)]
    if problems:
        raise SpecError(document.subject, problems)
    return paper


@cache
def load_matrix(matrix: Matrix | CurveTable) -> Mapping[tuple[str, str], float]:
    """The cells of a published table by (row, column)."""
    with (_PUBLISHED / matrix.file).open(newline="") as file:
        head, *rows = csv.reader(file)
    return {(row[0], column): float(cell) for row in rows for column, cell in zip(head[1:], row[1:], strict=True)}


def find_figures(paper: Paper, name: str | None) -> list[Figure]:
    """The figure of that name, or all; PlanError lists the known names."""
    found = [figure for figure in paper.figures if name in (None, figure.name)]
    if not found:
        known = [figure.name for figure in paper.figures]
        hint = f"known: {', '.join(known)}{nearest(str(name), known)}"
        raise PlanError("reproducing", f"{paper.paper}/{name}", "no such figure", hint)
    return found


@cache
def experiment_of(name: str) -> Experiment:
    """A shipped experiment."""
    return load_experiment(name)


def quick_experiment(use: Use) -> Experiment:
    """The experiment reduced to the runs of --quick."""
    if use.quick is None:
        return experiment_of(use.experiment)
    changes = [f"{name}={value}" for name in ("duration", "warmup") if (value := getattr(use.quick, name)) is not None]
    experiment = load_experiment(use.experiment, changes)
    points = [
        dict(point)
        for point in expand(experiment.sweep)
        if any(selects(one, point_texts(point)) for one in use.quick.points)
    ]
    return experiment.model_copy(update={"sweep": points if experiment.sweep else None, "repeats": use.quick.repeats})


def experiment_name(figure: Figure, part: AnyClaim | AnyPicture) -> str:
    """The experiment whose runs a claim or a picture uses."""
    return part.experiment or figure.uses[0].experiment


def _quick_twice(paper: Paper) -> Iterator[tuple[str, str]]:
    """Figures that give an experiment, which runs once, different quick points."""
    first: dict[str, tuple[str, Quick | None]] = {}
    for figure in paper.figures:
        for use in figure.uses:
            other, quick = first.setdefault(use.experiment, (figure.name, use.quick))
            if quick != use.quick:
                yield f"figures.{figure.name}.uses.{use.experiment}.quick", f"differs from that of {other}"


def _breaches(figure: Figure) -> Iterator[tuple[str, str]]:
    """Parts that do not fit the named experiments."""
    here = f"figures.{figure.name}"
    experiments: dict[str, Experiment] = {}
    for use in figure.uses:
        try:
            experiments[use.experiment] = experiment_of(use.experiment)
        except SpecError as error:
            yield f"{here}.uses", str(error)
            continue
        for position, selector in enumerate(use.quick.points if use.quick else ()):
            place = f"{here}.uses.{use.experiment}.quick.points.{position}"
            yield from unselected(place, selector, swept_texts(experiments[use.experiment].sweep))
    for claim in figure.claims:
        place, name = f"{here}.claims.{claim.name}", experiment_name(figure, claim)
        if name not in experiments:
            yield f"{place}.experiment", f"read {name!r}; allowed: {_known(experiments)}"
            continue
        experiment = experiments[name]
        flows = [flow for written in experiment.flows for flow in (*written.names, *written.totals)]
        if claim.flow is not None and claim.flow not in flows:
            yield f"{place}.flow", f"read {claim.flow!r}; allowed: {', '.join(flows)}"
        if claim.phase is not None and claim.phase not in experiment.phases:
            phases = ", ".join(experiment.phases) or "nothing, as there are no phases"
            yield f"{place}.phase", f"read {claim.phase!r}; allowed: {phases}"
        known = swept_texts(experiment.sweep)
        yield from unselected(f"{place}.at", claim.at, known)
        yield from unselected(f"{place}.but", claim.but, known)
        if claim.contrast is not None:
            values = {claim.contrast.field: [claim.contrast.of, claim.contrast.to]}
            yield from unselected(f"{place}.contrast", values, known)
        if isinstance(claim, CurveClaim):
            yield from _strange_curves(place, "table", claim.table, known, claim.column)
        elif isinstance(claim, TableClaim | RankClaim):
            yield from _strange_cells(f"{place}.table", claim.table, known)
        if isinstance(claim, TableClaim) and claim.beside is not None:
            yield from _strange_cells(f"{place}.beside", claim.beside, known)
        for field in ("asked", "along"):
            swept = getattr(claim, field, None)
            if swept is not None and swept not in known:
                yield f"{place}.{field}", f"read {swept!r}; allowed: {', '.join(known)}"
        if isinstance(claim, OrderingClaim):
            yield from _strangers(place, claim, experiment)
    for position, picture in enumerate(figure.pictures):
        place, name = f"{here}.pictures.{position}", experiment_name(figure, picture)
        if name not in experiments:
            yield f"{place}.experiment", f"read {name!r}; allowed: {_known(experiments)}"
            continue
        for where, what in breaches(picture, experiments[name]):
            yield f"{place}.{where}", what
        known = swept_texts(experiments[name].sweep)
        if isinstance(picture, Map) and picture.published is not None:
            yield from _strange_cells(f"{place}.published", picture.published, known)
        if isinstance(picture, Curves) and picture.published is not None:
            yield from _strange_curves(place, "published", picture.published, known)


def _strangers(place: str, claim: OrderingClaim, experiment: Experiment) -> Iterator[tuple[str, str]]:
    """Fields and values of an order that the sweep does not have."""
    known = swept_texts(experiment.sweep)
    if unknown := [field for field in claim.fields if field not in known]:
        yield f"{place}.over", f"read {unknown[0]!r}; allowed: {', '.join(known)}"
        return
    entrants = dict.fromkeys(claim.entrant(point_texts(point)) for point in expand(experiment.sweep))
    for name in claim.named():
        if name not in entrants:
            yield f"{place}.over", f"read {name!r}; allowed: {', '.join(entrants)}"


def _strange_cells(place: str, matrix: Matrix, known: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, str]]:
    """Rows and columns of a published table that the sweep does not have."""
    try:
        cells = load_matrix(matrix)
    except (OSError, ValueError) as error:
        yield _unreadable(place, matrix, error)
        return
    for axis, field in enumerate((matrix.rows, matrix.columns)):
        yield from unselected(place, {field: list(dict.fromkeys(cell[axis] for cell in cells))}, known)


def _strange_curves(
    place: str, part: str, table: CurveTable, known: Mapping[str, Sequence[str]], column: str | None = None
) -> Iterator[tuple[str, str]]:
    """Points of published curves that the sweep does not have, and a curve that the table does not have."""
    try:
        cells = load_matrix(table)
    except (OSError, ValueError) as error:
        yield _unreadable(f"{place}.{part}", table, error)
        return
    names = list(dict.fromkeys(name for _, name in cells))
    if column is not None and column not in names:
        yield f"{place}.column", f"read {column!r}; allowed: {', '.join(names)}"
    yield from unselected(f"{place}.{part}", {table.rows: list(dict.fromkeys(row for row, _ in cells))}, known)


def _unreadable(place: str, table: Matrix | CurveTable, error: Exception) -> tuple[str, str]:
    return f"{place}.file", f"{table.file} is not a table of numbers: {error}"


def _known(experiments: Mapping[str, Experiment]) -> str:
    return ", ".join(experiments) or "an experiment of the figure"


def _line(document: Document, error: Any) -> str:
    """One error: the field's path without the kind of claim or picture that pydantic inserts, and the allowed values."""
    kinds = {"claims": CLAIMS, "pictures": PICTURES}
    written = error["loc"]
    location = tuple(
        part for index, part in enumerate(written) if not (index > 2 and part in kinds.get(written[index - 2], ()))
    )
    line = document.line(location)
    message = error["msg"].removeprefix("Value error, ")
    return f"{path_of(document.data, location)}{f' (line {line})' if line else ''}: {message}"
