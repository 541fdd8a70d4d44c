"""The formats by name, each with the function that gives its files: their names, and their contents."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from longhaul.orchestrator.analysis.formats.exported_run import ExportedRun, Format
from longhaul.orchestrator.analysis.formats.flent.data_file import flent_files
from longhaul.orchestrator.analysis.formats.iperf3 import iperf3_files
from longhaul.orchestrator.analysis.formats.qlog import qlog_files
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import ResultsError
from longhaul.orchestrator.system.files import output_folder

FORMATS: Mapping[str, Format] = {
    "iperf3": iperf3_files,
    "flent": flent_files,
    "qlog": qlog_files,
}

# What a service names the file of flent; the command line names it by its test.
FLENT_FILE = "run.flent.gz"


def exported_run(store: Store, run_id: str) -> ExportedRun:
    """A kept run as the formats read it."""
    document = store.get(run_id)
    row = store.catalog.run(run_id)
    assert row is not None
    kept_at = datetime.fromisoformat(row["finished_at"] or row["created_at"]).astimezone(UTC)
    return ExportedRun(store.planned(run_id), document, store.columns(run_id), kept_at)


def flent_content(store: Store, run_id: str) -> bytes:
    """The data file of flent of a kept run."""
    ((_, content),) = flent_files(exported_run(store, run_id))
    return content


def write_formats(store: Store, run_id: str, to: str, folder: Path) -> list[Path]:
    """Write a kept run in one of FORMATS into a folder; the files written."""
    written = []
    exported = exported_run(store, run_id)
    with output_folder(folder, "exporting run", run_id):
        for name, content in FORMATS[to](exported):
            (folder / name).write_bytes(content)
            written.append(folder / name)
        if not written:
            what = (
                f"it has no flow that {to} can show: transfers of web users, requests and programs follow one another"
            )
            raise ResultsError("exporting run", run_id, what, "--to csv has the records of all flows")
    return written
