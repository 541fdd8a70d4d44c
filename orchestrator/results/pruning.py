"""Retention: which kept runs are deleted, by age and by size, and which files with them.

A run stays whatever its age if it is pinned, if an unfinished experiment wants it, or if it belongs to a
baseline. Of the others the oldest are deleted first; with them events, logs of dead guests, and partial traces of cancelled runs.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.results.derived_files import OVERVIEW
from longhaul.orchestrator.results.packets import PACKET_FILES, kept_packets
from longhaul.orchestrator.results.partial_runs import partial_folders
from longhaul.orchestrator.results.store import Store
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

# A folder without a row may belong to a run that is being kept at this moment.
_ADOPTION_S = 3600.0
_DERIVED_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Pruned:
    """The runs that were deleted, or would be."""

    runs: list[str]
    freed_bytes: int
    kept_bytes: int
    events: int


def prune(store: Store, older_than_s: float | None, most_bytes: int | None, *, dry: bool) -> Pruned:
    """Delete runs older than that, then the oldest until the rest fits."""
    before = None if older_than_s is None else _ago(older_than_s)
    total, gone, freed = 0, [], 0
    runs = [(key, at, _size_of(store, key)) for key, at in store.catalog.removable()]
    total = sum(size for _, _, size in runs) + sum(_size_of(store, key) for key in store.catalog.protected())
    for key, at, size in runs:
        old = before is not None and at < before
        large = most_bytes is not None and total - freed > most_bytes
        if not old and not large:
            continue
        # Another process may want it by now.
        if not dry and store.let_go(key) is not None:
            continue
        gone.append(key)
        freed += size
    events = 0
    if not dry:
        if before is not None:
            events = EventLog(store.database).forget_before(before)
        freed += _sweep(store, older_than_s)
    return Pruned(gone, freed, total - freed, events)


def _sweep(store: Store, older_than_s: float | None) -> int:
    """Delete halves of runs and old logs; their size in bytes. A whole run without a row gets one, and ages from now."""
    freed = _sweep_derived(store.home / "derived")
    folders = {folder.name: folder for folder in (store.home / "runs").glob("??/*")}
    unknown = folders.keys() - store.catalog.measured_by(list(folders)).keys()
    for folder in (folders[name] for name in unknown if _age_s(folders[name]) > _ADOPTION_S):
        if (found := store.find(folder.name)) is not None:
            store.adopt(found)
        else:
            freed += _size(folder)
            shutil.rmtree(folder, ignore_errors=True)
    if older_than_s is not None:
        for log in (store.home / "logs").glob("*.txt"):
            if _age_s(log) > older_than_s:
                freed += log.stat().st_size
                log.unlink(missing_ok=True)
        # A partial trace of a cancelled run is no more a result than the log of a failed one.
        for folder in partial_folders(store.home):
            if _age_s(folder) > older_than_s:
                freed += _size(folder)
                shutil.rmtree(folder, ignore_errors=True)
    return freed


def _sweep_derived(folder: Path) -> int:
    """Delete derived tables that are a day old: they can be made again. Packets and overviews stay with their run."""
    freed = 0
    for file in folder.glob("??/*/*"):
        if file.name not in (*PACKET_FILES, OVERVIEW) and _age_s(file) > _DERIVED_S:
            freed += file.stat().st_size
            file.unlink(missing_ok=True)
    return freed


def _ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def _age_s(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0


def _size_of(store: Store, key: str) -> int:
    """The size of a run with its packets and its overview."""
    stays = [kept_packets(store.derived(key)), store.derived(key) / OVERVIEW]
    return _size(store.directory(key)) + sum(file.stat().st_size for file in stays if file and file.is_file())


def _size(folder: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return sum(file.stat().st_size for file in folder.rglob("*") if not file.is_dir())
    return 0
