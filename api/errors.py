"""Every LonghaulError and every HTTP error as a problem document (RFC 9457).

{"type": "/problems/spec-error", "title": "The experiment as written is not valid", "status": 422,
 "detail": "...", "attempting": "...", "subject": "...", "what": "...", "hint": "...", "request_id": "..."}
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from fastapi.routing import iter_route_contexts
from pydantic.fields import FieldInfo
from starlette.exceptions import HTTPException
from starlette.routing import compile_path

from longhaul.api.redaction import Outward
from longhaul.orchestrator.spec.sweep import below, part_of
from longhaul.orchestrator.system.errors import (
    FieldProblem,
    LonghaulError,
    OverLimit,
    RecordUnreachable,
    SpecError,
    nearest,
)

_LOG = logging.getLogger("longhaul.api")

PROBLEM_TYPE = "application/problem+json"

# When to repeat a request that failed temporarily.
_SOON_S = 5

_TITLES = {
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    406: "Not Acceptable",
    408: "Request Timeout",
    413: "Content Too Large",
    415: "Unsupported Media Type",
    416: "Range Not Satisfiable",
}


def problem_document(request_id: str, status: int, kind: str, title: str, **more: Any) -> dict[str, Any]:
    """The fields of a problem document."""
    empty = {"detail": "", "attempting": "", "subject": "", "what": "", "hint": "", "request_id": request_id}
    return {"type": f"/problems/{kind}", "title": title, "status": status, **empty, **more}


def problem(request: Request, status: int, kind: str, title: str, **more: Any) -> JSONResponse:
    """A problem document as a response."""
    more = {"attempting": f"{request.method} {request.url.path}"} | more
    body = problem_document(getattr(request.state, "request_id", ""), status, kind, title, **more)
    headers = {"WWW-Authenticate": 'Bearer realm="longhaul"'} if status == 401 else {}
    return JSONResponse(body, status_code=status, media_type=PROBLEM_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Install the handlers of all errors."""
    app.add_exception_handler(LonghaulError, _longhaul_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    app.add_exception_handler(HTTPException, _http_error)


async def _longhaul_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, LonghaulError)
    if error.http_status >= 500:
        labels = {"request_id": getattr(request.state, "request_id", ""), "problem": error.kind()}
        _LOG.error("%s", error, extra=labels)
    outward: Outward = request.app.state.outward
    error = outward.error(error)
    more: dict[str, Any] = {
        "detail": outward.text(str(error)),
        "attempting": error.attempting,
        "subject": outward.text(error.subject),
        "what": outward.text(error.what),
        "hint": outward.text(error.hint),
    }
    if isinstance(error, SpecError):
        more["problems"] = [outward.text(str(one)) for one in error.problems]
        more["fields"] = [_field(one) for one in error.problems if isinstance(one, FieldProblem)]
    response = problem(request, error.http_status, error.kind(), _title(error), **more)
    wait_s = (
        _SOON_S if isinstance(error, RecordUnreachable) else error.retry_after_s if isinstance(error, OverLimit) else 0
    )
    if wait_s:
        response.headers["Retry-After"] = str(wait_s)
    return response


def _field(problem: FieldProblem) -> dict[str, Any]:
    return {
        "location": problem.location,
        "field": problem.field,
        "read": problem.read,
        "what": problem.what,
        "nearest": problem.nearest,
        "misnamed": problem.misnamed,
    }


async def _invalid_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [_sentence(request, one) for one in error.errors()]
    return problem(
        request, 422, "request", "The request is not valid", detail="; ".join(problems), problems=problems
    )  # fmt: skip


_SHORT_ID = re.compile(r"\^\[0-9a-f\]\{([0-9]+),([0-9]+)\}\$")
_ID = re.compile(r"\^\[0-9a-f\]\{([0-9]+)\}\$(?:\|\^\[0-9a-f\]\{([0-9]+)\}\$)?")


def _sentence(request: Request, fault: Mapping[str, Any]) -> str:
    """The place of a value, the value, and what is allowed there."""
    where, known = ".".join(str(part) for part in fault["loc"]), fault.get("ctx", {})
    if fault["type"] == "literal_error":
        return f"{where}: {str(fault['input'])[:64]!r} is not one of {known['expected']}"
    if fault["type"] == "string_pattern_mismatch" and (form := _ID.fullmatch(known["pattern"])):
        digits = " or ".join(filter(None, form.groups()))
        return f"{where}: {str(fault['input'])[:64]!r} is not an id, which has {digits} digits of 0-9 and a-f"
    if fault["type"] == "string_pattern_mismatch" and (form := _SHORT_ID.fullmatch(known["pattern"])):
        few, digits = form.groups()
        read = str(fault["input"])[:64]
        return f"{where}: {read!r} is not an id, which has {digits} digits of 0-9 and a-f; the first {few} are enough"
    if fault["type"] == "string_pattern_mismatch":
        read, example = str(fault["input"])[:64], _example(request, fault["loc"])
        return f"{where}: {read!r} does not have the allowed form{f', for instance {example}' if example else ''}"
    if fault["type"] != "extra_forbidden" or fault["loc"][0] != "body":
        return f"{where}: {fault['msg']}"
    fields = _body_fields(request, fault["loc"])
    return f"{where}: unknown field; known: {', '.join(fields)}{nearest(str(fault['loc'][-1]), list(fields))}"


def _example(request: Request, place: Sequence[Any]) -> str:
    """An allowed value of a parameter or of a field of the body; empty if its documentation has none."""
    where, name = place[0], str(place[-1])
    if where == "body":
        field = _body_fields(request, place).get(name)
        examples = field.examples if field is not None else None
    else:
        route = request.scope.get("route")
        found = (one for one in _parameters(getattr(route, "dependant", None), where) if one.alias == place[1])
        examples = next((one.field_info.examples for one in found), None)
    example = (examples or [""])[0]
    return str(example[0] if isinstance(example, list) else example)


def _parameters(dependant: Any, where: str) -> Iterator[Any]:
    """The parameters of a route in its path, its query or its headers, with those of its dependencies."""
    if dependant is not None:
        yield from getattr(dependant, f"{where}_params", ())
        for one in dependant.dependencies:
            yield from _parameters(one, where)


def _body_fields(request: Request, place: Sequence[Any]) -> dict[str, FieldInfo]:
    """The fields beside a place of the body, by their names."""
    body = getattr(request.scope.get("route"), "body_field", None)
    if body is None:
        return {}
    model = part_of(reduce(below, place[1:-1], body.field_info.annotation))
    return {field.alias or name: field for name, field in model.model_fields.items()} if model else {}


async def _http_error(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, "The request failed")
    response = problem(request, error.status_code, f"http-{error.status_code}", title, detail=str(error.detail))
    response.headers.update(error.headers or {})
    if error.status_code == 405:
        # The router reports the first operation of a path only.
        response.headers["Allow"] = ", ".join(methods_at(request.app, request.url.path))
    return response


def methods_at(app: FastAPI, path: str) -> list[str]:
    """The methods of a path: those of the route with exactly this path, or else of routes whose parameters match."""
    here = [one for one in iter_route_contexts(app.routes) if one.path and compile_path(one.path)[0].match(path)]
    named = [one for one in here if one.path == path] or here
    methods = {method for route in named for method in route.methods or ()}
    return sorted(methods | {"HEAD"} if "GET" in methods else methods)


def _title(error: LonghaulError) -> str:
    return (type(error).__doc__ or "").partition("\n")[0].partition(";")[0].rstrip(".")
