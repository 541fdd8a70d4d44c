"""Files made of a kept run, such as its chart in a terminal or the overview of its series: kept beside it, and can be made again.

    <home>/derived/<first two of id>/<id>/NAME      the hash of what it was made of, the hash of its content, the content

The trace of the run is compared with its hashes as it is when the content is made, so a damaged run is refused all the same. A file that was
made of anything else, or has changed, is made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import threading
from collections.abc import Callable
from pathlib import Path

from longhaul.orchestrator.results.seals import check_trace

# The thinned series of a long run (analysis/kept_series.py).
OVERVIEW = "overview"
# A text may have bytes of a file's name that are no text.
_ERRORS = "surrogatepass"


def text_of(kept: Path, derived: Path, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
    """The text of a run in the folder `kept`; `make` gives it, and whether it may be kept."""

    def encoded() -> tuple[bytes, bool]:
        text, may_be_kept = make()
        return text.encode(errors=_ERRORS), may_be_kept

    return content_of(kept, derived, name, made_of, encoded).decode(errors=_ERRORS)


def content_of(kept: Path, derived: Path, name: str, made_of: str, make: Callable[[], tuple[bytes, bool]]) -> bytes:
    """The same as bytes. A home that cannot be written goes without."""
    is_sealed = check_trace(kept)
    file, head = derived / name, hashlib.sha256(made_of.encode()).hexdigest()
    if is_sealed and (found := _read(file, head)) is not None:
        return found
    content, may_be_kept = make()
    if is_sealed and may_be_kept:
        new = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
        with contextlib.suppress(OSError):
            new.parent.mkdir(parents=True, exist_ok=True)
            try:
                new.write_bytes(_first_line(head, content) + b"\n" + content)
                new.replace(file)
            except OSError:
                # Half of it on a full disk.
                new.unlink(missing_ok=True)
    return content


def _read(file: Path, head: str) -> bytes | None:
    try:
        first, _, content = file.read_bytes().partition(b"\n")
    except OSError:
        return None
    return content if first == _first_line(head, content) else None


def _first_line(head: str, content: bytes) -> bytes:
    return f"{head} {hashlib.sha256(head.encode() + content).hexdigest()}".encode()
