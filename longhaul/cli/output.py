"""What an experiment came to, for people and for CI: on the terminal, in files, as an exit code; the same wherever it ran."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from longhaul.orchestrator.system.files import check_places, write_whole

if TYPE_CHECKING:
    from rich.text import Text

Document = dict[str, Any]

EXIT_DONE, EXIT_MISSED, EXIT_FAILED = 0, 1, 4

_CHART_COLUMNS = 110


class Chart(Protocol):
    """Draws a run over time for a terminal, from wherever its trace is."""

    def __call__(self, document: Document, columns: int, *, colour: bool) -> Text: ...


@dataclass(frozen=True, slots=True)
class Files:
    """What is to be written besides what is printed."""

    junit: Path | None = None
    markdown: Path | None = None
    report: Path | None = None
    out: Path | None = None

    def check(self) -> None:
        """Whether they could be written, before what is to be in them is computed; PlanError where not."""
        check_places(self.junit, self.markdown, self.report)
        if self.report is not None:
            from longhaul.orchestrator.analysis.report.report import ending_of

            ending_of(self.report)


def exit_code(documents: Sequence[Document]) -> int:
    """0 done, 1 an expectation missed, 4 a run failed."""
    statuses = {document["status"] for document in documents}
    if "failed" in statuses:
        return EXIT_FAILED
    return EXIT_MISSED if "missed" in statuses else EXIT_DONE


def with_numbers(result: Document) -> list[Document]:
    """Its runs that did not fail."""
    return [document for document in result["runs"] if document["status"] != "failed"]


def write_summaries(result: Document, files: Files) -> None:
    """The files that need nothing but the result."""
    if files.junit is not None:
        from longhaul.orchestrator.analysis.report.junit import junit_xml

        write_whole(files.junit, junit_xml(result))
    if files.markdown is not None:
        from longhaul.orchestrator.analysis.report.summary_text import markdown

        write_whole(files.markdown, markdown(result))
    if files.out is not None:
        files.out.mkdir(parents=True, exist_ok=True)
        write_whole(files.out / "result.json", json.dumps(result, indent=1))


def show_result(result: Document, *, lint: Sequence[str], chart: Chart) -> None:
    """Print it: a single run in full, several as tables, many as their summary and a count."""
    from longhaul.cli import console as screen

    console = screen.results_console()
    documents: list[Document] = result["runs"]
    for line in lint:
        screen.notes_console().print(f"note: {line}", style="yellow", highlight=False, markup=False)
    if len(documents) == 1 and documents[0]["status"] != "failed":
        show_run_document(documents[0], chart)
        return
    many = len(documents) > screen.MANY
    if not many and len(documents) > 1:
        console.print(screen.flow_table(documents))
    if result["summary"] and (many or any(row["n"] > 1 for row in result["summary"])):
        console.print(screen.summary_table(result["summary"]))
    problems = [line for document in documents for line in screen.problem_lines(document)]
    for line in problems[: screen.MANY]:
        console.print(line, style="red", highlight=False, markup=False)
    if len(problems) > screen.MANY:
        console.print(f"and {len(problems) - screen.MANY} more", style="red", highlight=False)
    if many:
        console.print(screen.count_line(documents), highlight=False)


def show_run_document(document: Document, chart: Chart) -> None:
    """Print one run."""
    from longhaul.cli import console as screen

    console = screen.results_console()
    columns = min(console.width, _CHART_COLUMNS)
    console.print(chart(document, columns, colour=console.color_system is not None), highlight=False)
    console.print(screen.flow_table([document]))
    lines = [
        *screen.link_lines(document),
        *screen.phase_lines(document),
        screen.fidelity_line(document),
        *screen.expectation_lines(document),
        screen.clock_line(document),
    ]
    for line in lines:
        console.print(line, highlight=False)
    console.print(f"run {document['run']}", highlight=False)
    if link := document.get("grafana"):
        # One line however narrow the terminal is, so that it can be followed.
        console.print(f"grafana {link}", highlight=False, soft_wrap=True)
