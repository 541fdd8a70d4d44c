"""What the guests of runs print: log.txt in the folder of a kept run, <home>/logs/<id>.txt for a run that failed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from longhaul.orchestrator.system.errors import NotFound

if TYPE_CHECKING:
    from longhaul.orchestrator.results.store import Store

LOG = "log.txt"

_BEGINNING = re.compile("[0-9a-f]{1,20}")
# Enough to see that the beginning of an id names more than one run.
_AMBIGUOUS = 2


def failed_log(home: Path, run_id: str) -> Path:
    """Where the log of a failed run lies."""
    return home / "logs" / f"{run_id}.txt"


def receive_log(home: Path, run_id: str, content: bytes) -> str:
    """Keep the log of a failed run; a sentence that says how to read it, or nothing where it cannot be kept."""
    log = failed_log(home, run_id)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(content)
    except OSError:
        # Another error reports a full disk; a log that cannot be kept must not hide why the guest died.
        return ""
    return f"`longhaul log {run_id[:8]}` shows its log"


def find_log(store: Store, beginning: str) -> Path:
    """The latest log of the one run whose id begins so, kept or failed."""
    attempting = "looking for the log of run", beginning
    failed = failed_log(store.home, "").parent.glob(f"{beginning}*.txt") if _BEGINNING.fullmatch(beginning) else ()
    ids = {*store.catalog.ids_beginning(beginning, _AMBIGUOUS), *(file.stem for file in failed)}
    if len(ids) > 1:
        raise NotFound(*attempting, "several runs begin so", "give more of its id")
    logs = [file for one in ids for file in (store.directory(one) / LOG, failed_log(store.home, one)) if file.is_file()]
    if not logs:
        what = "no run whose id begins so is kept with a log, or failed and left one"
        raise NotFound(*attempting, what, "see `longhaul list runs`, or what the run that failed printed")
    return max(logs, key=lambda file: file.stat().st_mtime_ns)
