"""Reading of requests and negotiation of media types: `Reading` is the class of all routes.

    the caller is authorised  -->  an accepted media type exists  -->  the body's media type is supported  -->  it is plain data

In this order, so that the service parses nothing from unauthorised callers. A body is strict JSON (no NaN, no
duplicate names, limited depth, valid text) or, for operations that take an experiment, its file as YAML.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine, Iterator
from typing import IO, Any, NoReturn

from fastapi import Request, Response
from fastapi.dependencies.models import Dependant
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException

from longhaul.api.auth import authorise, scope_of
from longhaul.api.http.threads import in_its_turn, in_long_thread
from longhaul.orchestrator.spec.yaml_text import no_text, parse_document, unreadable

JSON = "application/json"
OCTETS = "application/octet-stream"
YAML = "application/yaml"
# Deeper than any valid body, and less deep than the limit of any parser.
_DEEPEST = 40
# Of a file, written at once.
_CHUNK_BYTES = 1 << 20
# Fields that distinguish an experiment from a document that contains or names one.
_OF_EXPERIMENTS, _OF_REQUESTS = frozenset({"experiment", "flows"}), frozenset({"spec", "shipped"})

EXPERIMENT_FILE: dict[str, Any] = {
    "requestBody": {
        "content": {
            YAML: {
                "schema": {"type": "object", "description": "An experiment's file (docs/experiment-format.md)."},
                "example": (
                    "experiment: first-look\npath: {bandwidth: 100 Mbit/s, rtt: 40 ms}\n"
                    "flows:\n  - {name: one, cc: cubic}\nduration: 5 s\n"
                ),
            }
        }
    }
}


class Reading(APIRoute):
    """A route that authorises the caller before it reads the body."""

    def __init__(self, path: str, endpoint: Callable[..., Any], **options: Any) -> None:
        super().__init__(path, in_its_turn(endpoint, options.get("methods") or ["GET"]), **options)

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler with these checks."""
        handle = super().get_route_handler()
        scope = needed_scope(self.dependant)
        answers, reads = _answers(self), _reads(self)

        async def handler(request: Request) -> Response:
            if scope and reads:
                await authorise(request, scope)
            if answers and not _accepted(request.headers.get("accept", ""), answers):
                raise HTTPException(406, f"available as {' or '.join(answers)}")
            return await handle(await _plain(request, reads) if reads else request)

        return handler


def needed_scope(dependant: Dependant) -> str | None:
    """The scope that an operation's dependencies require."""
    found = [scope_of(dependant.call), *(needed_scope(inner) for inner in dependant.dependencies)]
    return next((scope for scope in found if scope), None)


def _answers(route: APIRoute) -> list[str]:
    """The media types of successful responses; none if they are not declared or have no content."""
    status = route.status_code or 200
    declared = route.responses.get(status, {}).get("content")
    if declared:
        return list(declared)
    media = getattr(getattr(route.response_class, "value", route.response_class), "media_type", None)
    return [media] if media and status != 204 else []


def _reads(route: APIRoute) -> list[str]:
    """The media types of bodies."""
    if route.body_field is None:
        return []
    declared = (route.openapi_extra or {}).get("requestBody", {}).get("content", {})
    return [JSON, *declared]


def _accepted(accept: str, answers: list[str]) -> bool:
    """Whether one of the media types is accepted; without the header any is."""
    ranges = [one.partition(";")[0].strip().lower() for one in accept.split(",") if one.strip()]
    for media in answers:
        whole = media.partition(";")[0]
        if {whole, f"{whole.partition('/')[0]}/*", "*/*"} & set(ranges):
            return True
    return not ranges


async def _plain(request: Request, reads: list[str]) -> Request:
    """The request with its body as strict JSON."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise HTTPException(
            415,
            f"the content encoding {packed} is not supported; send the body uncompressed",
            {"Accept-Encoding": "identity"},
        )
    body = await request.body()
    if not body:
        return request
    if kind not in reads:
        raise HTTPException(
            415, f"{kind or 'a body without a Content-Type'} is not supported; send {' or '.join(reads)}"
        )
    try:
        text = body.decode()
    except UnicodeDecodeError:
        raise HTTPException(400, "the body is not UTF-8") from None
    if kind == YAML:
        document = await in_long_thread(parse_document, "experiment", text)
        return _as_json(request, json.dumps({"spec": document.data}).encode())
    data = await in_long_thread(_plain_json, text)
    # An experiment as YAML.
    if YAML in reads and isinstance(data, dict) and data.keys() & _OF_EXPERIMENTS and not data.keys() & _OF_REQUESTS:
        return _as_json(request, json.dumps({"spec": data}).encode())
    return request


def _as_json(request: Request, body: bytes) -> Request:
    headers = [(name, value) for name, value in request.scope["headers"] if name != b"content-type"]
    scope = {**request.scope, "headers": [*headers, (b"content-type", JSON.encode())]}

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": body, "more_body": False}

    return Request(scope, receive)


def _plain_json(text: str) -> object:
    try:
        data = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise HTTPException(400, "the document is nested too deeply") from None
    except ValueError as error:
        raise HTTPException(400, f"the body is not JSON: {error}") from None
    if any(depth > _DEEPEST for depth in _depths(data)):
        raise HTTPException(400, "the document is nested too deeply")
    if no_text(data):
        raise _no_text(("body",), "control characters and lone surrogates are not allowed")
    # An experiment's text is kept and shown; other text follows the published pattern.
    spec = data.get("spec", data if data.keys() & _OF_EXPERIMENTS else None) if isinstance(data, dict) else None
    if unreadable(spec):
        what = "control characters, including those for the text direction, are not allowed in an experiment"
        raise _no_text(("body", "spec"), what)
    found: object = data
    return found


def file_body(example: str, about: str = "The archive.") -> dict[str, Any]:
    """The body of an operation that takes a file, for the API's reference."""
    schema = {"type": "string", "format": "binary", "description": about}
    return {"requestBody": {"required": True, "content": {OCTETS: {"schema": schema, "example": example}}}}


def require_octets(request: Request) -> None:
    """Refuse a body of another type than a file's."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != OCTETS:
        raise HTTPException(415, f"{kind or 'a body without a Content-Type'} is not supported; send {OCTETS}")


async def write_body(request: Request, file: IO[bytes]) -> int:
    """Write a body to a file as it arrives, and return its length, which the middleware limits."""
    packed = request.headers.get("content-encoding", "identity").strip().lower()
    if packed not in ("", "identity"):
        raise HTTPException(415, f"the content encoding {packed} is not supported; send the file as it is")
    count, waiting = 0, bytearray()
    async for piece in request.stream():
        waiting += piece
        count += len(piece)
        if len(waiting) >= _CHUNK_BYTES:
            await in_long_thread(file.write, bytes(waiting))
            waiting.clear()
    file.write(waiting)
    file.flush()
    return count


def _no_text(where: tuple[str, ...], what: str) -> RequestValidationError:
    return RequestValidationError([{"type": "text", "loc": where, "msg": what}])


def _no_number(written: str) -> NoReturn:
    raise ValueError(f"{written} is not a number")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name occurs twice")
    return found


def _depths(data: object) -> Iterator[int]:
    """The depth of each container, without recursion."""
    waiting = [(data, 1)]
    while waiting:
        here, depth = waiting.pop()
        if isinstance(here, dict | list):
            yield depth
            waiting += [(inner, depth + 1) for inner in (here.values() if isinstance(here, dict) else here)]
