"""The report of kept runs, by the file's ending: one HTML page that needs nothing else, or a static figure as SVG or PNG.

The file appears whole or not at all: it is written beside its place and renamed.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from orchestrator.errors import PlanError, ResultsError
from orchestrator.run import Run
from orchestrator.trace import Trace

Document = dict[str, Any]
ReportedRun = tuple[Document, Run, Trace]

_ENDINGS = (".html", ".svg", ".png")


def write_report(runs: Sequence[ReportedRun], output: Path) -> None:
    """Write these runs to a file that ends in .html, .svg or .png."""
    ending = output.suffix.lower()
    if ending not in _ENDINGS:
        what = f"its ending is {ending!r}" if ending else "it has no ending"
        raise PlanError("writing the report to", str(output), what, f"end it in {', '.join(_ENDINGS)}")
    if ending == ".html":
        from orchestrator.analysis.page import report_page

        content = report_page(runs).encode()
    else:
        from orchestrator.analysis.figure import draw_figure

        content = draw_figure([(run, trace) for _, run, trace in runs], ending[1:])
    _write_whole(output, content)


def _write_whole(output: Path, content: bytes) -> None:
    beside = output.with_name(f".{output.name}.{os.getpid()}")
    try:
        try:
            beside.write_bytes(content)
            beside.replace(output)
        finally:
            beside.unlink(missing_ok=True)
    except OSError as error:
        what, hint = error.strerror or str(error), "name another file with -o"
        raise ResultsError("writing the report to", str(output), what, hint) from error
