"""Retention: which kept runs go, by age and by size; and what goes along with them.

A run stays whatever its age if it is pinned, if an experiment that is not finished wants it, or if it belongs to a
baseline. Of the others the oldest go first. With them go events, logs of dead guests, and partial traces of cancelled runs.
"""

from __future__ import annotations

import contextlib
import shutil
import time
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from longhaul.orchestrator.database.events import EventLog
from longhaul.orchestrator.results.partial_runs import partial_folders
from longhaul.orchestrator.results.store import Store

# A folder without a row may be a run that is being kept this moment.
_ADOPTION_S = 3600.0
_DERIVED_S = 86_400.0


@dataclass(frozen=True, slots=True)
class Pruned:
    """What went, or would go."""

    runs: list[str]
    freed_bytes: int
    kept_bytes: int
    events: int


def prune(store: Store, older_than_s: float | None, most_bytes: int | None, *, dry: bool) -> Pruned:
    """Remove runs older than that, then the oldest until the rest fits."""
    before = None if older_than_s is None else _ago(older_than_s)
    total, gone, freed = 0, [], 0
    runs = [(key, at, _size(store.directory(key))) for key, at in store.catalog.removable()]
    total = sum(size for _, _, size in runs) + sum(_size(store.directory(key)) for key in store.catalog.protected())
    for key, at, size in runs:
        old = before is not None and at < before
        large = most_bytes is not None and total - freed > most_bytes
        if not old and not large:
            continue
        # Somebody may have come meanwhile who wants it.
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
    """Half a run, which no row knows, and old logs; the bytes they had. A whole run without a row gets one, and ages from now."""
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
        # A part of a cancelled run is as little a result as what a failed one said.
        for folder in partial_folders(store.home):
            if _age_s(folder) > older_than_s:
                freed += _size(folder)
                shutil.rmtree(folder, ignore_errors=True)
    return freed


def _sweep_derived(folder: Path) -> int:
    """Tables that were made for somebody to take along can be made again: a day is long enough to take them."""
    freed = 0
    for file in folder.glob("??/*/*"):
        if _age_s(file) > _DERIVED_S:
            freed += file.stat().st_size
            file.unlink(missing_ok=True)
    return freed


def _ago(seconds: float) -> str:
    return (datetime.now(UTC) - timedelta(seconds=seconds)).isoformat(timespec="milliseconds")


def _age_s(path: Path) -> float:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - path.stat().st_mtime
    return 0.0


def _size(folder: Path) -> int:
    with contextlib.suppress(FileNotFoundError):
        return sum(file.stat().st_size for file in folder.rglob("*") if not file.is_dir())
    return 0
