"""The OpenAPI document: what FastAPI knows of the operations, and what holds for all of them.

The framework knows parameters and bodies. Which problems an operation can answer with follows from what it is: whether it
needs to know who asks, reads a body, names something that may not be there, changes something.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from fastapi.routing import iter_route_contexts

from longhaul.api.errors import PROBLEM_TYPE
from longhaul.api.http.request_body import needed_scope
from longhaul.api.http.responses import ONLY_READ

Json = dict[str, Any]

_TAGS = {
    "plans": "What an experiment comes to before anybody runs it.",
    "experiments": "Hand one in, follow it, read what it came to, give it up.",
    "runs": "What one came to, its files, its events; and once more.",
    "comparisons": "Two experiments or runs, pair by pair.",
    "papers": "What papers state, what this lab has measured of it, and once more.",
    "catalogue": "Everything that an experiment may name.",
    "hosts": "What of the lab there is one of, and who has it.",
    "modules": "Congestion controls of one's own, where the operator allows them.",
    "baselines": "What experiments of a name are compared with, a branch each.",
    "lab": "What waits and runs, who carries it out, what happens, and the service's own state.",
    "access": "Tokens, sessions of web pages, the log of changes.",
    "health": "For supervisors and for Prometheus.",
}
_WHY = {
    400: "The body cannot be read.",
    401: "No token or session in force came with the request.",
    403: "Theirs allows less, somebody else owns it, or the CSRF token is missing.",
    404: "There is none.",
    406: "None of the forms that are accepted is to be had.",
    408: "The body did not come to its end.",
    409: "It does not go with what is recorded.",
    413: "The body is too large.",
    415: "This kind of body is not read.",
    422: "A parameter or the body is not what the operation takes; `problems` has a line each.",
    429: "Too many at once, or more than may wait; `Retry-After` says for how long where that helps.",
    500: "A fault of the service.",
    503: "What the service needs cannot be reached for the moment.",
}
_SOON: Json = {"Retry-After": {"schema": {"type": "integer"}, "description": "Seconds."}}


def reference(app: FastAPI) -> Json:
    """The document."""
    document = get_openapi(
        title=app.title,
        version=app.version,
        description=app.description,
        routes=app.routes,
        tags=[{"name": name, "description": about} for name, about in _TAGS.items()],
    )
    scopes = {
        route.operation_id: needed_scope(route.dependant)
        for route in iter_route_contexts(app.routes)
        if getattr(route, "operation_id", None)
    }
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    for method, operation in operations(document):
        _complete(method, operation, scopes[operation["operationId"]], schemas)
    return document


def operations(document: Json) -> Iterator[tuple[str, Json]]:
    """Method and operation, one after the other."""
    for item in document["paths"].values():
        yield from item.items()


def _complete(method: str, operation: Json, scope: str | None, schemas: Json) -> None:
    parameters = operation.get("parameters", [])
    responses = {status: answer for status, answer in operation["responses"].items() if not status.endswith("XX")}
    responses.pop("422", None)
    own = {int(status) for status in responses if int(status) >= 400}
    for status in sorted(own | set(_problems(method, operation, scope))):
        responses[str(status)] = _problem(status, responses.get(str(status), {}).get("description", ""))
    if any(one["name"].lower() == "if-none-match" for one in parameters):
        responses["304"] = {"description": "It is what the caller has."}
    operation["responses"] = dict(sorted(responses.items()))
    for one in parameters:
        if "examples" in one["schema"]:
            one["example"] = one["schema"].pop("examples")[0]
    if scope is not None:
        operation["x-scope"] = scope
    for content in operation.get("requestBody", {}).get("content", {}).values():
        name = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        if examples := schemas.get(name, {}).get("examples"):
            content["examples"] = {str(number): {"value": value} for number, value in enumerate(examples, 1)}


def _problems(method: str, operation: Json, scope: str | None) -> Iterator[int]:
    parameters, body = operation.get("parameters", []), "requestBody" in operation
    yield from (429, 500, 503)
    if scope is not None:
        yield from (401, 403)
    if any(one["in"] == "path" for one in parameters):
        yield 404
    if body:
        yield from (400, 408, 413, 415)
    if body or parameters:
        yield 422
    if method != "get" and operation["operationId"] not in (*ONLY_READ, "log_in", "log_out"):
        yield 409
    if any("content" in answer for status, answer in operation["responses"].items() if status.startswith("2")):
        yield 406


def _problem(status: int, said: str) -> Json:
    """In the operation's own words, where it has some: the framework's are the status' name."""
    found: Json = {
        "description": said if said not in ("", HTTPStatus(status).phrase) else _WHY[status],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    return found | ({"headers": _SOON} if status in (429, 503) else {})
