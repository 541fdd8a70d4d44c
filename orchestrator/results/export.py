"""A kept run's trace in formats of other tools: CSV, Parquet, JSON lines."""

from __future__ import annotations

from pathlib import Path

from longhaul.orchestrator.results.conversion import convert
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.files import output_folder


def export_trace(store: Store, run: str, to: str, folder: Path) -> list[Path]:
    """Write one file per kind of record into `folder`; the files written."""
    written = []
    with output_folder(folder, "exporting run", run):
        for source in sorted(store.directory(run).glob("*.parquet")):
            target = folder / f"{source.stem}.{to}"
            convert(source, target, to)
            written.append(target)
    return written
