"""A kept run's trace in formats other tools read: CSV, Parquet, JSON lines."""

from __future__ import annotations

import shutil
from pathlib import Path

from orchestrator.errors import ResultsError
from orchestrator.results.store import Store


def export_trace(store: Store, run: str, to: str, folder: Path) -> list[Path]:
    """Write one file a kind of record into `folder`; the files written."""
    written = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for source in sorted(store.directory(run).glob("*.parquet")):
            target = folder / f"{source.stem}.{to}"
            _convert(source, target, to)
            written.append(target)
    except OSError as error:
        raise ResultsError(
            "exporting run", run, error.strerror or str(error), "choose another folder with -o"
        ) from error
    return written


def _convert(source: Path, target: Path, to: str) -> None:
    if to == "parquet":
        shutil.copyfile(source, target)
        return
    import pyarrow.csv
    import pyarrow.parquet

    table = pyarrow.parquet.read_table(source)
    if to == "csv":
        pyarrow.csv.write_csv(table, target)
        return
    import json

    with target.open("w") as file:
        for batch in table.to_batches(max_chunksize=10_000):
            file.writelines(json.dumps(row) + "\n" for row in batch.to_pylist())
