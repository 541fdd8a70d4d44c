"""Papers and packs: the claims of each figure, this lab's measurements, and reproductions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Response
from pydantic_core import to_json

from longhaul.api.auth import Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cache import ResponseCache
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import MADE, ROOT, KnownTag, not_changed, tag
from longhaul.api.http.threads import takes_long
from longhaul.api.schemas.lab import Claim, Extent, Figure, FigureRow, PaperRow, Picture, Reproduction, Submitted
from longhaul.orchestrator.execution.formulas import measured_by
from longhaul.orchestrator.execution.reproduction_status import Standing
from longhaul.orchestrator.papers.load import experiment_name, find_figures, load_paper, published_papers
from longhaul.orchestrator.papers.verdicts import Verdict
from longhaul.orchestrator.system.errors import NotFound, PlanError

router = APIRouter(route_class=Reading, prefix="/reproductions", tags=["papers"])

PaperName = Annotated[
    str, Path(max_length=64, pattern=r"^[a-z0-9_-]+$", description="The name of a paper or pack.", examples=["agilesd"])
]
FigureName = Annotated[
    str, Path(max_length=64, pattern=r"^[a-z0-9_-]+$", description="The name of a figure.", examples=["fig4"])
]
ExtentQuery = Annotated[
    Literal["quick", "full"] | None,
    Query(
        description="The runs: the fewest that give the verdicts, or all; by default the most complete that ran.",
        examples=["quick"],
    ),
]
# Finished drawings, by their input.
_drawn = ResponseCache(most=64, largest=4_000_000)


@router.get("", summary="List papers", operation_id="list_reproductions")
@takes_long
def list_papers(lab: TheLab, caller: Reader) -> list[PaperRow]:
    """Every paper and pack with its figures; read a figure to find out which of its runs are kept."""
    return [
        PaperRow(
            paper=paper.paper,
            kind=paper.kind,
            citation=paper.citation,
            about=paper.about,
            figures=[
                FigureRow(
                    figure=figure.name,
                    about=figure.about,
                    experiments=[use.experiment for use in figure.uses],
                    claims=len(figure.claims),
                    gates=sum(claim.gate for claim in figure.claims),
                    pictures=len(figure.pictures),
                )
                for figure in paper.figures
            ],
        )
        for paper in map(load_paper, published_papers())
    ]


@router.get("/{paper}", summary="Read a paper", operation_id="read_paper")
@takes_long
def read_paper(paper: PaperName, lab: TheLab, caller: Reader, extent: ExtentQuery = None) -> list[Figure]:
    """All its figures, as GET of each figure; the cost is included only for figures with runs."""
    return [_figure(standing) for standing in lab.standings.survey(_known(paper), extent)]


@router.get("/{paper}/{figure}", summary="Read a figure", operation_id="read_reproduction")
@takes_long
def read(paper: PaperName, figure: FigureName, lab: TheLab, caller: Reader, extent: ExtentQuery = None) -> Figure:
    """Its kept runs and the verdict on each claim: `not run` until all runs of the claim's experiment have ended."""
    return _figure(lab.standings.look(_known(paper, figure), figure, extent))


@router.post(
    "/{paper}/{figure}",
    status_code=201,
    summary="Reproduce a figure",
    operation_id="reproduce",
    responses=MADE,
)
def reproduce(
    paper: PaperName, figure: FigureName, asked: Reproduction, lab: TheLab, caller: Runner, response: Response
) -> Submitted:
    """Submit its experiments. Kept runs are not run again; the verdicts follow as the runs end."""
    made = lab.standings.submit(_known(paper, figure), figure, asked.extent, caller.name)
    response.headers["Location"] = f"{ROOT}/reproductions/{paper}/{figure}"
    return Submitted(experiments=[f"{ROOT}/experiments/{key}" for key in made])


@router.get(
    "/{paper}/{figure}/pictures",
    summary="Read the pictures of a figure",
    operation_id="draw_reproduction",
    response_model=list[Picture],
)
@takes_long
def pictures(
    paper: PaperName,
    figure: FigureName,
    lab: TheLab,
    caller: Reader,
    response: Response,
    extent: ExtentQuery = None,
    if_none_match: KnownTag = None,
) -> Response:
    """SVG drawings of the kept runs over the paper's axes, each with its numbers as CSV; none if nothing was measured."""
    standing = lab.standings.look(_known(paper, figure), figure, extent)
    kept = [document["run"] for documents in standing.documents.values() for document in documents]
    known = tag("pictures", paper, figure, standing.extent, measured_by(), *kept)
    not_changed(known, if_none_match, response)
    if (answer := _drawn.find((known,))) is None:
        # The drawing library is not thread-safe.
        with lab.drawing:
            answer = _drawn.keep((known,), to_json(lab.standings.draw(standing)))
    return Response(answer, media_type="application/json", headers=dict(response.headers))


def _known(paper: str, figure: str | None = None) -> str:
    """The paper's name; NotFound if the paper or the figure does not exist."""
    try:
        find_figures(load_paper(paper), figure)
    except PlanError as error:
        raise NotFound(error.attempting, error.subject, error.what, error.hint) from error
    return paper


def _figure(standing: Standing) -> Figure:
    counts = {name: Extent(**_count(count)) for name, count in standing.counts.items()}
    of = {claim.name: experiment_name(standing.figure, claim) for claim in standing.figure.claims}
    return Figure(
        paper=standing.paper.paper,
        figure=standing.figure.name,
        about=standing.figure.about,
        experiments=dict(standing.names),
        extent=standing.extent,
        quick=counts["quick"],
        full=counts["full"],
        claims=[_claim(verdict, standing.names[of[verdict.claim]]) for verdict in standing.verdicts],
    )


def _count(count: Any) -> dict[str, Any]:
    return {name: getattr(count, name) for name in Extent.model_fields}


def _claim(verdict: Verdict, experiment: str) -> Claim:
    fields = verdict.as_dict()
    return Claim(**{name: fields[name] for name in fields if name != "figure"}, experiment=experiment)
