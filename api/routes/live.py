"""Live samples of a running run, which a page draws until the trace is kept."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Header, Request
from fastapi.responses import StreamingResponse
from starlette.concurrency import run_in_threadpool

from longhaul.api.auth import Reader, still_authorised
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
            description="The last event received: the samples after it follow, also after a restart of the service.",
            examples=["v.1500"],
        ),
    ] = "",
) -> StreamingResponse:
    """Samples of its series while it is running, each once, in order of time. The stream ends with the run; then its series are kept."""
    await run_in_threadpool(find_run, lab, key)
    return EventStream(stream(watchers, key, last_event_id, hub.closing, still_authorised(request, "read")), request)
