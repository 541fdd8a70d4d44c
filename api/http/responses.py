"""Shared parts of responses: the root of all paths, entity tags, media types other than JSON."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Annotated, Any

from fastapi import Header, Request, Response
from fastapi.responses import StreamingResponse
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from longhaul.api.http.limits import Streams
from longhaul.api.http.threads import in_long_thread
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
                        "id": {
                            "type": "string",
                            "description": "The value for Last-Event-ID to resume after this event.",
                        },
                        "event": {"type": "string", "description": "What happened (docs/service.md)."},
                        "data": {
                            "type": "string",
                            "description": "A JSON document: at, kind, run, and the fields of this kind.",
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
        alias="If-None-Match", description="The ETag of an earlier response.", examples=['"9b74c9897bac770ffc029102"']
    ),
]
LastEvent = Annotated[
    int, Header(alias="Last-Event-ID", ge=0, le=2**62, description="The last event received.", examples=[0])
]


_PIECE_BYTES = 1 << 16

# POST operations that only read.
ONLY_READ = ("make_plan", "preview_plan", "show_recording_model")


class NotChanged(Exception):
    """The caller's copy is current."""

    def __init__(self, tag: str) -> None:
        super().__init__(tag)
        self.headers = {"ETag": tag, "Cache-Control": "private, no-cache"}


def tag(*parts: str) -> str:
    """An entity tag of content that these parts determine."""
    return '"' + hashlib.sha256("\n".join(parts).encode()).hexdigest()[:24] + '"'


def not_changed(current: str | None, asked: str | None, response: Response) -> None:
    """Respond with 304 if the caller has this tag, otherwise send the tag; None: the content still changes."""
    if current is None:
        response.headers["Cache-Control"] = "no-store"
        return
    if asked is not None and (
        asked.strip() == "*" or current in [one.strip().removeprefix("W/") for one in asked.split(",")]
    ):
        raise NotChanged(current)
    response.headers.update(NotChanged(current).headers)


def rendered(document: object, response: Response | None = None) -> Response:
    """JSON of plain data in the shape that the operation declares, with the headers of `response`; tests check the shape, not each response."""
    headers = None if response is None else dict(response.headers)
    return Response(to_json(document, inf_nan_mode="null"), media_type="application/json", headers=headers)


def streamed(parts: Iterator[bytes], headers: Mapping[str, str]) -> StreamingResponse:
    """JSON of any length in pieces, made in the threads for long work; an error in the first one still has its status."""
    pieces = _joined(parts)
    return StreamingResponse(_sent(next(pieces), pieces), media_type="application/json", headers=headers)


async def _sent(first: bytes, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    while piece := await in_long_thread(next, pieces, b""):
        yield piece


def _joined(parts: Iterator[bytes]) -> Iterator[bytes]:
    piece = bytearray()
    for part in parts:
        piece += part
        if len(piece) >= _PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    yield bytes(piece)


class EventStream(StreamingResponse):
    """Server-sent events, which proxies must neither cache nor buffer; counted against the caller's limit of streams."""

    def __init__(self, events: AsyncIterator[bytes], request: Request) -> None:
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(events, media_type="text/event-stream", headers=headers)
        self._caller: str = request.state.caller
        self._streams: Streams = request.app.state.streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the events, if the caller may have one more stream."""
        with self._streams.one_of(self._caller):
            await super().__call__(scope, receive, send)
