"""The report of kept runs, by the file's ending: one self-contained HTML page, or a static figure as SVG or PNG."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from longhaul.orchestrator.analysis.panels import Panel
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.extras import need
from longhaul.orchestrator.system.files import write_whole
from longhaul.orchestrator.trace.records import Trace

ReportedRun = tuple[RunDocument, Run, Trace]

_ENDINGS = (".html", ".svg", ".png")


def ending_of(output: Path) -> str:
    """The ending of a report's file name; PlanError if it is not supported, PackagesMissing for a picture without the packages for it."""
    ending = output.suffix.lower()
    if ending not in _ENDINGS:
        what = f"its ending is {ending!r}" if ending else "it has no ending"
        raise PlanError("writing the report to", str(output), what, f"use one of {', '.join(_ENDINGS)}")
    if ending != ".html":
        need("figures")
    return ending


def write_report(runs: Sequence[ReportedRun], output: Path, recorded: Sequence[Panel] = ()) -> None:
    """Write these runs to a file that ends in .html, .svg or .png, with series of recordings over theirs; PlanError without any run."""
    if not runs:
        raise PlanError("writing a report to", str(output), "no run finished")
    ending = ending_of(output)
    if ending == ".html":
        from longhaul.orchestrator.analysis.report.page import report_page

        content = report_page(runs, recorded).encode()
    else:
        from longhaul.orchestrator.analysis.figures.run_figure import draw_figure

        content = draw_figure([(run, trace) for _, run, trace in runs], ending[1:], recorded)
    write_whole(output, content)
