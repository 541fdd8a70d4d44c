"""What every request passes: an id, limits of rate, size and patience, headers for browsers, one line of log, the audit.

Plain ASGI, so that streams are never buffered. HEAD is answered as GET is, without the body.
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import secrets
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longhaul.api.auth import credentials
from longhaul.api.errors import PROBLEM_TYPE, problem_document
from longhaul.api.http.limits import Limits
from longhaul.api.http.responses import ONLY_READ, ROOT
from longhaul.api.http.threads import in_long_thread
from longhaul.orchestrator.system.errors import ResultsError

_LOG = logging.getLogger("longhaul.api")
_ACCESS = logging.getLogger("longhaul.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
MOST_BODY_BYTES = 1024 * 1024
# Between two pieces of a body.
_BODY_PATIENCE_S = 20.0
# What logs and metrics call a request whose caller left before an answer began; nobody receives it.
_LEFT = 499
_LARGEST = f"a request may have {MOST_BODY_BYTES // 1024} KiB"

_SAFE = ("GET", "HEAD", "OPTIONS", "TRACE")
_LOGIN = f"{ROOT}/session"

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_POLICY = "default-src 'none'; frame-ancestors 'none'"


class Requests:
    """The outermost part of the service."""

    def __init__(self, app: ASGIApp, *, state: Any) -> None:
        self._app = app
        self._state = state
        self._limits = Limits(float(state.lab.settings.rate_limit))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request = _Request(scope, receive, send)
        try:
            if (wait_s := self._wait(request)) > 0:
                await request.refuse(429, "Too many requests", f"try again in {wait_s:.0f} s", wait_s=wait_s)
            elif request.length() > MOST_BODY_BYTES:
                await request.refuse(413, "The request is too large", _LARGEST)
            else:
                await self._app(request.scope, request.receive, request.send)
                await request.end()
        except ClientDisconnect:
            # In the middle of its body: no fault of the service, and nobody is there to be answered.
            pass
        except Exception:
            _LOG.exception("unforeseen", extra={"request_id": request.id})
            if not request.answered:
                hint = f"please report it, with the service's log of request {request.id}"
                await request.refuse(500, "A fault of the service", "", kind="fault", hint=hint)
        finally:
            if request.status == 401 and request.tries_to_be_known:
                self._limits.failed(request.address)
            self._tell(request)
            await self._audit(request)

    def _wait(self, request: _Request) -> float:
        """Who is known has a rate of their own; who is not has that of their address, and less after they failed to be."""
        door = self._state.door
        if request.said and door.has_let_in(request.said):
            return self._limits.of_known(request.said)
        return self._limits.of_stranger(request.address, tries=request.tries_to_be_known)

    def _tell(self, request: _Request) -> None:
        self._state.gauges.requests.labels(request.operation or "none", str(request.status)).observe(request.took_s)
        _ACCESS.info(
            "%s %s: %d",
            request.method,
            request.path,
            request.status,
            extra={
                "request_id": request.id,
                "caller": request.caller,
                "address": request.address,
                "method": request.method,
                "path": request.path,
                "status": request.status,
                "ms": round(request.took_s * 1000, 2),
            },
        )

    async def _audit(self, request: _Request) -> None:
        """What somebody changed or tried to; of strangers only that they failed to be known, or they could fill the record."""
        changes = request.method not in _SAFE and request.operation not in ("", *ONLY_READ)
        failed = request.status == 401 and request.tries_to_be_known
        if not changes or request.status == 429 or not (request.caller or failed):
            return
        try:
            await in_long_thread(
                self._state.lab.access.log,
                request.caller,
                request.address,
                request.operation,
                request.made or request.path,
                request.status,
                request.id,
            )
        except ResultsError as error:
            _ACCESS.error("the audit could not be written: %s", error, extra={"request_id": request.id})


class _Request:
    """One request on its way in and its answer on its way out."""

    def __init__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.method: str = scope["method"]
        self.scope: Scope = {**scope, "method": "GET"} if self.method == "HEAD" else scope
        self.headers = Headers(scope=scope)
        asked_id = self.headers.get("x-request-id", "")
        self.id = asked_id if _REQUEST_ID.fullmatch(asked_id) else secrets.token_hex(8)
        self.scope["state"] = {**scope.get("state", {}), "request_id": self.id}
        # As it came, percent-encoded: what it stands for may be anything.
        self.path = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")
        self.address = scope["client"][0] if scope.get("client") else ""
        self.said = credentials(self.headers)
        self.tries_to_be_known = bool(self.said) or (self.method == "POST" and scope["path"] == _LOGIN)
        self.status = _LEFT
        self.made = ""
        self._receive, self._send = receive, send
        self._begun_s, self._first_s = time.monotonic(), 0.0
        self._left_bytes, self._whole, self._over = MOST_BODY_BYTES, False, False

    @property
    def answered(self) -> bool:
        """Whether the answer has begun."""
        return self._first_s > 0

    @property
    def took_s(self) -> float:
        """Until the first byte of the answer."""
        return (self._first_s or time.monotonic()) - self._begun_s

    @property
    def operation(self) -> str:
        """The name of the operation, if there is one here: with another method the router comes upon it too."""
        if self.status == 405:
            return ""
        return getattr(self.scope.get("route"), "operation_id", None) or ""

    @property
    def caller(self) -> str:
        """Who it was, if that became known."""
        return str(self.scope["state"].get("caller", ""))

    def length(self) -> int:
        """The length of its body, where it is said before."""
        said = self.headers.get("content-length", "0")
        return int(said) if said.isascii() and said.isdigit() and len(said) < 20 else 0

    async def receive(self) -> Message:
        """The next piece of the body, not beyond its limit whatever its length was said to be."""
        if self._first_s and self.method == "HEAD":
            # All is said: what would go on for long need not.
            return {"type": "http.disconnect"}
        if self._whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), _BODY_PATIENCE_S)
        except TimeoutError:
            raise HTTPException(408, f"nothing came for {_BODY_PATIENCE_S:.0f} s") from None
        self._left_bytes -= len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._left_bytes < 0:
            raise HTTPException(413, _LARGEST)
        return message

    async def send(self, message: Message) -> None:
        """Send on what the service answers."""
        if message["type"] == "http.response.start":
            self.status, self._first_s = message["status"], time.monotonic()
            self.made = _mark(message, self.id)
        else:
            self._over = not message.get("more_body", False)
            if self.method == "HEAD":
                message = {**message, "body": b""}
        await self._send(message)

    async def end(self) -> None:
        """End the answer to a HEAD where the rest of it was cut off."""
        if self.method == "HEAD" and self.answered and not self._over:
            await self.send({"type": "http.response.body"})

    async def refuse(
        self, status: int, title: str, detail: str, *, kind: str = "", wait_s: float = 0.0, hint: str = ""
    ) -> None:
        """Answer in the place of whoever should have."""
        kind, asked = kind or f"http-{status}", f"{self.method} {self.path}"
        body = problem_document(self.id, status, kind, title, detail=detail, attempting=asked, hint=hint)
        headers = [(b"content-type", PROBLEM_TYPE.encode())]
        if wait_s:
            headers.append((b"retry-after", str(int(wait_s) + 1).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _mark(message: MutableMapping[str, Any], request_id: str) -> str:
    """Put what every answer has into its headers; what it made, if anything."""
    headers = MutableHeaders(scope=message)
    headers["X-Request-ID"] = request_id
    for name, value in _HEADERS.items():
        headers[name] = value
    if "content-security-policy" not in headers:
        headers["Content-Security-Policy"] = _POLICY
    if "cache-control" not in headers:
        headers["Cache-Control"] = "no-store"
    return headers.get("location", "")
