"""HTTP to a service: a request that fails temporarily is repeated, a refusal is raised as the service's error.

A request is repeated only if that cannot do anything twice. The client gives up soon on a service that never responded, since its
address is probably wrong; for one that did, it waits as long as a restart may take.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import httpx

from longhaul.orchestrator.system.errors import (
    BackendUnavailable,
    LonghaulError,
    NotFound,
    OverLimit,
    PlanError,
    RecordUnreachable,
    ServiceUnavailable,
    error_of_parts,
)

PATIENCE_S = 60.0

_FIRST_PATIENCE_S = 3.0
_PAUSES_S = (0.1, 2.0)
# The service sends something every 15 s, and computes no response for longer.
_SILENCE_S = 40.0
# The response to the submission of a large sweep comes when all its runs are compiled.
_LONGEST_ANSWER_S = 300.0
_CONNECT_S = 10.0
_GATEWAY = (502, 503, 504)
_PROBLEMS = "/problems/"


class Interrupted(Exception):
    """A request failed and can be repeated; `why` is the error to raise when patience ends."""

    def __init__(self, why: LonghaulError, after_s: float | None = None) -> None:
        super().__init__(str(why))
        self.why = why
        self.after_s = after_s


class Patience:
    """How long to retry and to pause in between; progress renews it."""

    def __init__(self, whole_s: float) -> None:
        self._whole_s = whole_s
        self.renew()

    def renew(self) -> None:
        """Progress was made."""
        self._until_s: float | None = None
        self._pause_s = _PAUSES_S[0]

    def pause(self, interrupted: Interrupted) -> None:
        """Wait before the next attempt; raise the reason if patience has ended."""
        now_s = time.monotonic()
        if self._until_s is None:
            self._until_s = now_s + self._whole_s
        pause_s = interrupted.after_s or self._pause_s
        if now_s + pause_s > self._until_s:
            raise interrupted.why
        time.sleep(pause_s)
        self._pause_s = min(_PAUSES_S[1], self._pause_s * 2)


class Connection:
    """One service and one token."""

    def __init__(self, url: str, token: str, patience_s: float) -> None:
        self.url = url.rstrip("/")
        self._patience_s = patience_s
        self._answered = False
        if not _is_url(self.url):
            raise PlanError("asking the service at", url, "this is not a URL", "give one like http://127.0.0.1:8080")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise PlanError("asking the service at", url, "this is not a token", "see `longhaul token add`")
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
        )

    def close(self) -> None:
        """Close it."""
        self._http.close()

    def patience(self) -> Patience:
        """Long for a service that has responded before, short for others."""
        return Patience(self._patience_s if self._answered else min(self._patience_s, _FIRST_PATIENCE_S))

    def ask(
        self, method: str, path: str, *, repeatable: bool = True, longest_s: float = _LONGEST_ANSWER_S, **more: Any
    ) -> httpx.Response:
        """The response to a request; the service's error as LonghaulError."""
        patience = self.patience()
        while True:
            try:
                with self._troubles():
                    timeout = httpx.Timeout(longest_s, connect=_CONNECT_S)
                    return self._checked(self._http.request(method, path, timeout=timeout, **more))
            except Interrupted as interrupted:
                if not repeatable:
                    raise interrupted.why from None
                patience.pause(interrupted)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """A response that is read as it arrives; Interrupted if it breaks off."""
        timeout = httpx.Timeout(_SILENCE_S, connect=_CONNECT_S)
        with self._troubles(), self._http.stream("GET", path, headers=dict(headers or {}), timeout=timeout) as response:
            if response.status_code >= 300:
                response.read()
            yield self._checked(response)

    def _checked(self, response: httpx.Response) -> httpx.Response:
        if response.status_code < 300:
            self._answered = True
            return response
        error = self._refusal(response)
        if isinstance(error, BackendUnavailable):
            raise error
        if wait_s := _seconds(response.headers.get("Retry-After")):
            raise Interrupted(error, wait_s)
        # A proxy cannot reach its service, or a service its database.
        if response.status_code in _GATEWAY and isinstance(error, ServiceUnavailable | RecordUnreachable):
            raise Interrupted(error)
        raise error

    def _refusal(self, response: httpx.Response) -> LonghaulError:
        body = _problem(response)
        if body is None:
            return ServiceUnavailable(
                "asking the service at",
                self.url,
                f"{response.request.url.path} returned {response.status_code}, but not from Longhaul",
                "check that this is the service's URL and that the service is running",
            )
        self._answered = True
        kind = body["type"].removeprefix(_PROBLEMS)
        detail = str(body.get("detail") or body.get("title") or "the request was refused")
        what, hint = str(body.get("what") or detail), str(body.get("hint") or "")
        attempting, subject = str(body.get("attempting") or "asking"), str(body.get("subject") or "")
        listed = [str(line) for line in body.get("problems", [])]
        return error_of_parts(kind, attempting, subject, what, hint, listed) or _of_status(response.status_code)(
            attempting, subject or self.url, what, hint
        )

    @contextmanager
    def _troubles(self) -> Iterator[None]:
        try:
            yield
        except httpx.TransportError as error:
            why = ServiceUnavailable(
                "asking the service at",
                self.url,
                " ".join(str(error).split()) or type(error).__name__,
                "check that the service is running there and that the URL is correct",
            )
            raise Interrupted(why) from error


def _problem(response: httpx.Response) -> dict[str, Any] | None:
    """The problem document of a response, if it has one."""
    if not response.headers.get("Content-Type", "").startswith("application/problem+json"):
        return None
    try:
        body = response.json()
    except ValueError:
        return None
    return body if isinstance(body, dict) and str(body.get("type", "")).startswith(_PROBLEMS) else None


def _of_status(status: int) -> type[LonghaulError]:
    if status in _GATEWAY:
        return ServiceUnavailable
    return {404: NotFound, 429: OverLimit}.get(status, PlanError if status < 500 else LonghaulError)


def _is_url(text: str) -> bool:
    try:
        url = httpx.URL(text)
    except httpx.InvalidURL:
        return False
    return url.scheme in ("http", "https") and bool(url.host)


def _seconds(written: str | None) -> float | None:
    return float(written) if written and written.isascii() and written.isdigit() and int(written) else None
