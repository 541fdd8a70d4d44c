"""Files of a kept run for download: one table of names; no other file can be requested.

    manifest.json  log.txt  acks.parquet ...     as they are kept
    acks.csv ...                                 made on first request: <home>/derived/<first two of id>/<id>/acks.csv
    capture.pcapng.zst                           of a run that captured packets (packets.py)

Derived files can be made again, so they may be deleted at any time; deleting the run deletes them too.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from longhaul.orchestrator.results.conversion import convert
from longhaul.orchestrator.results.packets import PACKETS, kept_packets
from longhaul.orchestrator.results.seals import check_file
from longhaul.orchestrator.results.traces import ALWAYS_KEPT, FILE_NAMES
from longhaul.orchestrator.system.errors import NotFound, ResultsError, remedy
from longhaul.orchestrator.system.locks import locked

# Name of a download -> name of the kept file that it is, or is made from.
SOURCES: dict[str, str] = {
    "manifest.json": "manifest.json",
    "log.txt": "log.txt",
    **{name: name for name in FILE_NAMES.values()},
    **{name.replace(".parquet", ".csv"): name for name in FILE_NAMES.values()},
}
DOWNLOADS = (*SOURCES, PACKETS)


def names_in(kept: Path, derived: Path) -> list[str]:
    """The downloads of the run whose folders these are: without records of a kind that it has not, or packets."""
    seldom = set(FILE_NAMES.values()) - {*ALWAYS_KEPT}
    lacking = {source for source in seldom if not (kept / source).is_file()}
    found = [name for name, source in SOURCES.items() if source not in lacking]
    return [*found, PACKETS] if kept_packets(derived) else found


def file_of(kept: Path, derived: Path, name: str) -> Path:
    """The file of that name, one of DOWNLOADS, of the run whose folders these are."""
    if name == PACKETS:
        if (packets := kept_packets(derived)) is None:
            hint = "run its experiment with `capture`, or `longhaul export RUN --to pcapng` (docs/packets.md)"
            raise NotFound("reading", name, "the run has no packets", hint)
        return packets
    source = kept / SOURCES[name]
    check_file(kept, source.name)
    if source.name in FILE_NAMES.values() and source.name not in ALWAYS_KEPT and not source.is_file():
        raise NotFound(
            "reading",
            name,
            "the run has no such records",
            "they are of links with queue: dualpi2, and of links with a policer",
        )
    if source.name == name:
        return source
    target = derived / name
    if not target.is_file():
        try:
            _derive(source, target)
        except OSError as error:
            what, hint = error.strerror or str(error), remedy(error) or "check that the run is kept"
            raise ResultsError("making", str(target), what, hint) from error
    return target


def _derive(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        # One at a time: a process that waited finds the file made; a dead process's half is overwritten.
        with locked(target.with_name(f".{target.name}.lock")):
            if not target.is_file():
                half = target.with_name(f".{target.name}.half")
                convert(source, half, "csv")
                half.replace(target)
    finally:
        if not source.is_file():
            # The run was deleted meanwhile, maybe before there was a file to delete.
            shutil.rmtree(target.parent, ignore_errors=True)
