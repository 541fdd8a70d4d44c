"""The last known state of each host: written after each session with it, read by lists of hosts, which must not open sessions.

$LONGHAUL_HOME/hosts/<name>.json    {"at", "ok", "kernel", "found": [sentences]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Health:
    """The state of a host at its last session, at a time in UTC."""

    at: str
    ok: bool
    kernel: str | None
    found: tuple[str, ...]


def note_health(home: Path, name: str, *, ok: bool, kernel: str | None, found: Sequence[str]) -> None:
    """Record the state of a host; a failure to write is ignored."""
    health = Health(datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"), ok, kernel, tuple(found))
    file = home / "hosts" / f"{name}.json"
    partial = file.with_suffix(f".{os.getpid()}")
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        partial.write_text(json.dumps(asdict(health)))
        partial.replace(file)
    except OSError:
        partial.unlink(missing_ok=True)


def read_health(home: Path, name: str) -> Health | None:
    """The state of a host at its last session, or None without one."""
    try:
        state = json.loads((home / "hosts" / f"{name}.json").read_text())
        return Health(str(state["at"]), bool(state["ok"]), state["kernel"], tuple(map(str, state["found"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None
