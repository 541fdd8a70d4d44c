"""The formats by name, each with the function that gives its files: their names, and their contents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from longhaul.orchestrator.analysis.formats.flent import flent_files
from longhaul.orchestrator.analysis.formats.iperf3 import iperf3_files
from longhaul.orchestrator.analysis.formats.qlog import qlog_files
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.files import output_folder
from longhaul.orchestrator.trace.records import ColumnSource

FORMATS: dict[str, Callable[[Run, RunDocument, ColumnSource], Iterator[tuple[str, bytes]]]] = {
    "iperf3": iperf3_files,
    "flent": flent_files,
    "qlog": qlog_files,
}


def write_formats(store: Store, run_id: str, to: str, folder: Path) -> list[Path]:
    """Write a kept run in one of FORMATS into a folder; the files written."""
    written = []
    with output_folder(folder, "exporting run", run_id):
        for name, content in FORMATS[to](store.planned(run_id), store.get(run_id), store.columns(run_id)):
            (folder / name).write_bytes(content)
            written.append(folder / name)
        if not written:
            what = f"it has no flow that {to} can show: connections of web users and of programs follow one another"
            raise ResultsError("exporting run", run_id, what, "--to csv has the records of all flows")
    return written
