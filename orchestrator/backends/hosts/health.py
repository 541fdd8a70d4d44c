"""What was last known of each host: written by whoever spoke to it, read by whoever lists hosts and must not speak to any.

$LONGHAUL_HOME/hosts/<name>.json    {"at", "ok", "kernel", "found": [sentences]}
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Health:
    """How a host was when it was last spoken to, at a time in UTC."""

    at: str
    ok: bool
    kernel: str | None
    found: tuple[str, ...]


def note_health(home: Path, name: str, *, ok: bool, kernel: str | None, found: Sequence[str]) -> None:
    """Write down how a host is now; that this cannot be done is no reason to fail."""
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
    """How a host was when it was last spoken to, if it ever was."""
    try:
        said = json.loads((home / "hosts" / f"{name}.json").read_text())
        return Health(str(said["at"]), bool(said["ok"]), said["kernel"], tuple(map(str, said["found"])))
    except (OSError, ValueError, KeyError, TypeError):
        return None
