"""Verify a kept run: each of its files is read and compared with its hash."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longhaul.orchestrator.results.seals import MANIFEST, State, forget_hashes, read_manifest, state_of
from longhaul.orchestrator.results.traces import ALWAYS_KEPT, unsealed_fault
from longhaul.orchestrator.system.errors import RunDamaged

# States of files that have changed since they were kept.
BAD = ("damaged", "missing")
Row = dict[str, Any]


def examine(folder: Path) -> dict[str, State]:
    """The state of every file of a kept run, read anew."""
    try:
        files = read_manifest(folder).get("files")
    except RunDamaged:
        # No other file contains the list of files and their hashes.
        return {MANIFEST: "damaged" if (folder / MANIFEST).is_file() else "missing"}
    if files is None:
        found: dict[str, State] = {MANIFEST: "unsealed"}
        for name in ALWAYS_KEPT:
            there = (folder / name).is_file()
            found[name] = "missing" if not there else "damaged" if unsealed_fault(folder, name) else "unsealed"
        return found
    forget_hashes()
    states: dict[str, State] = {MANIFEST: "whole"}
    return states | {name: state_of(folder, name, known) for name, known in files.items()}


def verification(run_id: str, files: Mapping[str, State]) -> Row:
    """A kept run's state, from that of each of its files."""
    states = set(files.values())
    state = "damaged" if states & set(BAD) else "unsealed" if "unsealed" in states else "whole"
    return {"run": run_id, "state": state, "files": files}
