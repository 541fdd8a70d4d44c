"""Series of a run over time, thinned here so that a page never loads a million points; and a run's files."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from fastapi.responses import FileResponse
from pydantic_core import to_json

from api.answers import KnownTag, not_changed, tag
from api.auth import Reader
from api.dependencies import Lab, TheLab
from api.reading import Reading
from api.remembered import Remembered
from api.routes.runs import RunId, kept_run_id, need_trace
from api.schemas import Series
from api.turns import takes_long
from orchestrator.analysis.thinning import LEAST_POINTS
from orchestrator.charting import kept_timeline
from orchestrator.results.downloads import SOURCES
from orchestrator.run import FORMAT

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

_NAME = r"^[^\x00-\x1f]{1,128}$"
_LONGEST_S = 1e9
_MOST_POINTS = 100_000
_TYPES = {
    ".json": "application/json",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
}
BeginQuery = Annotated[
    float, Query(alias="from", ge=0, le=_LONGEST_S, description="Seconds from the start.", examples=[1.5])
]
EndQuery = Annotated[
    float | None,
    Query(
        alias="to",
        ge=0,
        le=_LONGEST_S,
        allow_inf_nan=False,
        description="Seconds from the start; the end by default.",
        examples=[5],
    ),
]
PointsQuery = Annotated[int, Query(ge=LEAST_POINTS, le=_MOST_POINTS, description="At most so many.", examples=[500])]


# What a page asks for is far smaller than the largest of all.
_remembered = Remembered(most=256, largest=200_000)


@router.get("/{id}/series", summary="Read a series of a run", operation_id="read_series", response_model=Series)
async def series(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    measure: Annotated[str, Query(max_length=64, description="A name of the catalogue's series.", examples=["cwnd"])],
    flow: Annotated[str | None, Query(pattern=_NAME, description="Of a flow, by its name.", examples=["app"])] = None,
    link: Annotated[
        str | None,
        Query(
            pattern=_NAME,
            description="Of a link, where no flow is named; the first bottleneck by default.",
            examples=["bottleneck"],
        ),
    ] = None,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    points: PointsQuery = 2000,
    if_none_match: KnownTag = None,
) -> Response:
    """Times and values, at most `points` of them, with every extreme: a line through them covers what all would."""
    await need_trace(lab, key)
    question = (key, measure, flow, link, begin_s, end_s, points)
    not_changed(tag("series", str(FORMAT), *map(str, question)), if_none_match, response)
    answer = await _remembered.get(question, lambda: _rendered(lab, question))
    return Response(answer, media_type="application/json", headers=dict(response.headers))


@router.get("/{id}/files", summary="List the files of a run", operation_id="list_files")
def files(key: RunId, lab: TheLab, caller: Reader) -> list[str]:
    """The names that can be downloaded: what is kept, and tables as CSV, made when first asked for."""
    kept_run_id(lab, key)
    return list(SOURCES)


@router.get(
    "/{id}/files/{name}",
    summary="Download a file of a run",
    operation_id="download_file",
    response_class=FileResponse,
    responses={206: {"description": "The part that `Range` asked for."}},
)
@takes_long
def download(
    key: RunId,
    name: Annotated[str, Path(max_length=64, description="One of the run's files.", examples=["flows.csv"])],
    lab: TheLab,
    caller: Reader,
) -> FileResponse:
    """Whole, or the parts that a `Range` header asks for."""
    kept_run_id(lab, key)
    file = lab.store.file(key, name)
    return FileResponse(
        file, media_type=_TYPES[file.suffix], filename=f"{key}-{name}", headers={"ETag": tag(key, name)}
    )


def _rendered(lab: Lab, key: tuple[str, str, str | None, str | None, float, float | None, int]) -> bytes:
    run_id, measure, flow, link, begin_s, end_s, points = key
    found = kept_timeline(lab.store, run_id, measure, flow=flow, link=link, begin_s=begin_s, end_s=end_s, points=points)
    document = {
        "run": run_id,
        "measure": found.measure,
        "of": found.about,
        "unit": found.unit,
        "of_values": found.of_values,
        "t_s": found.t_s.round(9).tolist(),
        "value": found.values.tolist(),
    }
    return to_json(document)
