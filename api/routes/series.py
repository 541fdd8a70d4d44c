"""Series of a run over time, thinned so that a page never loads a million points, and the moments at which something happens."""

from __future__ import annotations

from dataclasses import asdict
from enum import StrEnum
from functools import partial
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic_core import to_json
from starlette.concurrency import run_in_threadpool

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cache import ResponseCache
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag, not_changed, rendered, tag
from longhaul.api.routes.runs import RunId, run_with_trace
from longhaul.api.schemas.experiments import Series
from longhaul.api.schemas.pictures import TraceMoments
from longhaul.orchestrator.analysis.kept_series import kept_moments, kept_timeline
from longhaul.orchestrator.analysis.thinning import LEAST_POINTS
from longhaul.orchestrator.analysis.trace_moments import moments_csv
from longhaul.orchestrator.plan.run import FORMAT

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

NAME = r"^[^\x00-\x1f]{1,128}$"
_LONGEST_S = 1e9
_MOST_POINTS = 100_000
_MOST_MOMENTS = 5000
_MOST_SKIPPED = 10**9
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
        description="Seconds from the start; by default the end of the run.",
        examples=[5],
    ),
]
OneFlowQuery = Annotated[str | None, Query(pattern=NAME, description="The name of a flow.", examples=["app"])]
PointsQuery = Annotated[
    int, Query(ge=LEAST_POINTS, le=_MOST_POINTS, description="The most values to return.", examples=[500])
]

# Far below the largest response, and far above those that a page needs.
_cached_responses = ResponseCache(most=256, largest=200_000)


@router.get("/{id}/series", summary="Read a series of a run", operation_id="read_series", response_model=Series)
async def series(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    measure: Annotated[
        str, Query(max_length=64, description="The name of a series in the catalogue.", examples=["cwnd"])
    ],
    flow: OneFlowQuery = None,
    link: Annotated[
        str | None,
        Query(
            pattern=NAME,
            description="The name of a link, if no flow is given; by default the first bottleneck.",
            examples=["bottleneck"],
        ),
    ] = None,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    points: PointsQuery = 2000,
    if_none_match: KnownTag = None,
) -> Response:
    """Times and values, at most `points` of them, including every extreme, so that a line through them looks like one through all."""
    key, part = await run_with_trace(lab, key)
    asked: dict[str, Any] = {"flow": flow, "link": link, "begin_s": begin_s, "end_s": end_s, "points": points}

    def make() -> bytes:
        found = kept_timeline(lab.store, key, measure, **asked)
        document = {
            "run": key,
            "measure": found.measure,
            "of": found.about,
            "unit": found.unit,
            "of_values": found.of_values,
            "t_s": found.t_s.round(9).tolist(),
            "value": found.values.tolist(),
        }
        return to_json(document)

    question = ("series", key, part, measure, *asked.values())
    return await _cached_responses.respond(question, make, if_none_match, response)


class MomentsFormat(StrEnum):
    """The formats."""

    json = "json"
    csv = "csv"


@router.get(
    "/{id}/moments",
    summary="List moments of a run",
    operation_id="list_moments",
    response_model=TraceMoments,
    responses={
        200: {
            "content": {"text/csv": {"schema": {"type": "string"}}},
            "description": "Some moments, or with `format=csv` all of them, a line for each.",
        }
    },
)
async def moments(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    kind: Annotated[
        list[Annotated[str, Query(max_length=32)]],
        Query(max_length=16, description="Kinds of moments; by default all.", examples=[["drop", "timeout"]]),
    ] = [],  # noqa: B006
    about: Annotated[
        list[Annotated[str, Query(pattern=NAME)]],
        Query(
            alias="of",
            max_length=64,
            description="Flows and links; by default all, and changes of the schedule. A loss is about its flow and its link.",
            examples=[["app"]],
        ),
    ] = [],  # noqa: B006
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    skip: Annotated[int, Query(ge=0, le=_MOST_SKIPPED, description="The number of moments to skip.", examples=[5])] = 0,
    most: Annotated[
        int, Query(alias="limit", ge=1, le=_MOST_MOMENTS, description="The most moments to return.", examples=[100])
    ] = 200,
    near_s: Annotated[
        float | None,
        Query(
            alias="near",
            ge=0,
            le=_LONGEST_S,
            allow_inf_nan=False,
            description="Seconds from the start: returns the moments around the one that is nearest, whatever `skip` is.",
            examples=[1.5],
        ),
    ] = None,
    to: Annotated[
        MomentsFormat,
        Query(alias="format", description="csv lists all, whatever `skip` and `limit` are.", examples=["csv"]),
    ] = MomentsFormat.json,
    if_none_match: KnownTag = None,
) -> Response:
    """What happened in a part of a run: flows begin and stop, losses, marks, recoveries and timeouts of TCP, scheduled changes. All are counted."""
    key, part = await run_with_trace(lab, key)
    asked = [*kind, "of", *about, begin_s, end_s, skip, most, near_s, to.value]
    not_changed(tag("moments", str(FORMAT), str(part), key, *map(str, asked)), if_none_match, response)
    whole = to is MomentsFormat.csv
    find = partial(kept_moments, lab.store, key, kind, about=about, begin_s=begin_s, end_s=end_s)
    found = await run_in_threadpool(
        find, skip=0 if whole else skip, most=None if whole else most, near_s=None if whole else near_s
    )
    if whole:
        name = f'attachment; filename="{key}-moments.csv"'
        headers = {**response.headers, "Content-Disposition": name}
        return Response(moments_csv(found.moments), media_type="text/csv", headers=headers)
    document = {
        "run": key,
        "total": found.total,
        "skipped": found.skipped,
        "moments": [asdict(one) for one in found.moments],
    }
    return rendered(document, response)
