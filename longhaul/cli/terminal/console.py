"""The output on a terminal: progress bars, then tables and charts. Nothing here computes a number."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from rich.console import Console, RenderableType
from rich.markup import escape
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table
from rich.text import Text

from longhaul.orchestrator.papers.reproduction import outcome
from longhaul.orchestrator.papers.verdicts import Verdict
from longhaul.orchestrator.system.errors import sentence, visible
from longhaul.orchestrator.system.units import format_rate
from longhaul.results.tables import FAILED, TEXT_COLUMNS, flow_rows, summary_rows

# More than this many lines of progress or result are counted instead of listed.
MANY = 12
_PIPE_COLUMNS = 280
# The width of a row's name, so that the rest fits.
_LONGEST_NAME = 24
# The position of the bar of all runs.
_ALL = -1
# This many runs give an estimate of the time that the others take.
_TELLING = 4

Document = Mapping[str, Any]
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


def notes_console() -> Console:
    """Notes go to standard error."""
    return Console(stderr=True)


def results_console() -> Console:
    """Results go to standard output; in a file or a pipe, tables have any width."""
    return Console() if sys.stdout.isatty() else Console(width=_PIPE_COLUMNS)


def flow_table(documents: Sequence[Mapping[str, Any]]) -> Table:
    """One line for each flow of each run, with the most important numbers."""
    rows = flow_rows(documents)
    table = Table(title=None, header_style="bold", pad_edge=False, box=None)
    for name in rows[0] if rows else ():
        table.add_column(name, justify="left" if name in TEXT_COLUMNS else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(cell, "red" if (name, cell) == ("flow", FAILED) else "") for name, cell in row.items()))
    return table


def link_lines(document: Document) -> list[str]:
    """One line for each followed link; the first also has the fairness between flows."""
    # Documents from before several links could be followed have the first only.
    links = document.get("links") or [{"name": "bottleneck", **document["path"]}]
    lines = [_link_line(link) for link in links[:MANY]]
    if len(links) > MANY:
        lines.append(f"and {len(links) - MANY} more links")
    jain = document.get("jain")
    return lines if jain is None else [f"{lines[0]} · Jain {jain:.4f}", *lines[1:]]


def phase_lines(document: Document) -> list[str]:
    """One line for each phase of the experiment."""
    return [_phase_line(name, measured) for name, measured in document.get("phases", {}).items()]


def _phase_line(name: str, measured: Document) -> str:
    flows = (f"{flow['name']} {format_rate(flow['goodput_bps'])}" for flow in measured["flows"][:MANY])
    more = f" and {len(measured['flows']) - MANY} more flows" if len(measured["flows"]) > MANY else ""
    return (
        f"{name}, {measured['from_s']:g} s to {measured['to_s']:g} s: {', '.join(flows)}{more} · "
        f"utilisation {measured['path']['utilisation']:.1%}"
    )


def _link_line(link: Document) -> str:
    queue = link["queue_packets"]
    return (
        f"{link['name']}: utilisation {link['utilisation']:.1%} · {link['drops']} drops · {link['marks']} marks · "
        f"queue mean {queue['mean']:.1f}, p95 {queue['p95']:.0f}, max {queue['max']} packets"
    )


def clock_line(document: Document) -> str:
    """The time that the run took, or that it came from the store."""
    if document["cached"]:
        return f"answered from the store (it took {document['wall_s']:.2f} s of wall time when it ran)"
    speed = document["virtual_s"] / max(document["wall_s"], 1e-9)
    return f"{document['virtual_s']:g} s of {document.get('clock', 'virtual')} time in {document['wall_s']:.2f} s of wall time ({speed:.1f} x), kernel {document['kernel']}"


def fidelity_line(document: Document) -> str:
    """How many fidelity checks the run passed."""
    return f"fidelity: {len(document['fidelity']['checks'])} checks passed"


def expectation_lines(document: Document) -> list[str]:
    """One line for each expectation."""
    return [
        f"{'met   ' if expectation['ok'] else 'MISSED'} {expectation['text']}" for expectation in document["expect"]
    ]


def problem_lines(document: Document) -> list[str]:
    """Why a run failed, or what it missed."""
    if document["status"] == "failed":
        return [f"{document['run'][:8]} failed: {sentence(document['error'])}"]
    return [f"{document['run'][:8]} missed: {one['text']}" for one in document["expect"] if not one["ok"]]


def count_line(documents: Sequence[Document]) -> str:
    """The number of runs, by status."""
    counts = Counter(document["status"] for document in documents)
    cached = sum(document["cached"] for document in documents)
    ended = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    return f"{len(documents)} runs: {ended}{f', {cached} of them answered from the store' if cached else ''}"


def summary_table(rows: Sequence[Mapping[str, Any]]) -> Table:
    """Aggregates over repeats: a line for each point and flow."""
    found = summary_rows(rows)
    table = Table(header_style="bold", pad_edge=False, box=None)
    for name in found[0] if found else ():
        table.add_column(name, justify="left" if name in (*TEXT_COLUMNS, "n") else "right", no_wrap=True)
    for row in found:
        table.add_row(*(Text(cell) for cell in row.values()))
    return table


def plain_table(rows: Sequence[dict[str, Any]]) -> Table:
    """Rows of one shape with a column for each key; stored text is neither markup nor a control sequence."""
    table = Table(header_style="bold", pad_edge=False, box=None)
    for index, column in enumerate(rows[0] if rows else ()):
        # The first column is the row's name, which users copy.
        name = index == 0 and all(len(_cell(row[column])) <= _LONGEST_NAME for row in rows)
        table.add_column(column, no_wrap=name)
    for row in rows:
        table.add_row(*(Text("\n".join(map(visible, _cell(value).splitlines()))) for value in row.values()))
    return table


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(_item, value))
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _item(value: Any) -> str:
    """A parameter as its name and default; programs get all fields."""
    if not isinstance(value, dict):
        return str(value)
    return f"{value['name']}={value['default']}" if value["default"] else str(value["name"])


def verdict_table(paper: str, verdicts: Sequence[Verdict]) -> Table:
    """One line for each published claim."""
    table = Table(title=None, header_style="bold", pad_edge=False, box=None)
    for column in ("figure", "claim", "class", "published", "measured", "verdict", "gates"):
        table.add_column(column)
    for one in verdicts:
        style = {"agrees": "green", "differs": "red" if one.gate else "yellow"}.get(one.verdict, "")
        table.add_row(
            *(escape(cell) for cell in (f"{paper}/{one.figure}", one.claim, one.grade, one.published, one.measured)),
            Text(outcome(one), style),
            "yes" if one.gate else "",
        )
    return table


def print_written(*files: Path | None) -> None:
    """Print the names of the written files."""
    for file in files:
        if file is not None:
            notes_console().print(f"written: {file}", highlight=False, markup=False, soft_wrap=True)
