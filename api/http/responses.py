"""What several endpoints answer with: the root of all paths, entity tags, the kinds of content that are not JSON."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from longhaul.api.http.limits import Streams
from longhaul.api.schemas.experiments import LIVE as LIVE
from longhaul.api.schemas.experiments import ROOT as ROOT

EVENT_STREAM: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "text/event-stream": {
                "schema": {
                    "type": "object",
                    "description": "One event.",
                    "properties": {
                        "id": {"type": "string", "description": "What Last-Event-ID resumes after."},
                        "event": {"type": "string", "description": "What happened (docs/service.md)."},
                        "data": {
                            "type": "string",
                            "description": "A JSON document: at, kind, run, and what belongs to it.",
                        },
                    },
                }
            }
        },
        "description": "Events with `id`, `event` and JSON `data`.",
    }
}


MADE: dict[int | str, dict[str, Any]] = {
    201: {"headers": {"Location": {"schema": {"type": "string"}, "description": "Its path from the server's root."}}}
}


KnownTag = Annotated[
    str | None,
    Header(
        alias="If-None-Match", description="The ETag of an earlier answer.", examples=['"9b74c9897bac770ffc029102"']
    ),
]
LastEvent = Annotated[
    int, Header(alias="Last-Event-ID", ge=0, le=2**62, description="The event that was seen last.", examples=[0])
]


# Operations that are posted for what they read, and change nothing.
ONLY_READ = ("make_plan", "preview_plan")


class NotChanged(Exception):
    """The caller has it already."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.headers = {"ETag": tag, "Cache-Control": "private, no-cache"}


def tag(*parts: str) -> str:
    """An entity tag of something that is determined by these."""
    return '"' + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24] + '"'


def not_changed(current: str | None, asked: str | None, response: Response) -> None:
    """Answer 304 to whoever has this, and else send the tag along; None: it still changes."""
    if current is None:
        response.headers["Cache-Control"] = "no-store"
        return
    if asked is not None and (
        asked.strip() == "*" or current in [one.strip().removeprefix("W/") for one in asked.split(",")]
    ):
        raise NotChanged(current)
    response.headers.update(NotChanged(current).headers)


def rendered(document: object) -> Response:
    """JSON of plain data that has the shape its operation declares; tests hold the two together, not every answer anew."""
    return Response(to_json(document), media_type="application/json")


class EventStream(StreamingResponse):
    """Server-sent events, which nobody on the way may keep or hold back; one of those that the caller may have open."""

    def __init__(self, events: AsyncIterator[bytes], request: Request) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._caller: str = request.state.caller
        self._streams: Streams = request.app.state.streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send them, if there may be one more stream."""
        with self._streams.one_of(self._caller):
            await super().__call__(scope, receive, send)
