"""The OpenAPI document: FastAPI's description of the operations, and the parts that all of them share.

The framework describes parameters and bodies. The problems that an operation can return follow from whether it
authenticates the caller, reads a body, names something that may not exist, or changes something.
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
    "plans": "What an experiment resolves to before it runs.",
    "experiments": "Submit, follow, read and cancel experiments.",
    "runs": "Results, files, events and reruns of runs.",
    "comparisons": "Two experiments or runs, compared pair by pair.",
    "papers": "Claims of papers, this lab's measurements of them, and reproductions.",
    "catalogue": "The names that an experiment may use.",
    "hosts": "Hosts that can be leased, and who holds them.",
    "modules": "Congestion controls: their state, trials, and user-supplied modules where the operator allows them.",
    "kernels": "Kernels of guests: what they consist of, and those that admins send where the operator allows them.",
    "baselines": "The experiments with which later ones of the same name are compared, by branch.",
    "lab": "The run queue, workers, events and the state of the service.",
    "notifications": "Messages to users when an experiment ends, misses an expectation or is worse than its baseline.",
    "access": "Tokens, sessions of web pages, the log of changes.",
    "health": "For supervisors and for Prometheus.",
}
_WHY = {
    400: "The body is malformed.",
    401: "The request has no valid token or session.",
    403: "The caller's scope is too low, another user owns the resource, or the CSRF token is missing.",
    404: "Not found.",
    406: "No accepted media type is available.",
    408: "The body was not received in time.",
    409: "The request conflicts with the current state.",
    413: "The body is too large.",
    415: "The body's media type is not supported.",
    422: "A parameter or the body is not valid; `problems` has a line for each mistake.",
    429: "Too many requests, or a limit of the queue is reached; `Retry-After` states how long to wait where that helps.",
    500: "An internal error of the service.",
    507: "The disk of the service has too little space.",
    503: "The database or another service is temporarily unreachable.",
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
        responses["304"] = {"description": "The caller's copy is current."}
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


def _problem(status: int, description: str) -> Json:
    """The response of a status, with the operation's own description instead of the framework's, if it has one."""
    found: Json = {
        "description": description if description not in ("", HTTPStatus(status).phrase) else _WHY[status],
        "content": {PROBLEM_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}},
    }
    return found | ({"headers": _SOON} if status in (429, 503) else {})
