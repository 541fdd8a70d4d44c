"""Debian's Firefox, driven by WebDriver BiDi: https://w3c.github.io/webdriver-bidi/.

Firefox itself is the WebDriver server: `firefox --remote-debugging-port` listens for one WebSocket, whose messages are JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from tornado.websocket import WebSocketClientConnection, websocket_connect

from tests.browser.axe import AXE, RULES, RUN_AXE
from tests.browser.views import SETTLED

FIREFOX = "/usr/bin/firefox-esr"
# A command, an element or a condition, on a busy machine.
_PATIENCE_S = 60.0
_POLL_S = 0.05
# Keys of the specification: https://w3c.github.io/webdriver/#keyboard-actions.
KEYS = {
    "Enter": "\ue007", "Tab": "\ue004", "Escape": "\ue00c", "Space": " ", "ArrowDown": "\ue015", "ArrowUp": "\ue013",
    "ArrowRight": "\ue014", "Home": "\ue011", "Control": "\ue009", "Shift": "\ue008", "Backspace": "\ue003",
}  # fmt: skip
# Nothing asks the user, reports home, or moves; and the theme of the system.
_PREFERENCES: dict[str, Any] = {
    "datareporting.policy.dataSubmissionEnabled": False,
    "toolkit.telemetry.reportingpolicy.firstRun": False,
    "browser.shell.checkDefaultBrowser": False,
    "browser.aboutwelcome.enabled": False,
    "app.update.disabledForTesting": True,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "services.settings.server": "data:,#remote-settings-dummy/v1",
    "ui.prefersReducedMotion": 1,
}

Node = dict[str, Any]


@dataclass
class Firefox:
    """One Firefox with one page, and the faults that the page reported."""

    url: str
    _socket: WebSocketClientConnection
    _loop: asyncio.AbstractEventLoop
    faults: list[str] = field(default_factory=list)
    _numbers: Iterator[int] = field(default_factory=itertools.count)
    _context: str = ""

    @classmethod
    @contextlib.contextmanager
    def starts(
        cls, folder: Path, url: str, theme: Literal["light", "dark"], size: tuple[int, int]
    ) -> Iterator[Firefox]:
        """A new profile in a folder; the page reports no fault until the end."""
        preferences = _PREFERENCES | {"layout.css.prefers-color-scheme.content-override": int(theme == "light")}
        folder.mkdir(parents=True)
        lines = [f"user_pref({json.dumps(name)}, {json.dumps(value)});" for name, value in preferences.items()]
        (folder / "user.js").write_text("\n".join(lines))
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        command = [FIREFOX, "--headless", "--no-remote", "--profile", str(folder), f"--remote-debugging-port={port}", "about:blank"]  # fmt: skip
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, daemon=True)
        thread.start()
        log = folder / "firefox.log"
        one: Firefox | None = None
        with log.open("wb") as output, subprocess.Popen(command, stdout=output, stderr=output) as process:
            try:
                one = cls(url, _connected(port, loop, process, log), loop)
                one._begin(size)
                yield one
                assert one.faults == [], one.faults
            finally:
                if one is not None:
                    loop.call_soon_threadsafe(one._socket.close)
                process.terminate()
                process.wait(_PATIENCE_S)
                loop.call_soon_threadsafe(loop.stop)
                thread.join()

    def _begin(self, size: tuple[int, int]) -> None:
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self._context = self.send("browsingContext.getTree")["contexts"][0]["context"]
        viewport = {"width": size[0], "height": size[1]}
        self.send("browsingContext.setViewport", context=self._context, viewport=viewport)

    def send(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a command; its result."""
        number = next(self._numbers)
        text = json.dumps({"id": number, "method": method, "params": params})
        asyncio.run_coroutine_threadsafe(self._written(text), self._loop).result(_PATIENCE_S)
        while True:
            read = asyncio.run_coroutine_threadsafe(self._read(), self._loop).result(_PATIENCE_S)
            assert read is not None, "Firefox closed the connection"
            message = json.loads(read)
            if message.get("type") == "event":
                self._note(message["params"])
            elif message.get("id") == number:
                assert message["type"] == "success", f"{method}: {message}"
                return dict(message["result"])

    async def _written(self, text: str) -> None:
        await self._socket.write_message(text)

    async def _read(self) -> str | bytes | None:
        return await self._socket.read_message()

    def _note(self, entry: dict[str, Any]) -> None:
        # The browser also logs refused requests, which some journeys cause on purpose.
        if entry["level"] in ("error", "warn") and "NetworkError" not in str(entry["text"]):
            self.faults.append(f"{entry['level']}: {entry['text']}")

    def opens(self, view: str = "") -> None:
        """Open a view by its address: `runs`, `runs/ID?flows=app`."""
        self.send("browsingContext.navigate", context=self._context, url=f"{self.url}/#/{view}", wait="complete")

    def evaluate(self, script: str) -> Any:
        """The value of an expression in the page; a promise is awaited."""
        target = {"context": self._context}
        written = f"(async () => JSON.stringify(await ({script})))()"
        found = self.send("script.evaluate", expression=written, target=target, awaitPromise=True)
        assert found["type"] == "success", found.get("exceptionDetails")
        text = found["result"].get("value")
        return None if text is None else json.loads(text)

    def waits(self, script: str) -> Any:
        """Wait until an expression in the page is true; its value."""
        until_s = time.monotonic() + _PATIENCE_S
        while not (found := self.evaluate(script)):
            assert time.monotonic() < until_s, f"never true: {script}\n{self.evaluate('document.body.innerText')}"
            time.sleep(_POLL_S)
        return found

    def finds(self, role: str, name: str = "") -> Node:
        """The first visible element with a role and a name, as assistive technology sees them; waits for it."""
        value = {"role": role} | ({"name": name} if name else {})
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            locator = {"type": "accessibility", "value": value}
            nodes = self.send("browsingContext.locateNodes", context=self._context, locator=locator)["nodes"]
            for node in nodes:
                if self._is_visible(node):
                    return dict(node)
            assert time.monotonic() < until_s, f"no {role} {name!r}\n{self.evaluate('document.body.innerText')}"
            time.sleep(_POLL_S)

    def finds_field(self, label: str) -> Node:
        """The first visible field with a label; waits for it."""
        target = {"context": self._context}
        until_s = time.monotonic() + _PATIENCE_S
        while True:
            arguments = [{"type": "string", "value": label}]
            found = self.send("script.callFunction", functionDeclaration=_FIELD, target=target, arguments=arguments, awaitPromise=False)["result"]  # fmt: skip
            if found["type"] == "node":
                return dict(found)
            assert time.monotonic() < until_s, f"no field {label!r}\n{self.evaluate('document.body.innerText')}"
            time.sleep(_POLL_S)

    def _is_visible(self, node: Node) -> bool:
        return bool(self._call("node => node.checkVisibility() && node.getClientRects().length > 0", node))

    def _call(self, function: str, node: Node) -> Any:
        target = {"context": self._context}
        arguments = [{"sharedId": node["sharedId"]}]
        found = self.send("script.callFunction", functionDeclaration=function, target=target, arguments=arguments, awaitPromise=True)  # fmt: skip
        assert found["type"] == "success", found.get("exceptionDetails")
        return found["result"].get("value")

    def text_of(self, node: Node) -> str:
        """The text that an element shows."""
        return str(self._call("node => node.innerText", node))

    def clicks(self, role: str, name: str = "") -> None:
        """Click on an element as the mouse does."""
        self._click(self.finds(role, name))

    def _click(self, node: Node) -> None:
        self._call("node => node.scrollIntoView({ block: 'center', behavior: 'instant' })", node)
        origin = {"type": "element", "element": {"sharedId": node["sharedId"]}}
        actions = [{"type": "pointerMove", "x": 0, "y": 0, "origin": origin}, {"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]  # fmt: skip
        self._perform({"type": "pointer", "id": "mouse", "actions": actions})

    def presses(self, keys: str) -> None:
        """Press keys together: `Tab`, `Control+k`, `Shift+Tab`."""
        values = [KEYS.get(key, key) for key in ([keys] if keys == "+" else keys.split("+"))]
        actions = [{"type": "keyDown", "value": value} for value in values]
        actions += [{"type": "keyUp", "value": value} for value in reversed(values)]
        self._perform({"type": "key", "id": "keyboard", "actions": actions})

    def types(self, text: str) -> None:
        """Type a text into the element with the focus."""
        actions = [{"type": kind, "value": letter} for letter in text for kind in ("keyDown", "keyUp")]
        self._perform({"type": "key", "id": "keyboard", "actions": actions})

    def fills(self, name: str, text: str) -> None:
        """Put a text in place of that of a field."""
        self._click(self.finds_field(name))
        self.presses("Control+a")
        self.types(text)

    def _perform(self, source: dict[str, Any]) -> None:
        self.send("input.performActions", context=self._context, actions=[source])

    def tabs_to(self, name: str, most: int = 80) -> None:
        """Press Tab until the element with the focus has this name."""
        for _ in range(most):
            self.presses("Tab")
            if re.search(name, str(self.evaluate(_FOCUSED))):
                return
        raise AssertionError(f"Tab does not reach {name}")

    def breaches(self) -> list[Any]:
        """The breaches that axe-core finds in the page, once it has loaded."""
        self.evaluate(f"({SETTLED})()")
        if not self.evaluate("'axe' in window"):
            target = {"context": self._context}
            self.send("script.evaluate", expression=f"{AXE.read_text()}; undefined", target=target, awaitPromise=False)
        return list(self.evaluate(f"({RUN_AXE})({json.dumps(RULES)})"))


# The field with a label.
_FIELD = """label => [...document.querySelectorAll("input, select, textarea")].find(field =>
    field.checkVisibility() && (field.getAttribute("aria-label") ?? field.labels?.[0]?.firstChild?.textContent)?.trim() === label) ?? null"""
# The name of the element with the focus, as far as attributes and texts give it.
_FOCUSED = """(() => {
    const at = document.activeElement;
    if (at === null) return "";
    return at.getAttribute("aria-label") || at.labels?.[0]?.innerText || at.innerText || at.title || "";
})()"""


def _connected(
    port: int, loop: asyncio.AbstractEventLoop, process: subprocess.Popen[bytes], log: Path
) -> WebSocketClientConnection:
    until_s = time.monotonic() + _PATIENCE_S

    async def connect() -> WebSocketClientConnection:
        return await websocket_connect(f"ws://127.0.0.1:{port}/session", max_message_size=1 << 28)

    while True:
        try:
            return asyncio.run_coroutine_threadsafe(connect(), loop).result(_PATIENCE_S)
        except OSError:
            assert process.poll() is None, f"Firefox ended: {log.read_text(errors='replace')[-2000:]}"
            assert time.monotonic() < until_s, "Firefox does not listen"
            time.sleep(0.1)
