"""A run that goes on, as samples while they come: what a page draws until there is a kept trace to draw."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from longhaul.api.auth import Reader, still_welcome
from longhaul.api.dependencies import TheHub, TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import EVENT_STREAM, EventStream
from longhaul.api.routes.runs import RunId, find_run
from longhaul.api.streams.live_run import TheWatchers, stream

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

_SAMPLES: dict[int | str, dict[str, Any]] = {
    200: EVENT_STREAM[200] | {"description": "`state`, `begin`, `samples` and `end` (docs/service.md)."}
}


@router.get(
    "/{id}/live",
    summary="Watch a run",
    operation_id="watch_run",
    response_class=StreamingResponse,
    responses=_SAMPLES,
)
async def live(
    key: RunId,
    lab: TheLab,
    hub: TheHub,
    watchers: TheWatchers,
    caller: Reader,
    request: Request,
    last_event_id: Annotated[
        str,
        Header(
            alias="Last-Event-ID",
            pattern=r"^([a-z0-9-]{1,40}\.[0-9]{1,15}(\.[0-9]{1,15})?)?$",
            description="The event that came last: samples after it come next, in another life of the service too.",
            examples=["v.1500"],
        ),
    ] = "",
) -> StreamingResponse:
    """Samples of its series while it goes on, each once, in the order of time; the stream ends with the run, whose series are then kept."""
    await run_in_threadpool(find_run, lab, key)
    return EventStream(stream(watchers, key, last_event_id, hub.closing, still_welcome(request, "read")), request)
