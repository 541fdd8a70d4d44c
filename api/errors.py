"""Every error of the road, and every one of HTTP itself, as one problem document (RFC 9457).

{"type": "/problems/spec-error", "title": "The experiment as written is not valid", "status": 422,
 "detail": "...", "attempting": "...", "subject": "...", "what": "...", "hint": "...", "request_id": "..."}
"""

from __future__ import annotations

import logging
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException

from orchestrator.errors import AuthError, LonghaulError, OverLimit, SpecError

_LOG = logging.getLogger("longhaul.api")

PROBLEM_TYPE = "application/problem+json"

_TITLES = {
    400: "The request cannot be read",
    404: "There is nothing here",
    405: "This cannot be done here",
    406: "No such form of it",
    413: "The request is too large",
    415: "This kind of content is not read",
    416: "There is no such part of it",
}


def problem(request: Request, status: int, kind: str, title: str, **more: Any) -> JSONResponse:
    """One problem document."""
    body = {
        "type": f"/problems/{kind}",
        "title": title,
        "status": status,
        "detail": "",
        "attempting": f"{request.method} {request.url.path}",
        "subject": "",
        "what": "",
        "hint": "",
        "request_id": getattr(request.state, "request_id", ""),
        **more,
    }
    headers = {"WWW-Authenticate": 'Bearer realm="longhaul"'} if status == 401 else {}
    return JSONResponse(body, status_code=status, media_type=PROBLEM_TYPE, headers=headers)


def install(app: FastAPI) -> None:
    """Make the service speak so whenever something goes wrong."""
    app.add_exception_handler(LonghaulError, _of_the_road)
    app.add_exception_handler(RequestValidationError, _of_the_request)
    app.add_exception_handler(HTTPException, _of_http)
    app.add_exception_handler(RecursionError, _too_deep)
    app.add_exception_handler(Exception, _unforeseen)


async def _of_the_road(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, LonghaulError)
    if error.http_status >= 500:
        _LOG.error("%s", error, extra={"request_id": getattr(request.state, "request_id", "")})
    more: dict[str, Any] = {
        "detail": str(error),
        "attempting": error.attempting,
        "subject": error.subject,
        "what": error.what,
        "hint": error.hint,
    }
    if isinstance(error, SpecError):
        more["problems"] = error.problems
    response = problem(request, error.http_status, error.kind(), _title(error), **more)
    if isinstance(error, OverLimit) and error.retry_after_s:
        response.headers["Retry-After"] = str(error.retry_after_s)
    if isinstance(error, AuthError) and error.http_status == 401:
        response.headers["WWW-Authenticate"] = 'Bearer realm="longhaul"'
    return response


async def _of_the_request(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    problems = [f"{'.'.join(str(part) for part in one['loc'])}: {one['msg']}" for one in error.errors()]
    return problem(
        request, 422, "request", "The request is not what this operation takes", detail="; ".join(problems), problems=problems
    )  # fmt: skip


async def _of_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    title = _TITLES.get(error.status_code, "The request was not carried out")
    response = problem(request, error.status_code, f"http-{error.status_code}", title, detail=str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _too_deep(request: Request, error: Exception) -> JSONResponse:
    return problem(request, 400, "http-400", _TITLES[400], detail="the document is nested too deeply")


async def _unforeseen(request: Request, error: Exception) -> JSONResponse:
    request_id = getattr(request.state, "request_id", "")
    _LOG.exception("unforeseen", exc_info=error, extra={"request_id": request_id})
    hint = f"please report it, with the service's log of request {request_id}"
    return problem(request, 500, "fault", "A fault of the service", hint=hint)


def _title(error: LonghaulError) -> str:
    return (type(error).__doc__ or "").partition("\n")[0].partition(";")[0].rstrip(".")
