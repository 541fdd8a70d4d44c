"""Kept runs of this machine as files for other programs: the trace as tables, or a run as another tool would have written it."""

from __future__ import annotations

from pathlib import Path

from longhaul.orchestrator.analysis.formats.tables import FORMATS
from longhaul.orchestrator.live.export_run import write_files
from longhaul.orchestrator.results.conversion import FORMATS as TABLES
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.errors import PlanError, nearest
from longhaul.orchestrator.system.settings import load_settings


def export(run: str, to: str, output: str | Path | None = None) -> list[Path]:
    """Write a kept run into a folder, by default one with its id: csv, parquet or json for its trace; iperf3, flent or qlog. Returns the files."""
    known = (*TABLES, *FORMATS)
    if to not in known:
        hint = f"known: {', '.join(known)}{nearest(to, known)}; longhaul.packets() writes packets"
        raise PlanError("exporting run", run, f"there is no format {to}", hint)
    store = Store(load_settings())
    run_id = store.get(run)["run"]
    return write_files(store, run_id, to, Path(run_id if output is None else output))
