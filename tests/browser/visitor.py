"""A browser with the page, which also collects errors of the console and of requests."""

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
# Enough for a busy machine.
PATIENCE_MS = 20_000
# The browser also logs refused requests, which some tests cause on purpose.
_REFUSED = "Failed to load resource"
# A request with the session of the page.
_ASK = """async ([method, path, body]) => {
    const session = await (await fetch("api/v1/session")).json();
    const headers = { "X-CSRF-Token": session.csrf_token, "Content-Type": "application/json" };
    return (await fetch(`api/v1/${path}`, { method, headers, body: body && JSON.stringify(body) })).status;
}"""
# The folder for screenshots; without it none are taken.
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
    def comes(cls, browser: Browser, service: Service, at: str = "", **options: Any) -> Iterator[Visitor]:
        """A visitor while the context lasts; `at` is the address of the service, if a proxy changes it."""
        context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})
        context.set_default_timeout(PATIENCE_MS)
        page = context.new_page()
        one = cls(page, service)
        origin = at or service.url

        def note_message(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not message.text.startswith(_REFUSED):
                one.faults.append(f"console message: {message.text}")

        def note_request(request: Request) -> None:
            if not request.url.startswith((origin, "data:", "blob:")):
                one.faults.append(f"request to another server: {request.url}")

        page.on("console", note_message)
        page.on("pageerror", lambda error: one.faults.append(f"thrown: {error}"))
        context.on("request", note_request)
        try:
            yield one
            assert one.faults == [], one.faults
        finally:
            context.close()

    def opens(self, view: str = "", at: str = "") -> None:
        """Open a view by its address: `runs`, `runs/ID?flows=app`."""
        self.page.goto(f"{at or self.service.url}/#/{view}")

    def logs_in(self, scope: str = "admin", view: str = "") -> Page:
        """Log in with the token of a scope, and open a view."""
        self.opens(view)
        self.shows_token(self.service.tokens[scope])
        expect(self.page.get_by_role("navigation", name="Pages")).to_be_visible()
        return self.page

    def enters(self, scope: str = "admin", view: str | None = None) -> Page:
        """Start a session with the token of a scope, without the page, and open a view if one is given."""
        token = {"token": self.service.tokens[scope]}
        answer = self.page.request.post(f"{self.service.url}{ROOT}/session", data=token)
        assert answer.ok, answer.text()
        if view is not None:
            self.opens(view)
        return self.page

    def shows_token(self, token: str) -> None:
        self.page.get_by_label("Token").fill(token)
        self.page.get_by_role("button", name="Log in").click()

    def is_answered(self, method: str, path: str, body: dict[str, Any] | None = None) -> int:
        """The status of a request to the API with the session of the page."""
        return int(self.page.evaluate(_ASK, [method, path, body]))

    def chooses(self, theme: Literal["light", "dark"]) -> None:
        """Set the theme of the system."""
        self.page.emulate_media(color_scheme=theme)

    def pictures(self, name: str) -> None:
        """Take screenshots in both themes, NAME-light.png and NAME-dark.png, in the folder LONGHAUL_PICTURES."""
        if not _PICTURES:
            return
        Path(_PICTURES).mkdir(parents=True, exist_ok=True)
        for theme in ("light", "dark"):
            self.chooses(theme)
            self.page.screenshot(path=f"{_PICTURES}/{name}-{theme}.png", animations="disabled")
