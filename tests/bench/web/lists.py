"""The list of runs of `make bench-web`: how long it takes to open with few and with many runs, and what scrolling costs.

Scrolling is that of a wheel, a few hundred pixels at a time, and that of the scroll bar, from place to place: the longest task of the
page's main thread, in its processor time, and the most rows that were drawn at once.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.settings import load_settings
from tests.bench.many_runs import fill
from tests.bench.web.page import opened, traced
from tests.support.service import LONGHAUL, Service, served

FEW, MANY = 200, 20_000
_ROWS = "tr[data-row]"
_SCROLL_S = 6.0
_LONG_TASK_MS = 50
# The most rows in the document while it is scrolled.
_COUNT_ROWS = """() => {
    window.mostRows = 0;
    const count = () => {
        window.mostRows = Math.max(window.mostRows, document.querySelectorAll("tr[data-row]").length);
        requestAnimationFrame(count);
    };
    count();
}"""


def measure_lists(browser: Browser, repeats: int) -> dict[str, Any]:
    """The lists of two labs, with few and with many runs."""
    found: dict[str, Any] = {}
    for number in (FEW, MANY):
        with _lab(number) as service, opened(browser, service) as page:
            found[f"list of {number}"] = {"open_median_s": _open(page, repeats)}
            if number == MANY:
                found[f"list of {number}"] |= _scroll(page, browser)
    few, many = (found[f"list of {number}"]["open_median_s"] for number in (FEW, MANY))
    found[f"list of {MANY}"]["open_ratio"] = many / few
    return found


@contextmanager
def _lab(runs: int) -> Iterator[Service]:
    """A service with so many copies of one run."""
    with tempfile.TemporaryDirectory(prefix="longhaul-bench-") as folder:
        home = Path(folder) / "home"
        home.mkdir()
        environment = {**os.environ, "LONGHAUL_HOME": str(home)}
        subprocess.run([*LONGHAUL, "run", "quick", "--json"], check=True, stdout=subprocess.DEVNULL, env=environment)
        store = Store(replace(load_settings(), home=home))
        fill(store, runs)
        store.database.close()
        with served(home) as service:
            yield service


def _open(page: Page, repeats: int) -> float:
    """From another view to the drawn rows of the list, which is read from the service each time."""
    took = []
    for _ in range(repeats):
        page.evaluate("() => { location.hash = '#/lab'; }")
        page.wait_for_selector(_ROWS, state="detached")
        begun = time.perf_counter()
        page.evaluate("() => { location.hash = '#/runs'; }")
        page.wait_for_selector(_ROWS)
        page.evaluate("() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))")
        took.append(time.perf_counter() - begun)
    return statistics.median(took)


def _scroll(page: Page, browser: Browser) -> dict[str, float]:
    """Scroll by the wheel, and then from place to place."""
    page.evaluate(_COUNT_ROWS)
    page.mouse.move(700, 500)
    with traced(page, browser) as trace:
        until = time.perf_counter() + _SCROLL_S
        while time.perf_counter() < until:
            page.mouse.wheel(0, 400)
            page.wait_for_timeout(16)
        height = page.evaluate("document.documentElement.scrollHeight")
        for place in range(20):
            page.evaluate("top => window.scrollTo(0, top)", height * ((place * 7) % 20) / 20)
            page.wait_for_timeout(100)
    tasks_ms = trace.tasks_ms()
    return {
        "frames_a_second": trace.frames()["frames_a_second"],
        "longest_task_ms": max(tasks_ms),
        "tasks_over_50_ms": sum(1 for one in tasks_ms if one > _LONG_TASK_MS),
        "most_rows": page.evaluate("window.mostRows"),
    }
