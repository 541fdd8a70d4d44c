"""A built kernel in the cache, by its manifest: what it is, and whether its program is still the built one.

    kernels/<hash>/linux --SHA-256--> the hash in manifest.json
                         --stat-----> checked/<hash>: the state of the file when it was hashed

A run's id says which kernel it had, so a guest starts only with a checked program. Hashing it takes several per cent of a short
run, so a check is remembered with the file's device, inode, size and times. No write leaves all of these as they were: no
program can set the time at which an inode changed.
"""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from longhaul.orchestrator.system.errors import BackendError, LonghaulError
from longhaul.orchestrator.system.files import file_sha256, write_whole
from longhaul.orchestrator.system.settings import Settings

# A file that changed this shortly ago may change again within the same tick of its file system's clock.
_SETTLED_S = 2.0


def manifest_of(kernel: Path) -> Mapping[str, Any]:
    """The manifest in the folder of a built kernel; FileNotFoundError without one."""
    file = kernel / "manifest.json"
    return _manifest(file, _state(file))


@lru_cache(maxsize=64)
def _manifest(file: Path, state: str) -> Mapping[str, Any]:
    """The content of a manifest in this state of the file; a run asks for it several times."""
    manifest: Mapping[str, Any] = json.loads(file.read_text())
    return manifest


def is_sent(kernel: Path) -> bool:
    """Whether an admin sent the kernel in this folder: its guests are confined."""
    try:
        return bool(manifest_of(kernel).get("sent"))
    except FileNotFoundError:
        return False


def checked_program(settings: Settings, version: str) -> Path:
    """The program of a guest kernel; BackendError if it is not the one of its manifest."""
    folder = settings.kernel(version).resolve()
    program, checked = folder / "linux", settings.cache / "checked" / folder.name
    pinned = manifest_of(folder)["files"]["linux"]
    state = f"{pinned} {_state(program)}"
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if checked.read_text() == state:
            return program
    found = file_sha256(program)
    if found != pinned:
        what = f"{program} has the hash {found[:12]}, not {pinned[:12]} as its manifest says"
        hint = f"delete that folder, and run `longhaul kernel build {version}`"
        raise BackendError("starting", f"kernel {version}", what, hint)
    if time.time() - program.stat().st_ctime > _SETTLED_S and state == f"{pinned} {_state(program)}":
        # Without a writable cache the program is hashed at every start.
        with contextlib.suppress(OSError, LonghaulError):
            checked.parent.mkdir(parents=True, exist_ok=True)
            write_whole(checked, state)
    return program


def _state(file: Path) -> str:
    found = file.stat()
    return f"{found.st_dev} {found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}"
