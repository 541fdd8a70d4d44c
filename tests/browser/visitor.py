"""Somebody in front of the page, who sees what goes wrong behind it too."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize, expect

from tests.support.service import ROOT, Service

CHROMIUM = "/usr/bin/chromium"
DESK: ViewportSize = {"width": 1280, "height": 800}
PHONE: ViewportSize = {"width": 390, "height": 844}
# Beside a busy machine's other work.
PATIENCE_MS = 20_000
# A request that was refused is told by the browser too: that is what some journeys are about.
_REFUSED = "Failed to load resource"
# As the page itself asks, whatever it shows.
_ASK = """async ([method, path, body]) => {
    const session = await (await fetch("api/v1/session")).json();
    const headers = { "X-CSRF-Token": session.csrf_token, "Content-Type": "application/json" };
    return (await fetch(`api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) })).status;
}"""
# Where pictures are put, for people to look at; nowhere unless it is said.
_PICTURES = os.environ.get("LONGHAUL_PICTURES", "")

expect.set_options(timeout=PATIENCE_MS)


@dataclass
class Visitor:
    """One profile of the browser, with one page."""

    page: Page
    service: Service
    faults: list[str] = field(default_factory=list)

    @classmethod
    @contextlib.contextmanager
    def comes(cls, browser: Browser, service: Service, at: str = "", **told: Any) -> Iterator[Visitor]:
        """For as long as the context lasts; `at` is where the service is, if not where it listens."""
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **told})
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        one = cls(page, service)
        origin = at or service.url

        def said(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not message.text.startswith(_REFUSED):
                one.faults.append(f"the console has: {message.text}")

        def asked(request: Request) -> None:
            if not request.url.startswith((origin, "data:", "blob:")):
                one.faults.append(f"somebody else was asked: {request.url}")

        page.on("console", said)
        page.on("pageerror", lambda error: one.faults.append(f"thrown: {error}"))
        context.on("request", asked)
        try:
            yield one
            assert one.faults == [], one.faults
        finally:
            context.close()

    def opens(self, view: str = "", at: str = "") -> None:
        """A view by its address: `runs`, `runs/ID?flows=app`."""
        self.page.goto(f"{at or self.service.url}/#/{view}")

    def logs_in(self, scope: str = "admin", view: str = "") -> None:
        """With the token of a scope, and to a view."""
        self.opens(view)
        self.shows_token(self.service.tokens[scope])
        expect(self.page.get_by_role("navigation", name="Pages")).to_be_visible()

    def enters(self, scope: str = "admin") -> None:
        """With the cookie that the token of a scope is traded for, without a look at the page."""
        token = {"token": self.service.tokens[scope]}
        answer = self.page.request.post(f"{self.service.url}{ROOT}/session", data=token)
        assert answer.ok, answer.text()

    def shows_token(self, token: str) -> None:
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").click()

    def is_answered(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        """With which status, when the session of the page asks for a place of the API."""
        return int(self.page.evaluate(_ASK, [method, path, body]))

    def chooses(self, theme: Literal["light", "dark"]) -> None:
        """As the system would say it."""
        self.page.emulate_media(color_scheme=theme)

    def pictures(self, name: str) -> None:
        """Of what is seen now, in both themes: NAME-light.png and NAME-dark.png, where LONGHAUL_PICTURES says."""
        if not _PICTURES:
            return
        Path(_PICTURES).mkdir(parents=True, exist_ok=True)
        for theme in ("light", "dark"):
            self.chooses(theme)
            self.page.screenshot(path=f"{_PICTURES}/{name}-{theme}.png", animations="disabled")
