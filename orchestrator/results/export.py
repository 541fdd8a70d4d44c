"""A kept run's trace in formats of other tools: CSV, Parquet, JSON lines."""

from __future__ import annotations

from pathlib import Path

from longhaul.orchestrator.results.conversion import convert
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import ResultsError, remedy


def export_trace(store: Store, run: str, to: str, folder: Path) -> list[Path]:
    """Write one file per kind of record into `folder`; the files written."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(store.directory(run).glob("*.parquet")):
            target = folder / f"{source.stem}.{to}"
            convert(source, target, to)
            written.append(target)
    except OSError as error:
        hint = remedy(error, "choose another folder with -o") or "choose another folder with -o"
        raise ResultsError("exporting run", run, error.strerror or str(error), hint) from error
    return written
