"""Progress bars on a terminal, for runs here and on a service."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Self

from rich.console import Console, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from longhaul.cli.terminal.console import MANY

# The position of the bar of all runs.
_ALL = -1
# This many runs give an estimate of the time that the others take.
_TELLING = 4

Above = Callable[[int], RenderableType | None]


class _Bars(Progress):
    """Progress bars, with something above them."""

    above: Above | None = None

    def get_renderables(self) -> Iterable[RenderableType]:
        """All that is drawn, from top to bottom."""
        # A line is left for the cursor.
        if self.above is not None and (top := self.above(self.console.height - len(self.tasks) - 1)) is not None:
            yield top
        yield from super().get_renderables()


class RunProgress:
    """A bar for each run with its virtual and wall time; of many runs, only those that are running, below a bar for all with the time left.

    Runs are numbered by their positions. `costs` are their estimated durations, in any unit. `above` draws what stands above the
    bars, in so many lines at most.
    """

    def __init__(
        self, experiment: str, runs: int, console: Console, costs: Sequence[float] = (), above: Above | None = None
    ) -> None:
        self._experiment = experiment
        self._runs = runs
        self._done = 0
        # Only runs that are computed: a run from the store takes no time and gives no estimate.
        self._costs = costs
        self._cost_left, self._cost_done = sum(costs), 0.0
        self._started: dict[int, float] = {}
        self._clocks: dict[int, str] = {}
        self._tasks: dict[int, TaskID] = {}
        self._bars = _Bars(
            TextColumn("{task.description}"),
            BarColumn(bar_width=30),
            TextColumn("{task.fields[clock]}"),
            console=console,
            transient=True,
            refresh_per_second=5,
        )
        self._bars.above = above

    def __enter__(self) -> Self:
        self._bars.start()
        if self._many:
            self._tasks[_ALL] = self._bars.add_task(self._experiment, total=self._runs, clock="")
            self._started[_ALL] = time.monotonic()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bars.stop()

    @property
    def _many(self) -> bool:
        return self._runs > MANY

    def started(self, position: int, title: str, virtual_s: float, clock: str) -> None:
        """A run begins, again or for the first time."""
        self._started[position], self._clocks[position] = time.monotonic(), clock
        if position in self._tasks:
            self._bars.update(self._tasks[position], completed=0, clock="starting")
        elif not self._many or self._costs:
            self._tasks[position] = self._bars.add_task(title, total=virtual_s, clock="starting")

    def reached(self, position: int, virtual_s: float) -> None:
        """A run has reached this virtual time."""
        if position in self._tasks:
            wall_s = time.monotonic() - self._started[position]
            self._bars.update(
                self._tasks[position],
                completed=virtual_s,
                clock=f"{virtual_s:.1f} s {self._clocks[position]}, {wall_s:.1f} s wall",
            )

    def finished(self, position: int | None) -> None:
        """A run has ended; None: a run without a bar."""
        self._done += 1
        ran = position in self._started
        if position is not None and position in self._tasks:
            self._bars.remove_task(self._tasks.pop(position))
        if not self._many:
            return
        if position is not None and self._costs:
            self._cost_left -= self._costs[position]
            self._cost_done += self._costs[position] if ran else 0.0
        wall_s = time.monotonic() - self._started[_ALL]
        clock = f"{self._done} of {self._runs} runs, {wall_s:.0f} s wall"
        if (left_s := self._left_s(wall_s)) is not None:
            clock += f", about {left_s:.0f} s to go"
        self._bars.update(self._tasks[_ALL], completed=self._done, clock=clock)

    def _left_s(self, wall_s: float) -> float | None:
        """The time that the rest will take at the pace so far; None before that can be estimated."""
        return wall_s * self._cost_left / self._cost_done if self._cost_done and self._done >= _TELLING else None


def progress_console() -> Console:
    """Progress goes to standard error, so that standard output holds results only."""
    return Console(stderr=True, quiet=not sys.stderr.isatty())
