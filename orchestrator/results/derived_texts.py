"""A text made of a kept run, such as its chart in a terminal: kept beside the files that are made of it, and can be made again.

    <home>/derived/<first two of id>/<id>/NAME      the hash of what the text was made of, the hash of the text, the text

The trace of the run is compared with its hashes as it is when the text is made, so a damaged run is refused all the same. A text that was
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


def read_or_make(kept: Path, derived: Path, name: str, made_of: str, make: Callable[[], tuple[str, bool]]) -> str:
    """The text of a run in the folder `kept`; `make` gives it, and whether it may be kept."""
    is_sealed = check_trace(kept)
    file, head = derived / name, hashlib.sha256(made_of.encode()).hexdigest()
    if is_sealed and (found := _read(file, head)) is not None:
        return found
    text, may_be_kept = make()
    if is_sealed and may_be_kept:
        write_text(file, made_of, text)
    return text


def write_text(file: Path, made_of: str, text: str) -> None:
    """Keep a text; a home that cannot be written goes without."""
    head = hashlib.sha256(made_of.encode()).hexdigest()
    new = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
    with contextlib.suppress(OSError, UnicodeEncodeError):
        new.parent.mkdir(parents=True, exist_ok=True)
        new.write_bytes(f"{head} {_seal(head, text)}\n{text}".encode())
        new.replace(file)


def _read(file: Path, head: str) -> str | None:
    try:
        first, _, text = file.read_bytes().decode().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if first == f"{head} {_seal(head, text)}" else None


def _seal(head: str, text: str) -> str:
    return hashlib.sha256(f"{head}{text}".encode()).hexdigest()
