"""Verify a run: each of its files is compared with its hash, those of a kept run and those that another machine sent."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from longhaul.orchestrator.results.seals import MANIFEST, State, forget_hashes, manifest_of, read_manifest, state_of
from longhaul.orchestrator.results.traces import ALWAYS_KEPT, FILE_NAMES, unsealed_fault
from longhaul.orchestrator.system.errors import ResultsError, RunDamaged

# States of files that have changed since they were kept.
BAD = ("damaged", "missing")
# The output of programs is kept with the traces.
_OF_A_PROGRAM = re.compile(r"(?:iperf3|programs)/[A-Za-z0-9_-][A-Za-z0-9._-]*")
_SAME_VERSION = "check that the worker has this version of Longhaul"
_TRANSIT = "it was changed in transit; submit its experiment again"
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


def received_manifest(run_id: str, files: Mapping[str, bytes]) -> dict[str, Any]:
    """The manifest of a run that another machine sent; ResultsError if it is another run, or if files are missing or changed."""
    whole = {MANIFEST, "log.txt", *ALWAYS_KEPT}
    seldom = set(FILE_NAMES.values()) - whole
    odd = sorted({name for name in files if not _OF_A_PROGRAM.fullmatch(name)} - seldom ^ whole)
    if odd:
        what = f"files are missing or unknown: {', '.join(odd)}"
        raise ResultsError("receiving run", run_id, what, _SAME_VERSION)
    try:
        manifest = manifest_of(files[MANIFEST], run_id)
    except ValueError as error:
        raise ResultsError("receiving run", run_id, f"its manifest: {error}", _TRANSIT) from error
    if manifest["run_id"] != run_id or manifest["document"]["run"] != run_id:
        raise ResultsError("receiving run", run_id, f"it is run {manifest['run_id']}", _SAME_VERSION)
    for name, known in manifest.get("files", {}).items():
        if hashlib.sha256(files.get(name, b"")).hexdigest() != known["sha256"]:
            what = f"its file {name} is not the one that the worker kept"
            raise ResultsError("receiving run", run_id, what, _TRANSIT)
    return manifest
