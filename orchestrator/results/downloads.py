"""Files of a kept run for people to take along: one table of names, and nothing else can be asked for.

    manifest.json  log.txt  acks.parquet ...     as they are kept
    acks.csv ...                                 made when first asked for: <home>/derived/<first two of id>/<id>/acks.csv

What is derived can be made again, so anybody may remove it at any time; the run's end removes it too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from longhaul.orchestrator.results.conversion import convert
from longhaul.orchestrator.results.seals import check_file
from longhaul.orchestrator.results.traces import FILE_NAMES
from longhaul.orchestrator.system.errors import ResultsError, remedy
from longhaul.orchestrator.system.locks import locked

# Of a file to download: the name of the kept file that it is, or is made from.
SOURCES: dict[str, str] = {
    "manifest.json": "manifest.json",
    "log.txt": "log.txt",
    **{name: name for name in FILE_NAMES.values()},
    **{name.replace(".parquet", ".csv"): name for name in FILE_NAMES.values()},
}


def file_of(kept: Path, derived: Path, name: str) -> Path:
    """The file of that name, one of SOURCES, of the run whose folders these are."""
    source = kept / SOURCES[name]
    if source.name == name:
        check_file(kept, name)
        return source
    target = derived / name
    if not target.is_file():
        try:
            _derive(source, target)
        except OSError as error:
            what, hint = error.strerror or str(error), remedy(error) or "see whether the run is kept"
            raise ResultsError("making", str(target), what, hint) from error
    return target


def _derive(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # One at a time: who waited finds it made, and what a dead process left half is written over.
        with locked(target.with_name(f".{target.name}.lock")):
            if not target.is_file():
                half = target.with_name(f".{target.name}.half")
                convert(source, half, "csv")
                half.replace(target)
    finally:
        if not source.is_file():
            # The run was deleted meanwhile, maybe before there was something to remove.
            shutil.rmtree(target.parent, ignore_errors=True)
