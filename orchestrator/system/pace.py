"""How fast this machine runs guests, against the estimates of orchestrator/plan/cost.py: 2 means half as fast as the machine of its constants.

Every guest that took long enough to tell moves the pace a little. It is kept in the cache, so that other processes know it; it is lost
with the cache, and is 1 until the first run. Nothing but estimates depends on it.
"""

from __future__ import annotations

import json
import math
import os
from contextlib import suppress
from pathlib import Path

from longhaul.orchestrator.system.settings import cache_folder

_FILE = "pace.json"
# A shorter run tells little. Estimates are wrong by a third now and then, so one run moves the pace by a tenth of what it shows.
_TELLING_S, _WEIGHT, _SLOWEST = 0.03, 0.1, 8.0
# A smaller change is not worth another estimate for the same plan.
_STEP = 1.1


def pace() -> float:
    """The pace of this machine, in steps of a tenth."""
    return _rounded(_read(cache_folder() / _FILE))


def note_run(estimate_s: float, measured_s: float) -> None:
    """A guest took `measured_s` of processor time, where the estimate at pace 1 was `estimate_s`."""
    if measured_s < _TELLING_S or estimate_s <= 0:
        return
    file = cache_folder() / _FILE
    kept = _read(file)
    shown = min(max(measured_s / estimate_s, kept / 3), kept * 3)
    now = min(max(kept * (shown / kept) ** _WEIGHT, 1 / _SLOWEST), _SLOWEST)
    # Only an estimate: no disk is flushed for it, and a folder that cannot be written is no error.
    with suppress(OSError):
        new = file.with_name(f".{_FILE}.{os.getpid()}")
        new.write_text(json.dumps({"pace": round(now, 4)}))
        new.replace(file)


def _read(file: Path) -> float:
    try:
        value = float(json.loads(file.read_text())["pace"])
    except (OSError, ValueError, KeyError, TypeError):
        return 1.0
    return value if 1 / _SLOWEST <= value <= _SLOWEST else 1.0


def _rounded(value: float) -> float:
    return float(_STEP ** round(math.log(value, _STEP)))
