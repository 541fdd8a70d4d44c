"""HTTP to a service, from the client's side: what fails for a moment is asked again, what is refused becomes the service's own error.

A request is repeated only where that can do nothing twice. A service that has never answered is given up soon, since its address is
probably wrong; one that has is waited for as long as a restart may take.
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
    told,
)

PATIENCE_S = 60.0

_FIRST_PATIENCE_S = 3.0
_PAUSES_S = (0.1, 2.0)
# The service says something every 15 s, and computes no answer for longer than that.
_SILENCE_S = 40.0
# The answer of a large sweep's submission comes when all of its runs are compiled.
_LONGEST_ANSWER_S = 300.0
_CONNECT_S = 10.0
_GATEWAY = (502, 503, 504)
_PROBLEMS = "/problems/"


class Interrupted(Exception):
    """It may go better in a moment; `why` is what to say if it does not."""

    def __init__(self, why: LonghaulError, after_s: float | None = None) -> None:
        super().__init__(str(why))
        self.why = why
        self.after_s = after_s


class Patience:
    """How long to go on trying, and how long to pause between; progress renews it."""

    def __init__(self, whole_s: float) -> None:
        self._whole_s = whole_s
        self.renew()

    def renew(self) -> None:
        """It goes on."""
        self._until_s: float | None = None
        self._pause_s = _PAUSES_S[0]

    def pause(self, interrupted: Interrupted) -> None:
        """Wait a little; out of patience, raise the reason."""
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
            raise PlanError("asking the service at", url, "it is no URL", "give one like http://127.0.0.1:8080")
        if not token.isascii() or not token.isprintable() or " " in token:
            raise PlanError("asking the service at", url, "what was given is no token", "see `longhaul token add`")
        self._http = httpx.Client(
            base_url=self.url,
            headers={"Authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(_LONGEST_ANSWER_S, connect=_CONNECT_S),
        )

    def close(self) -> None:
        """Let go of it."""
        self._http.close()

    def patience(self) -> Patience:
        """As much as what is known of the service deserves."""
        return Patience(self._patience_s if self._answered else min(self._patience_s, _FIRST_PATIENCE_S))

    def ask(self, method: str, path: str, *, repeatable: bool = True, **more: Any) -> httpx.Response:
        """The answer to a request; LonghaulError as the service told it."""
        patience = self.patience()
        while True:
            try:
                with self._troubles():
                    return self._checked(self._http.request(method, path, **more))
            except Interrupted as interrupted:
                if not repeatable:
                    raise interrupted.why from None
                patience.pause(interrupted)

    @contextmanager
    def stream(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[httpx.Response]:
        """An answer that is read as it comes; Interrupted where it breaks off."""
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
        # A proxy whose service is away, and a service whose record is.
        if response.status_code in _GATEWAY and isinstance(error, ServiceUnavailable | RecordUnreachable):
            raise Interrupted(error)
        raise error

    def _refusal(self, response: httpx.Response) -> LonghaulError:
        body = _problem(response)
        if body is None:
            return ServiceUnavailable(
                "asking the service at",
                self.url,
                f"{response.request.url.path} was answered with {response.status_code}, and not by Longhaul",
                "is it the service's URL, and is the service up?",
            )
        self._answered = True
        kind = body["type"].removeprefix(_PROBLEMS)
        detail = str(body.get("detail") or body.get("title") or "it was refused")
        what, hint = str(body.get("what") or detail), str(body.get("hint") or "")
        attempting, subject = str(body.get("attempting") or "asking"), str(body.get("subject") or "")
        listed = [str(line) for line in body.get("problems", [])]
        return told(kind, attempting, subject, what, hint, listed) or _of_status(response.status_code)(
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
                "is it running there, and is the URL right?",
            )
            raise Interrupted(why) from error


def _problem(response: httpx.Response) -> dict[str, Any] | None:
    """The problem document of an answer, if it has one."""
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
