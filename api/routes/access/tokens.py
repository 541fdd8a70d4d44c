"""Tokens and the audit log, for admins; the session of a web page, for every caller with a token."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from longhaul.api.auth import SESSION_COOKIE, Admin, Door, Reader, csrf_token, csrf_token_of, proxied
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import MADE, ROOT
from longhaul.api.http.threads import in_long_thread
from longhaul.api.schemas.access import Login, NewToken, Session, ShownToken, Token
from longhaul.api.schemas.experiments import TOKEN_NAME
from longhaul.orchestrator.database.access.tokens import SESSION_S
from longhaul.orchestrator.system.errors import Conflict

router = APIRouter(route_class=Reading, tags=["access"])

_DAY_S = 86_400.0
_COOKIE_PATH = "/"


@router.get("/tokens", summary="List tokens", operation_id="list_tokens")
def list_tokens(lab: TheLab, caller: Admin) -> list[Token]:
    """Every token, revoked ones included, without secrets."""
    return [Token(**row) for row in lab.access.tokens()]


@router.post("/tokens", status_code=201, summary="Make a token", operation_id="make_token", responses=MADE)
def make_token(asked: NewToken, lab: TheLab, caller: Admin, response: Response) -> ShownToken:
    """Make a token; only this response contains it."""
    token, row = lab.access.add_token(asked.name, asked.scope, asked.days * _DAY_S if asked.days else None)
    response.headers["Location"] = f"{ROOT}/tokens/{row['name']}"
    return ShownToken(token=token, **row)


@router.delete("/tokens/{name}", summary="Revoke a token", operation_id="revoke_token")
def revoke_token(
    name: Annotated[str, Path(pattern=TOKEN_NAME, description="The token's name or id.", examples=["ci"])],
    lab: TheLab,
    caller: Admin,
    request: Request,
) -> Token:
    """Revoke a token and every session that was opened with it."""
    row = lab.access.revoke(name)
    door: Door = request.app.state.door
    door.forget()
    return Token(**row)


@router.get("/audit", summary="Read the audit log", operation_id="read_audit")
def audit(
    lab: TheLab,
    caller: Admin,
    limit: Annotated[int, Query(ge=1, le=500, description="The most entries to return.", examples=[20])] = 100,
    before: Annotated[
        int | None, Query(ge=1, le=2**62, description="Only entries older than the one with this id.", examples=[1000])
    ] = None,
) -> list[dict[str, Any]]:
    """Who changed what, from where, and with which result; the newest first."""
    return lab.access.audit(limit, before)


@router.post(
    "/session",
    status_code=201,
    summary="Log a web page in",
    operation_id="log_in",
    responses={
        401: {"description": "The token is not valid."},
        409: {"description": "A reverse proxy names the user of this page already."},
    },
)
async def log_in(login: Login, lab: TheLab, request: Request, response: Response) -> Session:
    """Exchange a token for a cookie that scripts cannot read. Changes also need the CSRF token of this response."""
    if proxied(request):
        what, hint = "the proxy has signed this page in", "send the token in the header Authorization instead"
        raise Conflict("logging in with", "a token", what, hint)
    door: Door = request.app.state.door
    caller = await door.by_token(login.token)
    request.state.caller = caller.name
    session = await in_long_thread(lab.access.open_session, caller)
    response.set_cookie(
        SESSION_COOKIE,
        session,
        max_age=SESSION_S,
        path=_COOKIE_PATH,
        httponly=True,
        samesite="strict",
        secure=request.url.scheme == "https",
    )
    return Session(name=caller.name, scope=caller.scope, csrf_token=csrf_token(session), by_proxy=False)


@router.get("/session", summary="Read the session", operation_id="read_session")
def read_session(request: Request, caller: Reader) -> Session:
    """The caller's name and scope, and the CSRF token of the page's session."""
    session = request.cookies.get(SESSION_COOKIE, "")
    csrf = csrf_token_of(caller) if caller.by_proxy else csrf_token(session) if session else ""
    return Session(name=caller.name, scope=caller.scope, csrf_token=csrf, by_proxy=caller.by_proxy)


@router.delete("/session", status_code=204, summary="Log out", operation_id="log_out")
def log_out(lab: TheLab, request: Request, response: Response, caller: Reader) -> None:
    """End the session of the page."""
    if session := request.cookies.get(SESSION_COOKIE):
        lab.access.close_session(session)
        door: Door = request.app.state.door
        door.forget()
    secure = request.url.scheme == "https"
    response.delete_cookie(SESSION_COOKIE, path=_COOKIE_PATH, httponly=True, samesite="strict", secure=secure)
