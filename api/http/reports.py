"""Reports of kept runs as answers: one HTML page with charts, measures and fidelity, which needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from fastapi.responses import HTMLResponse

from longhaul.api.lab import Lab
from longhaul.orchestrator.execution.evaluation import kept_run

# The report has an opaque origin, so its scripts cannot send requests to the service as the reader.
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; img-src data:; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; sandbox allow-scripts"
)


def report_answer(lab: Lab, run_ids: Sequence[str], headers: Mapping[str, str]) -> HTMLResponse:
    """The report of these runs, which have traces."""
    from longhaul.orchestrator.analysis.report.page import report_page

    # The drawing library is not thread-safe.
    with lab.drawing:
        text = report_page([kept_run(run_id, lab.store) for run_id in run_ids])
    return HTMLResponse(text, headers={**headers, "Content-Security-Policy": _POLICY})
