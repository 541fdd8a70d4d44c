"""Logs of guests: log.txt in the folder of a kept run, <home>/logs/<id>.txt for a failed run."""

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
    """The path of a failed run's log."""
    return home / "logs" / f"{run_id}.txt"


def receive_log(home: Path, run_id: str, content: bytes) -> str:
    """Keep the log of a failed run; a sentence on how to read it, or "" if it cannot be kept."""
    log = failed_log(home, run_id)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_bytes(content)
    except OSError:
        # Another error reports a full disk; a log that cannot be kept must not hide why the guest died.
        return ""
    return f"`longhaul log {run_id[:8]}` shows its log"


def find_log(store: Store, beginning: str) -> Path:
    """The latest log of the one run whose id begins with this, kept or failed."""
    attempting = "looking for the log of run", beginning
    failed = failed_log(store.home, "").parent.glob(f"{beginning}*.txt") if _BEGINNING.fullmatch(beginning) else ()
    ids = {*store.catalog.ids_beginning(beginning, _AMBIGUOUS), *(file.stem for file in failed)}
    if len(ids) > 1:
        raise NotFound(*attempting, "several runs have ids that begin with it", "give more of the id")
    logs = [file for one in ids for file in (store.directory(one) / LOG, failed_log(store.home, one)) if file.is_file()]
    if not logs:
        what = "no run with such an id is kept with a log, or failed and left one"
        raise NotFound(*attempting, what, "see `longhaul list runs`, or the output of the failed run")
    return max(logs, key=lambda file: file.stat().st_mtime_ns)
