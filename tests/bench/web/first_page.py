"""The first page of `make bench-web`: the time until the first paint and until the content is shown, with an empty cache.

Also over a slow network, of 400 ms and 1.6 Mbit/s, for the first page, the list of runs, the page of a run with its charts, and Launch.
"""

from __future__ import annotations

import json
import statistics
from typing import Any

from playwright.sync_api import Browser

from tests.support.service import ROOT, Service

_PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
# The page itself notes the frame in which an element is there: the driver looks for it every half second.
_NOTE = """(selector) => {
    const look = () => {
        if (document.querySelector(selector) === null) requestAnimationFrame(look);
        else window.thereMs = performance.now();
    };
    look();
}"""
# Since the navigation began.
_NOW = "() => performance.now()"
# A chart with its values.
LEGEND_VALUE = 'figure[aria-label="Congestion window"] table td span:not(:empty)'
_SLOW = {"offline": False, "latency": 400, "downloadThroughput": 200_000, "uploadThroughput": 200_000}


def first_content(browser: Browser, service: Service, repeats: int) -> dict[str, float]:
    """The first page without a session, which asks for a token, and with one, which shows the running work of the lab."""
    found: dict[str, float] = {}
    for who, content in (("stranger", "#root h1"), ("visitor", "#root main ul")):
        painted, there = [], []
        for _ in range(repeats):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            page = context.new_page()
            if who == "visitor":
                token: dict[str, Any] = {"token": service.tokens["read"]}
                page.request.post(f"{service.url}{ROOT}/session", data=token)
            page.goto(f"{service.url}/")
            page.wait_for_selector(content)
            there.append(page.evaluate(_NOW))
            page.wait_for_function(_PAINTED)
            painted.append(page.evaluate(_PAINTED))
            context.close()
        found |= {f"{who}_painted_ms": statistics.median(painted), f"{who}_there_ms": statistics.median(there)}
    return found


def over_a_slow_network(browser: Browser, service: Service, run: str, repeats: int) -> dict[str, float]:
    """Pages of a first visit: until the first paint, and until the content is shown."""
    found: dict[str, float] = {}
    for name, view, content in (
        ("start", "", "#root main h1"),
        ("list", "runs", "tr[data-row]"),
        ("run", f"runs/{run}", LEGEND_VALUE),
        ("launch", "launch", "#root main h1"),
    ):
        painted, there = [], []
        for _ in range(repeats):
            context = browser.new_context(viewport={"width": 1440, "height": 900})
            context.add_init_script(f"({_NOTE})({json.dumps(content)})")
            page = context.new_page()
            page.request.post(f"{service.url}{ROOT}/session", data={"token": service.tokens["run"]})
            session = context.new_cdp_session(page)
            session.send("Network.enable")
            session.send("Network.emulateNetworkConditions", _SLOW)
            page.goto(f"{service.url}/#/{view}", wait_until="commit")
            page.wait_for_function("() => window.thereMs")
            there.append(page.evaluate("window.thereMs"))
            painted.append(page.evaluate(_PAINTED))
            context.close()
        found |= {f"{name}_painted_ms": statistics.median(painted), f"{name}_there_ms": statistics.median(there)}
    return found
