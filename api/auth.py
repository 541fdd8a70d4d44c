"""Who is asking: a token in the Authorization header, or the session of a web page in a cookie, and then a CSRF token too.

    read    may look          run    may also start, cancel and delete what is theirs          admin    may also do the rest

A page of another site can make a browser send the cookie, never the header `X-CSRF-Token`: it must equal what the page was
given when it logged in, which is a hash of its session and so needs no record.
"""

from __future__ import annotations

import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Annotated

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.concurrency import run_in_threadpool

from orchestrator.errors import AuthError, NotAllowed
from orchestrator.results.access import Access, Caller

SESSION_COOKIE = "longhaul_session"
CSRF_HEADER = "X-CSRF-Token"

_SAFE = ("GET", "HEAD", "OPTIONS")
# How long a token that was looked up is believed: a revoked one works for so much longer at most.
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
        return await self._remembered("t" + token, partial(self.access.caller, token))

    async def by_session(self, session: str) -> Caller:
        """Whose session it is."""
        return await self._remembered("s" + session, partial(self.access.session_caller, session))

    def forget(self) -> None:
        """Look everybody up again: something was revoked."""
        self._known.clear()

    async def _remembered(self, secret: str, look_up: Callable[[], Caller]) -> Caller:
        # By a hash, so that how long a look-up takes says nothing about secrets that are known.
        key = hashlib.sha256(secret.encode()).hexdigest()
        believed_until_s, caller = self._known.get(key, (0.0, None))
        if caller is not None and believed_until_s > time.monotonic():
            return caller
        caller = await run_in_threadpool(look_up)
        if len(self._known) >= _MOST_BELIEVED:
            self._known.clear()
        self._known[key] = (time.monotonic() + _BELIEVED_S, caller)
        return caller


def csrf_token(session: str) -> str:
    """What a page with this session has to say when it changes something."""
    return hmac.new(session.encode(), b"longhaul csrf", hashlib.sha256).hexdigest()


def require(scope: str) -> Callable[..., Awaitable[Caller]]:
    """A dependency: the caller, who may do what needs this scope."""

    async def caller(
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None,
        session: Annotated[str | None, Depends(_cookie)] = None,
    ) -> Caller:
        door: Door = request.app.state.door
        if bearer is not None:
            found = await door.by_token(bearer.credentials)
        elif session:
            found = await door.by_session(session)
            _check_csrf(request, session)
        else:
            raise AuthError(
                "asking for", request.url.path, "no token came with the request", "send Authorization: Bearer"
            )
        request.state.caller = found.name
        if not found.may(scope):
            what = f"this needs the scope {scope}, and {found.name}'s token has {found.scope}"
            raise NotAllowed("asking for", request.url.path, what, "ask whoever runs this lab for another token")
        return found

    caller.scope = scope  # type: ignore[attr-defined]  # what tests enumerate routes by
    return caller


def _check_csrf(request: Request, session: str) -> None:
    if request.method in _SAFE:
        return
    said = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(said.encode(), csrf_token(session).encode()):
        what = f"the header {CSRF_HEADER} does not go with the session"
        raise NotAllowed(
            "changing something at", request.url.path, what, "log in again, and send what POST /session gave"
        )


Reader = Annotated[Caller, Depends(require("read"))]
Runner = Annotated[Caller, Depends(require("run"))]
Admin = Annotated[Caller, Depends(require("admin"))]
