"""The charts of --watch: what a running run has measured so far, of one run after the other, within the terminal."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rich.console import Console

from longhaul.cli.terminal.live_charts import LiveCharts
from longhaul.orchestrator.live.downsampling import Downsampler
from longhaul.orchestrator.live.live_series import LiveEvent, SettledSamples, cell_of, step_fields
from longhaul.orchestrator.system.errors import ServiceUnavailable
from tests.support.recordings import recorded
from tests.support.waiting import wait_for

Feed = Callable[[threading.Event], Iterator[LiveEvent]]


def events_of(name: str) -> list[LiveEvent]:
    """The events that a service sends of a recorded run."""
    run, trace, _ = recorded(name)
    samples = SettledSamples()
    downsampler = Downsampler(run, "0" * 20, cell_of(run))
    events = [LiveEvent("state", {"state": "live"}), LiveEvent("begin", {"from_ms": 0, "same_again": True})]
    samples.add([*downsampler.feed(trace), *downsampler.finish()], run.duration_us // 1000 + 1)
    step = samples.since(0, 10**9)
    assert step is not None
    return [*events, LiveEvent("samples", step_fields(run, step))]


def lasting(events: list[LiveEvent]) -> Feed:
    """A run that sends these events, and is running until it is over."""

    def feed(over: threading.Event) -> Iterator[LiveEvent]:
        yield from events
        over.wait()

    return feed


@pytest.fixture
def live() -> Iterator[LiveCharts]:
    charts = LiveCharts(Console(file=io.StringIO(), width=80))
    yield charts
    charts.close()


def text_of(live: LiveCharts, lines: int = 60) -> str:
    charts = live.charts(lines)
    return "" if charts is None else charts.plain


def test_they_show_every_flow_and_fit_the_terminal(live: LiveCharts) -> None:
    live.started(0, "lossy pair seed 1", 3.0, lasting(events_of("lossy_pair")))
    wait_for(lambda: "Queue, packets" in text_of(live))
    for lines in (12, 20, 31, 60):
        text = text_of(live, lines)
        assert len(text.rstrip("\n").split("\n")) <= lines
        assert max(map(len, text.split("\n"))) <= 80
        assert "Congestion window, packets" in text
    for part in ("lossy pair seed 1", "Goodput, Mbit/s", "a first", "b second", "3 s"):
        assert part in text


def test_the_goodput_is_that_of_the_run(live: LiveCharts) -> None:
    """Two halves of a second at 0 and 8 Mbit/s, in cells of 1 ms with their bytes in bursts: the chart's greatest value is the mean of 8."""
    times = np.arange(1, 1001)
    rate = np.where(times <= 500, 0.0, np.where(times % 5 == 0, 40e6, 0.0))
    series = [{"measure": "goodput", "of": "a", "t_ms": times.tolist(), "value": rate.tolist()}]
    live.started(0, "bursts", 1.0, lasting([LiveEvent("samples", {"from_ms": 0, "to_ms": 1000, "series": series})]))
    wait_for(lambda: "Goodput" in text_of(live))
    top = next(line for line in text_of(live).split("\n") if "|" in line)
    assert float(top.partition("|")[0]) == pytest.approx(8.0)


def test_the_next_running_run_follows_when_one_has_ended(live: LiveCharts) -> None:
    live.started(0, "first of two", 3.0, lasting(events_of("lossy_pair")))
    live.started(1, "second of two", 3.0, lasting(events_of("lossy_pair")))
    wait_for(lambda: "first of two" in text_of(live))
    live.finished(0)
    wait_for(lambda: "second of two" in text_of(live))
    live.finished(1)
    assert "second of two" in text_of(live), "the last charts stay until the command ends"


def test_another_attempt_in_real_time_begins_with_empty_charts(live: LiveCharts) -> None:
    again = threading.Event()

    def feed(over: threading.Event) -> Iterator[LiveEvent]:
        yield from events_of("lossy_pair")
        again.wait(10)
        yield LiveEvent("begin", {"from_ms": 0, "same_again": False})
        over.wait()

    live.started(0, "twice", 3.0, feed)
    wait_for(lambda: bool(text_of(live)))
    again.set()
    wait_for(lambda: text_of(live) == "")


def test_a_run_continues_without_its_charts(live: LiveCharts, tmp_path: Path) -> None:
    def feed(over: threading.Event) -> Iterator[LiveEvent]:
        yield from events_of("lossy_pair")
        raise ServiceUnavailable("following", str(tmp_path), "the stream ends repeatedly", "try later")

    live.started(0, "broken", 3.0, feed)
    wait_for(lambda: "broken" in text_of(live))
    live.finished(0)
