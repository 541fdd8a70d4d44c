"""Who is asking: a token in the Authorization header, or the session of a web page in a cookie, and then a CSRF token too.

    read     may look                                        run      may also start, cancel and delete what is theirs
    gate     may also set baselines of branches that gate    admin    may also do the rest

A page of another site can make a browser send the cookie, never the header `X-CSRF-Token`: it must equal what the page was
given when it logged in, which is a hash of its session and so needs no record.
"""

from __future__ import annotations

import contextlib
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from longhaul.orchestrator.database.access import Access, Caller
from longhaul.orchestrator.system.errors import AuthError, NotAllowed, RecordUnreachable

SESSION_COOKIE = "longhaul_session"
CSRF_HEADER = "X-CSRF-Token"

_SAFE = ("GET", "HEAD", "OPTIONS")
# Tokens and sessions are different secrets.
_TOKEN, _SESSION = "t", "s"
# How long a token that was looked up is believed: one that was revoked elsewhere works for so much longer at most.
_BELIEVED_S = 2.0
_MOST_BELIEVED = 1000

_bearer = HTTPBearer(auto_error=False, description="A token, as `longhaul token add` shows it once.")
_cookie = APIKeyCookie(name=SESSION_COOKIE, auto_error=False, description="The session of a web page (POST /session).")


class Door:
    """Looks callers up, and remembers them for a moment: a page asks for many things at once."""

    def __init__(self, access: Access) -> None:
        self.access = access
        self._known: dict[str, tuple[float, Caller]] = {}

    async def by_token(self, token: str) -> Caller:
        """Whose token it is."""
        return await self._remembered(_TOKEN + token, partial(self.access.caller, token))

    async def by_session(self, session: str) -> Caller:
        """Whose session it is."""
        return await self._remembered(_SESSION + session, partial(self.access.session_caller, session))

    def has_let_in(self, said: str) -> bool:
        """Whether this token or session was good when it was last looked up; it need not be so any more."""
        return _key(said) in self._known

    def forget(self) -> None:
        """Look everybody up again: something was revoked."""
        self._known.clear()

    async def _remembered(self, secret: str, look_up: Callable[[], Caller]) -> Caller:
        key = _key(secret)
        believed_until_s, caller = self._known.get(key, (0.0, None))
        if caller is not None and believed_until_s > time.monotonic():
            return caller
        try:
            caller = await run_in_threadpool(look_up)
        except AuthError:
            self._known.pop(key, None)
            raise
        if len(self._known) >= _MOST_BELIEVED:
            self._known.clear()
        self._known[key] = (time.monotonic() + _BELIEVED_S, caller)
        return caller


def _key(secret: str) -> str:
    # By a hash, so that how long a look-up takes says nothing about secrets that are known.
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def credentials(headers: Headers) -> str:
    """What somebody shows to be known, token or session; nothing where there is neither."""
    # Whoever says who they are in the header does not mean the cookie, whatever the scheme.
    if "authorization" in headers:
        scheme, _, token = headers["authorization"].partition(" ")
        return _TOKEN + (token.strip() if scheme.lower() == "bearer" else "")
    session = cookie_parser(headers.get("cookie", "")).get(SESSION_COOKIE)
    return _SESSION + session if session else ""


def csrf_token(session: str) -> str:
    """What a page with this session has to say when it changes something."""
    return hmac.new(session.encode(), b"longhaul csrf", hashlib.sha256).hexdigest()


async def authorise(request: Request, scope: str) -> Caller:
    """Who is asking, and that they may do what needs this scope."""
    said = credentials(request.headers)
    found = await _who(request, said)
    request.state.caller = found.name
    if said.startswith(_SESSION):
        _check_csrf(request, said.removeprefix(_SESSION))
    if not found.may(scope):
        what = f"this needs the scope {scope}, and {found.name}'s token has {found.scope}"
        raise NotAllowed("asking for", request.url.path, what, "ask whoever runs this lab for another token")
    return found


def still_welcome(request: Request, scope: str) -> Callable[[], Awaitable[bool]]:
    """Asks again, for answers that go on: a token may end before they do. A record that is away says nothing against anybody."""

    async def ask() -> bool:
        try:
            with contextlib.suppress(RecordUnreachable):
                await authorise(request, scope)
        except (AuthError, NotAllowed):
            return False
        return True

    return ask


def scope_of(call: object) -> str | None:
    """The scope that a dependency asks for, if it is one of those above."""
    return getattr(call, "scope", None) if getattr(call, "__module__", "") == __name__ else None


async def _who(request: Request, said: str) -> Caller:
    door: Door = request.app.state.door
    if said.startswith(_TOKEN):
        return await door.by_token(said.removeprefix(_TOKEN))
    if said.startswith(_SESSION):
        return await door.by_session(said.removeprefix(_SESSION))
    raise AuthError("asking for", request.url.path, "no token came with the request", "send Authorization: Bearer")


def _check_csrf(request: Request, session: str) -> None:
    if request.method in _SAFE:
        return
    said = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(said.encode(), csrf_token(session).encode()):
        what = f"the header {CSRF_HEADER} does not go with the session"
        raise NotAllowed(
            "changing something at", request.url.path, what, "log in again, and send what POST /session gave"
        )


def _require(scope: str) -> Callable[..., Awaitable[Caller]]:
    # The two schemes are asked for so that the reference names them.
    async def caller(
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None,
        session: Annotated[str | None, Depends(_cookie)] = None,
    ) -> Caller:
        return await authorise(request, scope)

    caller.scope = scope  # type: ignore[attr-defined]  # what scope_of finds
    return caller


Reader = Annotated[Caller, Depends(_require("read"))]
Runner = Annotated[Caller, Depends(_require("run"))]
Admin = Annotated[Caller, Depends(_require("admin"))]
