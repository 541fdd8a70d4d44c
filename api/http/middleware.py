"""The middleware of every request: an id, limits of rate, size and time, headers for browsers, one line of log, the audit.

Plain ASGI, so that streams are never buffered. HEAD is handled as GET, without the body.
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
# Of a kernel with its patches; archives have a setting.
MOST_PATCHES_BYTES = 16 * 1024 * 1024
# Of the sources of a module, as an archive or as JSON.
MOST_SOURCES_BYTES = 8 * 1024 * 1024
_MODULES = (f"{ROOT}/modules", f"{ROOT}/module-sources", f"{ROOT}/module-archives")
_KERNELS, _ARCHIVES = f"{ROOT}/kernels", f"{ROOT}/kernel-archives"
_RECORDINGS = f"{ROOT}/recordings"
# Between two pieces of a body.
_BODY_PATIENCE_S = 20.0
# The status in logs and metrics of a request whose caller left before the response; it is never sent.
_LEFT = 499

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
    """The outermost middleware."""

    def __init__(self, app: ASGIApp, *, state: Any) -> None:
        self._app = app
        self._state = state
        self._limits = Limits(float(state.lab.settings.rate_limit))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        credential = credentials(scope, self._state.lab.settings.proxy_sign_in)
        request = _Request(scope, receive, send, *self._most_body(scope), credential)
        try:
            if (wait_s := self._wait(request)) > 0:
                await request.refuse(429, "Too Many Requests", f"try again in {wait_s:.0f} s", wait_s=wait_s)
            elif request.length() > request.most_bytes:
                await request.refuse(413, "Content Too Large", request.largest)
            else:
                await self._app(request.scope, request.receive, request.send)
                await request.end()
        except ClientDisconnect:
            # The caller left while sending the body: not an error of the service, and there is no one to respond to.
            pass
        except Exception:
            _LOG.exception("unforeseen", extra={"request_id": request.id})
            if not request.answered:
                hint = f"please report it, with the service's log of request {request.id}"
                await request.refuse(500, "Internal Server Error", "", kind="fault", hint=hint)
        finally:
            if request.status == 401 and request.tries_to_be_known:
                self._limits.failed(request.address)
            self._log(request)
            await self._audit(request)

    def _most_body(self, scope: Scope) -> tuple[int, str]:
        """The most bytes of a body, and the setting that says so, if one does."""
        settings = self._state.lab.settings
        if scope["method"] == "POST" and scope["path"] == _ARCHIVES:
            return settings.kernel_upload_mb * 2**20, "LONGHAUL_KERNEL_UPLOAD_MB"
        if scope["method"] == "POST" and scope["path"] == _RECORDINGS:
            return settings.recording_upload_mb * 2**20, "LONGHAUL_RECORDING_UPLOAD_MB"
        if scope["method"] in ("POST", "PUT") and scope["path"].startswith(_MODULES):
            return MOST_SOURCES_BYTES, ""
        return (MOST_PATCHES_BYTES if scope["method"] == "POST" and scope["path"] == _KERNELS else MOST_BODY_BYTES), ""

    def _wait(self, request: _Request) -> float:
        """Known callers have their own rate, others that of their address, which is lower after invalid tokens."""
        door = self._state.door
        if request.credential and door.was_valid(request.credential):
            return self._limits.of_known(request.credential)
        return self._limits.of_stranger(request.address, tries=request.tries_to_be_known)

    def _log(self, request: _Request) -> None:
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
        """Record a change or an attempt; of unknown callers only failed logins, or they could fill the database."""
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
    """One request and its response."""

    def __init__(
        self, scope: Scope, receive: Receive, send: Send, most_bytes: int, setting: str, credential: str
    ) -> None:
        self.most_bytes, self._setting = most_bytes, setting
        self.method: str = scope["method"]
        self.scope: Scope = {**scope, "method": "GET"} if self.method == "HEAD" else scope
        self.headers = Headers(scope=scope)
        asked_id = self.headers.get("x-request-id", "")
        self.id = asked_id if _REQUEST_ID.fullmatch(asked_id) else secrets.token_hex(8)
        self.scope["state"] = {**scope.get("state", {}), "request_id": self.id}
        # As received, percent-encoded: the decoded text may contain anything.
        self.path = scope.get("raw_path", scope["path"].encode()).decode("ascii", "replace")
        self.address = scope["client"][0] if scope.get("client") else ""
        self.credential = credential
        self.tries_to_be_known = bool(self.credential) or (self.method == "POST" and scope["path"] == _LOGIN)
        self.status = _LEFT
        self.made = ""
        self._receive, self._send = receive, send
        self._begun_s, self._first_s = time.monotonic(), 0.0
        self._left_bytes, self._whole, self._over = most_bytes, False, False

    @property
    def largest(self) -> str:
        """The sentence about a larger body."""
        named = f" ({self._setting})" if self._setting else ""
        return f"a request may have at most {self.most_bytes // 1024} KiB{named}"

    @property
    def answered(self) -> bool:
        """Whether the response has begun."""
        return self._first_s > 0

    @property
    def took_s(self) -> float:
        """The time until the first byte of the response."""
        return (self._first_s or time.monotonic()) - self._begun_s

    @property
    def operation(self) -> str:
        """The name of the operation, if any; the router also finds it for other methods."""
        if self.status == 405:
            return ""
        return getattr(self.scope.get("route"), "operation_id", None) or ""

    @property
    def caller(self) -> str:
        """The caller's name, if known."""
        return str(self.scope["state"].get("caller", ""))

    def length(self) -> int:
        """The length of the body, if the header states it."""
        stated = self.headers.get("content-length", "0")
        return int(stated) if stated.isascii() and stated.isdigit() and len(stated) < 20 else 0

    async def receive(self) -> Message:
        """The next piece of the body, up to its limit, whatever length the header states."""
        if self._first_s and self.method == "HEAD":
            # The head is sent, which is all of a HEAD: end long work.
            return {"type": "http.disconnect"}
        if self._whole:
            return await self._receive()
        try:
            message = await asyncio.wait_for(self._receive(), _BODY_PATIENCE_S)
        except TimeoutError:
            raise HTTPException(408, f"no data arrived for {_BODY_PATIENCE_S:.0f} s") from None
        self._left_bytes -= len(message.get("body", b""))
        self._whole = not message.get("more_body", False)
        if self._left_bytes < 0:
            raise HTTPException(413, self.largest)
        return message

    async def send(self, message: Message) -> None:
        """Pass the response on."""
        if message["type"] == "http.response.start":
            self.status, self._first_s = message["status"], time.monotonic()
            self.made = _mark(message, self.id)
        else:
            self._over = not message.get("more_body", False)
            if self.method == "HEAD":
                message = {**message, "body": b""}
        await self._send(message)

    async def end(self) -> None:
        """End the response to a HEAD whose body was cut off."""
        if self.method == "HEAD" and self.answered and not self._over:
            await self.send({"type": "http.response.body"})

    async def refuse(
        self, status: int, title: str, detail: str, *, kind: str = "", wait_s: float = 0.0, hint: str = ""
    ) -> None:
        """Respond with a problem instead of the operation."""
        kind, asked = kind or f"http-{status}", f"{self.method} {self.path}"
        body = problem_document(self.id, status, kind, title, detail=detail, attempting=asked, hint=hint)
        headers = [(b"content-type", PROBLEM_TYPE.encode())]
        if wait_s:
            headers.append((b"retry-after", str(int(wait_s) + 1).encode()))
        await self.send({"type": "http.response.start", "status": status, "headers": headers})
        await self.send({"type": "http.response.body", "body": json.dumps(body).encode()})


def _mark(message: MutableMapping[str, Any], request_id: str) -> str:
    """Set the headers of every response; returns the Location of a created resource, if any."""
    headers = MutableHeaders(scope=message)
    headers["X-Request-ID"] = request_id
    for name, value in _HEADERS.items():
        headers[name] = value
    if "content-security-policy" not in headers:
        headers["Content-Security-Policy"] = _POLICY
    if "cache-control" not in headers:
        headers["Cache-Control"] = "no-store"
    return headers.get("location", "")
