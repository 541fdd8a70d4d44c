"""A page in Chromium for `make bench-web`, and the trace of what its main thread does."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from playwright.sync_api import Browser, Page

from tests.support.service import Service

_CATEGORIES = ["devtools.timeline", "disabled-by-default-devtools.timeline.frame", "toplevel"]


@contextmanager
def opened(browser: Browser, service: Service) -> Iterator[Page]:
    """A page of a logged-in user."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    page.goto(f"{service.url}/#/runs")
    page.get_by_label("Token").fill(service.tokens["admin"])
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("navigation", name="Pages").wait_for()
    yield page
    context.close()


@dataclass
class Trace:
    """The events of a trace of Chromium."""

    events: list[dict[str, Any]] = field(default_factory=list)
    lasted_s: float = 0.0

    def tasks_ms(self) -> list[float]:
        """The processor time of each task of the page's main thread, which other load on the machine does not affect."""
        threads = {
            (one["pid"], one["tid"]): one["args"]["name"] for one in self.events if one.get("name") == "thread_name"
        }
        return [
            event["tdur"] / 1000
            for event in self.events
            if event.get("name") == "ThreadControllerImpl::RunTask"
            and "tdur" in event
            and threads.get((event["pid"], event["tid"])) == "CrRendererMain"
        ]

    def frames(self) -> dict[str, float]:
        """The drawn frames, and the time of the page's main thread for one."""
        drawn_us = sorted(event["ts"] for event in self.events if event.get("name") == "DrawFrame")
        fired = [one["dur"] / 1000 for one in self.events if one.get("name") == "FireAnimationFrame" and "dur" in one]
        gaps_ms = [(late - early) / 1000 for early, late in pairwise(drawn_us)]
        return {
            "frames_a_second": len(drawn_us) / self.lasted_s,
            "median_gap_ms": statistics.median(gaps_ms) if gaps_ms else 0.0,
            "p95_gap_ms": statistics.quantiles(gaps_ms, n=20)[-1] if len(gaps_ms) > 1 else 0.0,
            "thread_ms_a_frame": sum(self.tasks_ms()) / max(1, len(fired)),
            "script_median_ms": statistics.median(fired) if fired else 0.0,
        }


@contextmanager
def traced(page: Page, browser: Browser) -> Iterator[Trace]:
    """A trace of what happens meanwhile; it has its events at the end."""
    trace = Trace()
    browser.start_tracing(page=page, categories=_CATEGORIES)
    begun = time.perf_counter()
    yield trace
    trace.lasted_s = time.perf_counter() - begun
    trace.events = json.loads(browser.stop_tracing())["traceEvents"]
