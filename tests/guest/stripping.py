"""Hides each needed program and file in turn and prints the missing pieces that doctor reports; it needs a /usr that it may change."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longhaul.cli.machine.capabilities import capabilities
from longhaul.cli.machine.system_packages import NEEDS
from longhaul.orchestrator.system.settings import load_settings

_PATH = os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/sbin"])


def main() -> None:
    """Print one line of JSON: hidden piece -> missing pieces and their remedies."""
    settings = load_settings()
    missing = {}
    for piece in sorted({piece for needs in NEEDS.values() for piece, _ in needs}):
        with hidden(piece):
            missing[piece] = {one.piece: one.remedy for row in capabilities(settings) for one in row.missing}
    json.dump(missing, sys.stdout)


@contextmanager
def hidden(piece: str) -> Iterator[None]:
    """Rename every file of that name for a while."""
    renamed = []
    while (found := _find(piece)) is not None:
        away = found.with_name(f".away-{found.name}")
        found.rename(away)
        renamed.append((away, found))
    try:
        yield
    finally:
        for away, found in renamed:
            away.rename(found)


def _find(piece: str) -> Path | None:
    if piece.startswith("/"):
        return next(Path("/").glob(piece[1:]), None)
    return Path(found) if (found := shutil.which(piece, path=_PATH)) else None


if __name__ == "__main__":
    main()
