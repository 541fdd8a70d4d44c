"""Whether the files of a kept run have changed since they were kept.

    manifest.json   {..., "files": {"acks.parquet": {"sha256": ..., "bytes": ...}, ...}, "sha256": ...}

The manifest has the hash of every other file of the run, and its last field is the hash of the text before it. A file is read and
compared when a process first uses it, and again when it was written to; pages of Parquet files also have their own checksums (traces.py).
Runs that were kept before manifests had hashes have no seal: they can be read, but not verified.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import re
import threading
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from longhaul.orchestrator.system.errors import LonghaulError, ResultsError, RunDamaged, remedy
from longhaul.orchestrator.system.files import file_sha256

MANIFEST = "manifest.json"
# The folder of a home for partial traces of cancelled runs: sealed as kept runs are, with smaller manifests (partial_runs.py).
PARTIAL = "partial"
_SEAL = re.compile(rb', "sha256": "([0-9a-f]{64})"}$')
_NEEDED_OF_ALL = ("run_id", "spec", "run")
_NEEDED = (*_NEEDED_OF_ALL, "identity", "facts", "document")

# The file is missing, is not a file, or its disk has lost it.
_OF_THE_FILE = (errno.ENOENT, errno.ENOTDIR, errno.EISDIR, errno.ELOOP, errno.EIO, errno.EBADMSG, errno.ENODATA)

State = Literal["whole", "damaged", "missing", "unsealed"]
Files = Mapping[str, Mapping[str, Any]]
_Stamp = tuple[int, ...]
# The files of the manifests that were read last, each with the stamp of its manifest.
_known_files: dict[Path, tuple[_Stamp, Files | None]] = {}
_MOST_KNOWN = 4096


def sealed_files(folder: Path) -> dict[str, dict[str, Any]]:
    """The hash and size of every file of a run that is about to be kept."""
    found: dict[str, dict[str, Any]] = {}
    for place, _, names in os.walk(folder):
        for name in names:
            file = Path(place, name)
            its = name if place == str(folder) else file.relative_to(folder).as_posix()
            if its != MANIFEST and file.is_file():
                found[its] = {"sha256": file_sha256(file), "bytes": file.stat().st_size}
    # In the order of their paths.
    return dict(sorted(found.items(), key=lambda one: one[0].split("/")))


def sealed_text(manifest: Mapping[str, Any]) -> str:
    """The text of a manifest, with its own hash at its end if it has those of the files."""
    text = json.dumps({name: value for name, value in manifest.items() if name != "sha256"})
    if "files" not in manifest:
        return text
    return f'{text[:-1]}, "sha256": "{hashlib.sha256(text.encode()).hexdigest()}"}}'


def write_manifest(folder: Path, manifest: Mapping[str, Any]) -> None:
    """Replace the manifest of a kept run, whole or not at all."""
    file = folder / MANIFEST
    new = file.with_name(f".manifest.{os.getpid()}.{threading.get_ident()}")
    try:
        new.write_text(sealed_text(manifest))
        new.replace(file)
    except OSError as error:
        with contextlib.suppress(OSError):
            new.unlink(missing_ok=True)
        hint = remedy(error) or "check that the run is kept"
        raise ResultsError("revising the manifest", str(file), error.strerror or str(error), hint) from error


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest in a run's folder; RunDamaged if it has changed since it was kept."""
    file = folder / MANIFEST
    try:
        stamp = _stamp(file)
        found = manifest_of(file.read_bytes(), folder.name)
        # A reader of the manifest reads other files next.
        _remember(folder, stamp, found.get("files"))
        return found
    except ValueError as error:
        raise damaged(folder, MANIFEST, str(error)) from error
    except OSError as error:
        raise _refused(folder, MANIFEST, error) from error


def manifest_of(content: bytes, subject: str) -> dict[str, Any]:
    """A manifest from its text; ValueError describes the damage."""
    seal = _SEAL.search(content)
    if seal and hashlib.sha256(content[: seal.start()] + b"}").hexdigest() != seal[1].decode():
        raise ValueError(CHANGED)
    try:
        found = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"it is no longer JSON ({error})") from error
    needed = _NEEDED_OF_ALL if isinstance(found, dict) and PARTIAL in found else _NEEDED
    if not isinstance(found, dict) or any(name not in found for name in needed):
        raise ValueError(f"it is not the manifest of run {subject}")
    if "files" in found and not seal:
        raise ValueError(CHANGED)
    return found


CHANGED = "its content has changed"


def check_file(folder: Path, name: str) -> None:
    """RunDamaged if a file of a kept run has changed; a folder without a manifest is not a kept run."""
    files = _files(folder)
    if files is None or name not in files:
        return
    state = state_of(folder, name, files[name])
    if state != "whole":
        raise damaged(folder, name, "it is gone" if state == "missing" else CHANGED)


def check_trace(folder: Path) -> bool:
    """RunDamaged if a file of the trace of a kept run has changed; whether the run has hashes at all."""
    files = _files(folder)
    for name in files or {}:
        if name.endswith(".parquet"):
            check_file(folder, name)
    return files is not None


def is_whole(folder: Path, name: str) -> bool:
    """Whether a file, read anew, is known to be unchanged."""
    _hash.cache_clear()
    try:
        files = _files(folder) or {}
        return name in files and state_of(folder, name, files[name]) == "whole"
    except RunDamaged:
        return False


def check_quickly(folder: Path) -> None:
    """RunDamaged if the manifest has changed, or a file is missing or has another size; long traces are not read."""
    if not (folder / MANIFEST).is_file():
        raise damaged(folder, MANIFEST, "it is gone")
    for name, known in (_files(folder) or {}).items():
        try:
            size = (folder / name).stat().st_size
        except OSError as error:
            raise _refused(folder, name, error) from error
        if size != known["bytes"]:
            raise damaged(folder, name, f"it has {size} bytes, and {known['bytes']} were kept")


def forget_hashes() -> None:
    """Read every file anew at its next use."""
    _hash.cache_clear()


def damaged(folder: Path, name: str, what: str) -> RunDamaged:
    """The error of a damaged file, with the command that makes the run again."""
    hint = f"`longhaul verify {folder.name} --repair` makes it again"
    if name == MANIFEST or folder.parent.parent.name == PARTIAL:
        hint = "run its experiment again, which replaces it"
    return RunDamaged("reading run", f"{folder.name}", f"its file {name} is damaged: {what}", hint)


def _refused(folder: Path, name: str, error: OSError) -> LonghaulError:
    """An error of the system is damage only if the file itself is at fault; without the right to read it nothing is made again."""
    what = error.strerror or str(error)
    if error.errno in _OF_THE_FILE:
        return damaged(folder, name, what)
    return ResultsError(
        "reading run", f"{folder.name}, {folder / name}", what, remedy(error) or "check that it can be read"
    )


def _files(folder: Path) -> Files | None:
    """The other files in the manifest; None without a manifest or without hashes in it."""
    try:
        stamp = _stamp(folder / MANIFEST)
    except OSError:
        return None
    known = _known_files.get(folder)
    if known is not None and known[0] == stamp:
        return known[1]
    files: Files | None = read_manifest(folder).get("files")
    return files


def _remember(folder: Path, stamp: _Stamp, files: Files | None) -> None:
    if len(_known_files) >= _MOST_KNOWN:
        _known_files.clear()
    _known_files[folder] = stamp, files


def state_of(folder: Path, name: str, known: Mapping[str, Any]) -> State:
    """The state of a file, compared with its entry in the manifest."""
    file = folder / name
    try:
        found = _hash(file, _stamp(file))
    except OSError as error:
        if isinstance(error, FileNotFoundError):
            return "missing"
        raise _refused(folder, name, error) from error
    return "whole" if found == known["sha256"] else "damaged"


def _stamp(file: Path) -> _Stamp:
    """Values that change with every write to a file, and with its replacement."""
    found = file.stat()
    return found.st_mtime_ns, found.st_ctime_ns, found.st_size, found.st_ino


@lru_cache(maxsize=65_536)
def _hash(file: Path, _: _Stamp) -> str:
    return file_sha256(file)
