"""Authentication: a token in the Authorization header, or a session cookie of the web page together with a CSRF token.

    read     may read                                        run      may also start runs, and cancel and delete the caller's own
    gate     may also set baselines of gated branches         admin    may also do everything else
    shared   may read one result (shared_views.py)

Where the operator has set it up, a reverse proxy names the user instead (proxy_sign_in.py).

Another site can make a browser send the cookie, but not the header `X-CSRF-Token`. Its value is a hash of the session, which the page
received at login, so it is not stored.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Annotated, Any, Protocol, TypeVar

from fastapi import Depends, Request
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from longhaul.api.lab import Lab
from longhaul.api.proxy_sign_in import caller_named, check_change, named_user
from longhaul.api.shared_views import is_shown
from longhaul.orchestrator.database.access.tokens import SHARED, Caller
from longhaul.orchestrator.system.access_settings import ProxySignIn
from longhaul.orchestrator.system.errors import AuthError, NotAllowed, RecordUnreachable
from longhaul.orchestrator.system.settings import Settings

SESSION_COOKIE = "longhaul_session"
CSRF_HEADER = "X-CSRF-Token"

_SAFE = ("GET", "HEAD", "OPTIONS")
# Tokens, sessions and names from a proxy are different credentials.
_TOKEN, _SESSION, _PROXY = "t", "s", "p"
# How long a looked-up token stays in the cache: one that was revoked elsewhere works at most this much longer.
_BELIEVED_S = 2.0
_MOST_BELIEVED = 1000

_bearer = HTTPBearer(auto_error=False, description="A token from `longhaul token add`.")
_cookie = APIKeyCookie(name=SESSION_COOKIE, auto_error=False, description="The session of a web page (POST /session).")


_Answer = TypeVar("_Answer")
# A question to a lab.
_Question = Callable[[Lab], Caller]


class LookUp(Protocol):
    """Asks the lab, at once or in a thread."""

    def __call__(self, question: Callable[[Lab], _Answer], /) -> Awaitable[_Answer]: ...


class Door:
    """Looks callers up and caches them briefly, since a page sends many requests at once; these share one look-up."""

    def __init__(self, look_up: LookUp) -> None:
        self._look_up = look_up
        self._known: dict[str, tuple[float, Caller]] = {}
        self._asked: dict[str, asyncio.Task[Caller]] = {}

    async def by_token(self, token: str) -> Caller:
        """The caller with this token."""
        return await self._remembered(_TOKEN + token, lambda lab: lab.access.caller(token))

    async def by_session(self, session: str) -> Caller:
        """The caller with this session."""
        return await self._remembered(_SESSION + session, lambda lab: lab.access.session_caller(session))

    def knows(self, user: str, caller: Caller) -> Caller:
        """Record a user that a proxy has named, as a caller whose credential is valid."""
        self._keep(_key(_PROXY + user), 0.0, caller)
        return caller

    async def shows(self, request: Request, caller: Caller) -> bool:
        """Whether the answer to a request is what the caller's link shares."""
        return await self._look_up(lambda lab: is_shown(request, request.scope["path"], lab.shares, caller.token_id))

    def was_valid(self, credential: str) -> bool:
        """Whether this token or session was valid when it was last looked up."""
        return _key(credential) in self._known

    def forget(self) -> None:
        """Empty the cache, because something was revoked."""
        self._known.clear()

    async def _remembered(self, secret: str, question: _Question) -> Caller:
        key = _key(secret)
        believed_until_s, caller = self._known.get(key, (0.0, None))
        if caller is not None and believed_until_s > time.monotonic():
            return caller
        if (asked := self._asked.get(key)) is None:
            asked = self._asked[key] = asyncio.create_task(self._found(key, question))
            asked.add_done_callback(lambda _: self._asked.pop(key))
        # A caller that gives up does not end the look-up of the others.
        return await asyncio.shield(asked)

    async def _found(self, key: str, question: _Question) -> Caller:
        try:
            caller = await self._look_up(question)
        except AuthError:
            self._known.pop(key, None)
            raise
        self._keep(key, time.monotonic() + _BELIEVED_S, caller)
        return caller

    def _keep(self, key: str, until_s: float, caller: Caller) -> None:
        if len(self._known) >= _MOST_BELIEVED:
            self._known.clear()
        self._known[key] = (until_s, caller)


def _key(secret: str) -> str:
    # A hash, so that the time of a look-up reveals nothing about known secrets.
    return hashlib.sha256(secret.encode(errors="replace")).hexdigest()


def credentials(scope: Mapping[str, Any], sign_in: ProxySignIn | None) -> str:
    """The caller's token, name from a proxy, or session; empty if there is none."""
    headers, user = Headers(raw=scope["headers"]), named_user(scope, sign_in)
    how, _, token = headers.get("authorization", "").partition(" ")
    # A token takes precedence; of another scheme the header is the proxy's affair.
    if how.lower() == "bearer":
        return _TOKEN + token.strip()
    if user is not None:
        return _PROXY + user
    # The header takes precedence over the cookie, whatever its scheme.
    if "authorization" in headers:
        return _TOKEN
    session = cookie_parser(headers.get("cookie", "")).get(SESSION_COOKIE)
    return _SESSION + session if session else ""


def csrf_token(session: str) -> str:
    """The CSRF token that a page with this session sends with every change."""
    return hmac.new(session.encode(), b"longhaul csrf", hashlib.sha256).hexdigest()


def csrf_token_of(caller: Caller) -> str:
    """That of a page whose user a proxy names: no secret, but no other site can send it as a header."""
    return csrf_token(_PROXY + caller.name)


async def authorise(request: Request, scope: str) -> Caller:
    """The caller, who must have this scope."""
    settings = _settings(request)
    credential = credentials(request.scope, settings.proxy_sign_in)
    found = await _who(request, credential)
    request.state.caller = found.name
    if credential.startswith(_SESSION):
        _check_csrf(request, credential.removeprefix(_SESSION))
    if found.by_proxy and request.method not in _SAFE:
        sent = request.headers.get(CSRF_HEADER, "")
        check_change(request.headers, request.url.path, settings.url, sent, csrf_token_of(found))
    if not found.may(scope) and not (scope == "read" and found.scope == SHARED and await _is_shared(request, found)):
        if found.scope == SHARED:
            what = "this link shows one result, and nothing else of the lab"
            raise NotAllowed("asking for", request.url.path, what, "log in with a token of the lab to see more")
        what = f"this needs the scope {scope}, and the token of {found.name} has {found.scope}"
        raise NotAllowed("asking for", request.url.path, what, "ask the lab's operator for another token")
    return found


def proxied(request: Request) -> bool:
    """Whether a proxy names the user of a request."""
    return named_user(request.scope, _settings(request).proxy_sign_in) is not None


def _settings(request: Request) -> Settings:
    lab: Lab = request.app.state.lab
    return lab.settings


async def _is_shared(request: Request, caller: Caller) -> bool:
    door: Door = request.app.state.door
    return await door.shows(request, caller)


def still_authorised(request: Request, scope: str) -> Callable[[], Awaitable[bool]]:
    """A check for streams whether the token is still valid; an unreachable database does not count against the caller."""

    async def ask() -> bool:
        try:
            with contextlib.suppress(RecordUnreachable):
                await authorise(request, scope)
        except (AuthError, NotAllowed):
            return False
        return True

    return ask


def scope_of(call: object) -> str | None:
    """The scope that a dependency requires, if any."""
    return getattr(call, "scope", None) if getattr(call, "__module__", "") == __name__ else None


async def _who(request: Request, credential: str) -> Caller:
    door: Door = request.app.state.door
    if credential.startswith(_TOKEN):
        return await door.by_token(credential.removeprefix(_TOKEN))
    if credential.startswith(_SESSION):
        return await door.by_session(credential.removeprefix(_SESSION))
    settings = _settings(request)
    if credential.startswith(_PROXY) and settings.proxy_sign_in is not None:
        user = credential.removeprefix(_PROXY)
        return door.knows(user, caller_named(user, request.headers, settings.proxy_sign_in, settings.url))
    raise AuthError("asking for", request.url.path, "the request has no token", "send Authorization: Bearer")


def _check_csrf(request: Request, session: str) -> None:
    if request.method in _SAFE:
        return
    sent = request.headers.get(CSRF_HEADER, "")
    if not hmac.compare_digest(sent.encode(), csrf_token(session).encode()):
        what = f"the header {CSRF_HEADER} does not match the session"
        raise NotAllowed(
            "changing something at", request.url.path, what, "log in again, and send the CSRF token of POST /session"
        )


def _require(scope: str) -> Callable[..., Awaitable[Caller]]:
    # Depends on the two schemes so that the reference lists them.
    async def caller(
        request: Request,
        bearer: Annotated[HTTPAuthorizationCredentials | None, Depends(_bearer)] = None,
        session: Annotated[str | None, Depends(_cookie)] = None,
    ) -> Caller:
        return await authorise(request, scope)

    caller.scope = scope  # type: ignore[attr-defined]  # read by scope_of
    return caller


Reader = Annotated[Caller, Depends(_require("read"))]
Runner = Annotated[Caller, Depends(_require("run"))]
Admin = Annotated[Caller, Depends(_require("admin"))]
