"""The result of an experiment, for people and CI: on the terminal, in files, as an exit code; the same wherever it ran."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.system.errors import RunDamaged, TraceError
from longhaul.orchestrator.system.files import check_places, write_whole
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from longhaul.orchestrator.analysis.panels import Panel
    from longhaul.results.result import Result
    from longhaul.results.run import Run

EXIT_DONE, EXIT_MISSED, EXIT_FAILED = 0, 1, 4

_CHART_COLUMNS = 110


@dataclass(frozen=True, slots=True)
class Files:
    """Files to write in addition to the output."""

    junit: Path | None = None
    markdown: Path | None = None
    report: Path | None = None
    out: Path | None = None

    def check(self) -> None:
        """PlanError if a file cannot be written, before its content is computed."""
        check_places(self.junit, self.markdown, self.report)
        if self.report is not None:
            from longhaul.orchestrator.analysis.report.report import ending_of

            ending_of(self.report)


def chart_columns(console: Console) -> int:
    """The width of a chart."""
    return min(console.width, _CHART_COLUMNS)


def exit_code(runs: Sequence[Mapping[str, Any]]) -> int:
    """0 done, 1 an expectation missed, 4 a run failed."""
    statuses = {run["status"] for run in runs}
    if "failed" in statuses:
        return EXIT_FAILED
    return EXIT_MISSED if "missed" in statuses else EXIT_DONE


def with_numbers(result: Result) -> list[Run]:
    """The runs that did not fail."""
    return [run for run in result.runs if run.status != "failed"]


def write_summaries(result: Result, files: Files) -> None:
    """Write the files that need only the result."""
    if files.junit is not None:
        from longhaul.orchestrator.analysis.report.junit import junit_xml

        write_whole(files.junit, junit_xml(dict(result)))
    if files.markdown is not None:
        from longhaul.orchestrator.analysis.report.summary_text import markdown

        write_whole(files.markdown, markdown(dict(result)))
    if files.out is not None:
        files.out.mkdir(parents=True, exist_ok=True)
        write_whole(files.out / "result.json", json.dumps(result.document, indent=1))


def write_report(runs: Sequence[Run], output: Path, recorded: Sequence[Panel] = ()) -> None:
    """Write runs as HTML, SVG or PNG, by the file's ending, with series of recordings over theirs."""
    from longhaul.orchestrator.analysis.report.report import write_report as write

    write([run.reported() for run in runs], output, recorded)
    print(f"report: {output}", file=sys.stderr)


def show_result(result: Result) -> None:
    """Print a result: a single run in full, several as tables, many as their summary and a count."""
    runs = result.runs
    if result.notes:
        from longhaul.cli.terminal.console import notes_console

        for line in result.notes:
            notes_console().print(f"note: {line}", style="yellow", highlight=False, markup=False)
    if len(runs) == 1 and runs[0].status != "failed":
        show_run(runs[0])
        return
    from longhaul.cli.terminal import console as screen

    console = screen.results_console()
    many = len(runs) > screen.MANY
    if not many and len(runs) > 1:
        console.print(screen.flow_table(runs))
    if result.summary and (many or any(row["n"] > 1 for row in result.summary)):
        console.print(screen.summary_table(result.summary))
    problems = [line for run in runs for line in screen.problem_lines(run)]
    for line in problems[: screen.MANY]:
        console.print(line, style="red", highlight=False, markup=False)
    if len(problems) > screen.MANY:
        console.print(f"and {len(problems) - screen.MANY} more", style="red", highlight=False)
    if many:
        console.print(screen.count_line(runs), highlight=False)


def show_run(run: Run, *, kept: bool = False) -> None:
    """Print one run; `kept`: it ran before."""
    shown = {**run, "cached": kept or run["cached"]}
    if shown["cached"]:
        from longhaul.cli.terminal.answer_source import answer_source

        text = run.text("answer.txt", answer_source(shown), lambda: _answer(run, shown))
    else:
        text, _ = _answer(run, shown)
    sys.stdout.write(text)
    sys.stdout.flush()


def show_measured(run: Run) -> None:
    """Print the numbers of a run without a trace to draw."""
    from longhaul.cli.terminal import console as screen

    console = screen.results_console()
    console.print(screen.flow_table([run]))
    for line in [*screen.link_lines(run), screen.fidelity_line(run), screen.clock_line(run)]:
        console.print(line, highlight=False)


def _answer(run: Run, shown: Mapping[str, Any]) -> tuple[str, bool]:
    """The printed text of a run, and whether it is all there is to print."""
    from longhaul.cli.terminal import console as screen

    console = screen.results_console()
    columns = chart_columns(console)
    chart, is_whole = _chart(run, columns, colour=console.color_system is not None)
    lines = [
        *screen.link_lines(run),
        *screen.phase_lines(run),
        screen.fidelity_line(run),
        *screen.expectation_lines(run),
        screen.clock_line(shown),
    ]
    with console.capture() as printed:
        console.print(chart, highlight=False)
        console.print(screen.flow_table([run]))
        for line in lines:
            console.print(line, highlight=False)
        console.print(f"run {run.id}", highlight=False)
        if link := run.get("grafana"):
            # One line however narrow the terminal is, so that the link works.
            console.print(f"grafana {link}", highlight=False, soft_wrap=True)
    return printed.get(), is_whole


def show_rows(noun: str, rows: Sequence[dict[str, Any]], shown: Sequence[dict[str, Any]], *, as_json: bool) -> None:
    """Print a list as JSON, or its `shown` form as a table."""
    if as_json:
        print(json.dumps(rows))
        return
    from longhaul.cli.terminal.console import plain_table, results_console

    results_console().print(plain_table(shown) if shown else f"no {noun} yet")


def _chart(run: Run, columns: int, *, colour: bool) -> tuple[Text, bool]:
    """The chart of a run; or why there is none, and False."""
    from rich.text import Text

    from longhaul.orchestrator.analysis.report.chart import run_charts

    try:
        _, planned, trace = run.reported()
        return run_charts(planned, trace, columns, colour=colour), True
    except RunDamaged:
        raise
    except TraceError as error:
        # The trace has another version; the numbers can still be shown.
        return Text(f"no chart: {error}"), False
