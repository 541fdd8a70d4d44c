"""What every request passes: an id, a limit of size, a limit of rate, headers for browsers, one line of log, the audit.

Plain ASGI, so that streams are never buffered.
"""

from __future__ import annotations

import json
import logging
import re
import secrets
import threading
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from api.errors import PROBLEM_TYPE
from orchestrator.errors import ResultsError

_ACCESS = logging.getLogger("longhaul.access")
_REQUEST_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
MOST_BODY_BYTES = 1024 * 1024
# At once may be asked what the rate allows in so many seconds.
_BURST_S = 5.0
_FAILED_RATE, _FAILED_BURST = 0.2, 20.0
_MOST_KNOWN = 10_000

_CHANGES_NOTHING = ("make_plan",)

_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_POLICY = "default-src 'none'; frame-ancestors 'none'"


class Buckets:
    """A token bucket for each of many keys; the oldest are forgotten."""

    def __init__(self, rate: float, burst: float) -> None:
        self._rate, self._burst = rate, burst
        self._levels: dict[str, tuple[float, float]] = {}
        self._lock = threading.Lock()

    def take(self, key: str, amount: float = 1.0) -> float:
        """Seconds until there is room; 0 where there was, and it is taken."""
        now_s = time.monotonic()
        with self._lock:
            level, at_s = self._levels.pop(key, (self._burst, now_s))
            level = min(self._burst, level + (now_s - at_s) * self._rate)
            fits = level >= amount
            self._levels[key] = (level - amount if fits else level, now_s)
            while len(self._levels) > _MOST_KNOWN:
                self._levels.pop(next(iter(self._levels)))
        return 0.0 if fits else (amount - level) / self._rate


class Requests:
    """The outermost part of the service."""

    def __init__(self, app: ASGIApp, *, state: Any) -> None:
        self._app = app
        self._state = state
        rate = float(state.lab.settings.rate_limit)
        self._buckets = Buckets(rate, rate * _BURST_S)
        self._failures = Buckets(_FAILED_RATE, _FAILED_BURST)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        asked_id = headers.get("x-request-id", "")
        request_id = asked_id if _REQUEST_ID.fullmatch(asked_id) else secrets.token_hex(8)
        scope.setdefault("state", {})["request_id"] = request_id
        begun_s, status, first_s = time.monotonic(), 500, 0.0
        address = scope["client"][0] if scope.get("client") else ""

        async def answer(message: Message) -> None:
            nonlocal status, first_s
            if message["type"] == "http.response.start":
                status, first_s = message["status"], time.monotonic()
                _mark(message, request_id)
            await send(message)

        try:
            if (wait_s := self._wait(headers, address)) > 0:
                await _refuse(answer, 429, "Too many requests", f"try again in {wait_s:.0f} s", request_id, wait_s)
            elif _length(headers) > MOST_BODY_BYTES:
                await _refuse(answer, 413, "The request is too large", _LARGEST, request_id)
            else:
                await self._app(scope, _Limited(receive, request_id, answer), answer)
        finally:
            if status == 401:
                self._failures.take(address)
            await self._note(scope, status, (first_s or time.monotonic()) - begun_s, address, request_id)

    def _wait(self, headers: Headers, address: str) -> float:
        """Who failed to say who they are is slowed by address, everybody else by what they say."""
        if headers.get("authorization") or headers.get("cookie"):
            if (wait_s := self._failures.take(address, 0.0)) > 0:
                return wait_s
            return self._buckets.take(headers.get("authorization") or headers.get("cookie") or "")
        return self._buckets.take(address)

    async def _note(self, scope: Scope, status: int, took_s: float, address: str, request_id: str) -> None:
        operation = getattr(scope.get("route"), "operation_id", None) or "none"
        caller = scope["state"].get("caller", "")
        self._state.gauges.requests.labels(operation, str(status)).observe(took_s)
        _ACCESS.info(
            json.dumps(
                {
                    "request_id": request_id,
                    "caller": caller,
                    "address": address,
                    "method": scope["method"],
                    "path": scope["path"],
                    "status": status,
                    "ms": round(took_s * 1000, 2),
                }
            )
        )
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and operation not in _CHANGES_NOTHING:
            try:
                log = self._state.lab.access.log
                await run_in_threadpool(log, caller, address, operation, scope["path"], status, request_id)
            except ResultsError as error:
                _ACCESS.error("the audit could not be written: %s", error)


_LARGEST = f"a request may have {MOST_BODY_BYTES // 1024} KiB"


class _Limited:
    """A body that is not read beyond its limit, whatever its length was said to be."""

    def __init__(self, receive: Receive, request_id: str, answer: Send) -> None:
        self._receive = receive
        self._left = MOST_BODY_BYTES

    async def __call__(self) -> Message:
        message = await self._receive()
        self._left -= len(message.get("body", b""))
        if self._left < 0:
            from starlette.exceptions import HTTPException

            raise HTTPException(413, _LARGEST)
        return message


def _length(headers: Headers) -> int:
    said = headers.get("content-length", "0")
    return int(said) if said.isascii() and said.isdigit() else 0


def _mark(message: MutableMapping[str, Any], request_id: str) -> None:
    headers = MutableHeaders(scope=message)
    headers["X-Request-ID"] = request_id
    for name, value in _HEADERS.items():
        headers[name] = value
    if "content-security-policy" not in headers:
        headers["Content-Security-Policy"] = _POLICY
    if "cache-control" not in headers:
        headers["Cache-Control"] = "no-store"


async def _refuse(send: Send, status: int, title: str, detail: str, request_id: str, wait_s: float = 0.0) -> None:
    body = {
        "type": f"/problems/http-{status}",
        "title": title,
        "status": status,
        "detail": detail,
        "attempting": "",
        "subject": "",
        "what": "",
        "hint": "",
        "request_id": request_id,
    }
    headers = [(b"content-type", PROBLEM_TYPE.encode())]
    if wait_s:
        headers.append((b"retry-after", str(int(wait_s) + 1).encode()))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps(body).encode()})
