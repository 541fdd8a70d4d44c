"""Progress on standard error: bars on a terminal, lines at intervals elsewhere, and a sentence when a run is stopped.

Lines load nothing, so that a short run without a terminal stays short; bars.py has the bars.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from functools import partial
from typing import TYPE_CHECKING

from longhaul.orchestrator.execution.pipeline import Watcher
from longhaul.orchestrator.plan.compile import Plan
from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.settings import load_settings

if TYPE_CHECKING:
    from rich.console import Console

    from longhaul.cli.terminal.live_charts import LiveCharts
    from longhaul.orchestrator.live.live_series import LiveEvent

# The least time before the first line, and between two.
_FIRST_S, _ENDED_S, _RUNNING_S = 1.0, 5.0, 30.0
# This many runs give an estimate of the time that the others take.
_TELLING = 2


class ProgressLines:
    """The progress of runs, numbered by their positions; `costs` are their estimated durations, in any unit.

    `answered` of them come from the store. Thread-safe.
    """

    def __init__(self, experiment: str, costs: Sequence[float], *, answered: int = 0) -> None:
        self._experiment, self._costs = experiment, costs
        self._began_s = time.monotonic()
        self._printed_s: float | None = None
        self._titles: dict[int, tuple[str, float]] = {}
        self._done, self._computed, self._computed_cost = answered, 0, 0.0
        self._cost_left = sum(costs[answered:])
        self._lock = threading.Lock()

    def started(self, position: int, title: str, virtual_s: float) -> None:
        """A run begins, again or for the first time."""
        with self._lock:
            self._titles[position] = (title, virtual_s)

    def reached(self, position: int, virtual_s: float) -> None:
        """A run has reached this virtual time."""
        with self._lock:
            if position in self._titles and self._is_due(_RUNNING_S):
                title, length_s = self._titles[position]
                self._print(f"{title} is at {virtual_s:.1f}{f' of {length_s:g}' if length_s else ''} s")

    def finished(self, position: int, status: str, *, cached: bool) -> None:
        """A run has ended."""
        with self._lock:
            self._done += 1
            self._cost_left -= self._costs[position]
            title, _ = self._titles.pop(position, (f"run {position + 1}", 0.0))
            if cached:
                status = f"{status}, answered from the store"
            elif status != "failed":
                # A run that failed early gives no estimate.
                self._computed += 1
                self._computed_cost += self._costs[position]
            if self._done < len(self._costs) and self._is_due(_ENDED_S):
                self._print(f"{title}: {status}")

    def _is_due(self, between_s: float) -> bool:
        if self._printed_s is None:
            return time.monotonic() - self._began_s >= _FIRST_S
        return time.monotonic() - self._printed_s >= between_s

    def _print(self, what: str) -> None:
        now_s = time.monotonic()
        wall_s = now_s - self._began_s
        left = ""
        if self._computed >= _TELLING and self._computed_cost:
            left = f", about {wall_s * self._cost_left / self._computed_cost:.0f} s to go"
        counted = f"{self._done} of {len(self._costs)} runs done, " if len(self._costs) > 1 else ""
        print(f"{self._experiment}: {counted}{wall_s:.0f} s{left}; {what}", file=sys.stderr, flush=True)
        self._printed_s = now_s


class Tally:
    """Counts kept runs, for the message when the command is stopped."""

    def __init__(self, runs: int, *, use_cache: bool) -> None:
        self._runs, self._use_cache, self._kept = runs, use_cache, 0
        self._lock = threading.Lock()

    def finished(self, status: str) -> None:
        """A run has ended; a failed run is not kept."""
        with self._lock:
            self._kept += status != "failed"

    def sentence(self) -> str:
        """What is kept, and how to continue."""
        if not self._kept:
            return (
                f"stopped; none of {self._runs} runs had finished, so nothing is kept"
                if self._runs > 1
                else "stopped; the run had not finished, so nothing is kept"
            )
        kept = f"stopped; {self._kept} of {self._runs} runs finished and are kept (`longhaul list runs`)"
        if not self._use_cache:
            return f"{kept}; the same command without --no-cache runs only the rest"
        return f"{kept}; the same command again runs only the rest"


def require_terminal(experiment: str) -> None:
    """PlanError where charts cannot be drawn as they grow."""
    if not sys.stderr.isatty():
        hint = "leave out --watch: progress is then printed in lines"
        raise PlanError("watching", experiment, "standard error is not a terminal", hint)


@contextmanager
def shown_progress(
    name: str, runs: Sequence[Run], *, quiet: bool, use_cache: bool = True, charts: bool = False
) -> Iterator[Watcher]:
    """A watcher that shows the progress of these runs. `quiet` leaves out the bars of a terminal; `charts` adds those of --watch."""
    costs = [wall_estimate_s(run) for run in runs]
    tally = Tally(len(costs), use_cache=use_cache)
    try:
        if not sys.stderr.isatty():
            yield _lines(ProgressLines(name, costs), tally)
        elif quiet:
            yield Watcher(finished=lambda index, document: tally.finished(document["status"]))
        else:
            with ExitStack() as shown:
                yield _bars(name, costs, tally, shown, charts=charts)
    except (KeyboardInterrupt, SystemExit):
        print(f"longhaul: {tally.sentence()}", file=sys.stderr)
        raise


def plan_progress(plan: Plan, *, quiet: bool) -> AbstractContextManager[Watcher]:
    """The same for the runs of one plan."""
    return shown_progress(plan.experiment.experiment, plan.runs, quiet=quiet)


def _lines(lines: ProgressLines, tally: Tally) -> Watcher:
    def finished(index: int, document: RunDocument) -> None:
        tally.finished(document["status"])
        lines.finished(index, document["status"], cached=document["cached"])

    return Watcher(
        lambda index, run: lines.started(index, run.title, run.duration_us / 1e6),
        lambda index, virtual_ns: lines.reached(index, virtual_ns / 1e9),
        finished,
    )


def _bars(name: str, costs: Sequence[float], tally: Tally, shown: ExitStack, *, charts: bool) -> Watcher:
    from longhaul.cli.terminal.bars import RunProgress, progress_console

    console = progress_console()
    live = shown.enter_context(_charts(console)) if charts else None
    bars = shown.enter_context(RunProgress(name, len(costs), console, costs, live.charts if live else None))

    def started(index: int, run: Run) -> None:
        bars.started(index, run.title, run.duration_us / 1e6, run.clock)
        if live:
            live.started(index, run.title, run.duration_us / 1e6, partial(_events, run))

    def finished(index: int, document: RunDocument) -> None:
        tally.finished(document["status"])
        bars.finished(index)
        if live:
            live.finished(index)

    return Watcher(started, lambda index, virtual_ns: bars.reached(index, virtual_ns / 1e9), finished)


def _charts(console: Console) -> AbstractContextManager[LiveCharts]:
    from longhaul.cli.terminal.live_charts import LiveCharts

    return closing(LiveCharts(console))


def _events(run: Run, over: threading.Event) -> Iterator[LiveEvent]:
    from longhaul.orchestrator.live.watching import watched_events

    return watched_events(load_settings(), run, over)
