"""Unexpected exceptions on the command line: exit code 4, one sentence, and the traceback in a file.

Exit code 1 means that an expectation, claim or gate failed, and programs rely on that. Where memory is so limited that libraries end
the process with some other code, the command line does not start (`check_room`).

    <home>/logs/crash-<time>-<pid>.txt      or in the cache, or in the folder for temporary files: the first that can be written
"""

from __future__ import annotations

import contextlib
import os
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from longhaul.orchestrator.system.errors import LonghaulError, remedy

# Below this, loading the libraries of a trace ends in an abort or in exit code 1.
_LEAST_BYTES = 512 * 2**20


def check_room() -> None:
    """LonghaulError if this process may not use enough memory to load its libraries."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit < _LEAST_BYTES:
        what = f"it may use {limit // 2**20} MiB of address space and needs {_LEAST_BYTES // 2**20} MiB"
        raise LonghaulError(
            "starting", "longhaul", what, "allow more, with `ulimit -v` or in the service that started it"
        )


def unforeseen(error: BaseException) -> LonghaulError:
    """The error to print; its traceback is written to a file."""
    import traceback

    doing = " ".join(["longhaul", *(word for word in sys.argv[1:3] if not word.startswith("-"))])
    what = " ".join(f"{type(error).__name__}: {error}".split())[:500]
    place = _write("".join(traceback.format_exception(error)))
    hint = f"the traceback is in {place}" if place else "the traceback could not be written"
    if isinstance(error, MemoryError) or "failed to map segment" in what:
        return LonghaulError(
            "running", doing, f"there is too little memory ({what})", f"free some memory, or allow more; {hint}"
        )
    if isinstance(error, OSError):
        return LonghaulError("running", doing, what, "; ".join(filter(None, (remedy(error), hint))))
    return LonghaulError("running", doing, f"an unexpected error happened ({what})", f"please report it; {hint}")


def _write(text: str) -> Path | None:
    name = f"crash-{time.strftime('%Y%m%dT%H%M%S')}-{os.getpid()}.txt"
    for folder in _folders():
        try:
            folder.mkdir(parents=True, exist_ok=True)
            file = folder / name
            with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as place:
                place.write(text)
        except OSError:
            continue
        return file
    return None


def _folders() -> Iterator[Path]:
    import tempfile

    from longhaul.orchestrator.system.settings import cache_folder, home_folder

    for folder in (home_folder, cache_folder):
        # A user without a home has neither, unless the environment names them.
        with contextlib.suppress(LonghaulError):
            yield folder() / "logs"
    yield Path(tempfile.gettempdir())
