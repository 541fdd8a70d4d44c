"""Data for a page's charts of a run: its outline, many series at once, distributions."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request, Response
from pydantic_core import to_json

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.cache import ResponseCache
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import KnownTag
from longhaul.api.lab import Lab
from longhaul.api.routes.runs import RunId, outline_of, run_with_trace
from longhaul.api.routes.series import BeginQuery, EndQuery, PointsQuery
from longhaul.api.schemas.pictures import Distribution, Outline, Timelines
from longhaul.orchestrator.analysis.kept_series import (
    PAGE_SERIES,
    kept_distribution,
    kept_timelines,
    pack_timelines,
    timeline_row,
)

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

FLOATS = "application/octet-stream"
_MOST_MEASURES = 16
# Enough for a run and those that it is compared with.
_pictures = ResponseCache(most=64, largest=4_000_000)


@router.get("/{id}/outline", summary="Read the outline of a run", operation_id="read_outline")
def outline(key: RunId, lab: TheLab, caller: Reader) -> Outline:
    """Its length, flows, links and events, and whether it is kept, running or waiting; 404 if it ended without a trace."""
    return outline_of(lab, key)


@router.get(
    "/{id}/timelines",
    summary="Read many series of a run",
    operation_id="read_timelines",
    response_model=Timelines,
    responses={
        200: {
            "content": {
                FLOATS: {
                    "schema": {
                        "type": "string",
                        "format": "binary",
                        "description": "The length of a JSON text as a little-endian u32, the text, padded with spaces so that what "
                        "follows begins at a multiple of 8: of each series `count` float64 of `t_s`, then as many of `value`.",
                    }
                }
            },
            "description": "Times and values: JSON, or with `Accept: application/octet-stream` plain numbers.",
        }
    },
)
async def timelines(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    request: Request,
    response: Response,
    measure: Annotated[
        list[Annotated[str, Query(max_length=64)]] | None,
        Query(
            max_length=_MOST_MEASURES,
            description="Names of the catalogue's series; by default those of a run's page.",
            examples=[["cwnd", "queue"]],
        ),
    ] = None,
    begin_s: BeginQuery = 0.0,
    end_s: EndQuery = None,
    points: PointsQuery = 2000,
    if_none_match: KnownTag = None,
) -> Response:
    """Each measure of every flow and link that has it, with at most `points` values each, including every extreme: one response for a whole page."""
    key, part = await run_with_trace(lab, key)
    plain = FLOATS in request.headers.get("accept", "")
    measures = tuple(dict.fromkeys(measure or PAGE_SERIES))
    question = ("timelines", key, part, measures, begin_s, end_s, points, plain)
    response.headers["Vary"] = "Accept"

    def make() -> bytes:
        found = kept_timelines(lab.store, key, measures, begin_s=begin_s, end_s=end_s, points=points)
        if plain:
            return pack_timelines(key, found)
        rows = [
            timeline_row(kind, one) | {"t_s": one.t_s.round(9).tolist(), "value": one.values.tolist()}
            for kind, one in found
        ]
        return to_json({"run": key, "series": rows})

    kind = FLOATS if plain else "application/json"
    return await _pictures.respond(question, make, if_none_match, response, kind)


@router.get(
    "/{id}/distributions",
    summary="Read a distribution of a run",
    operation_id="read_distribution",
    response_model=Distribution,
)
async def distribution(
    key: RunId,
    lab: TheLab,
    caller: Reader,
    response: Response,
    measure: Annotated[
        Literal["rtt", "goodput", "queue_delay"],
        Query(description="A quantity of flows, or of the queues of links.", examples=["rtt"]),
    ],
    if_none_match: KnownTag = None,
) -> Response:
    """The empirical distribution function of the window's values, for each flow or link."""
    key, _ = await run_with_trace(lab, key, whole=True)
    question = ("distribution", key, measure)
    return await _pictures.respond(question, lambda: _distribution(lab, key, measure), if_none_match, response)


def _distribution(lab: Lab, key: str, measure: str) -> bytes:
    from longhaul.orchestrator.analysis.distributions import DISTRIBUTIONS

    curves = kept_distribution(lab.store, key, measure)
    rows = [{"of": one.label, "value": one.ms.tolist(), "share": one.share.tolist()} for one in curves]
    return to_json({"run": key, "measure": measure, "unit": DISTRIBUTIONS[measure], "curves": rows})
