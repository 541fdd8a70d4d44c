"""A machine without each of its programs and files in turn: run where /usr may be changed, it prints what doctor then says of each."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longhaul.cli.machine.doctor import capabilities
from longhaul.cli.machine.system_packages import NEEDS
from longhaul.orchestrator.system.settings import load_settings

_PATH = os.pathsep.join([*os.get_exec_path(), "/usr/sbin", "/sbin"])


def main() -> None:
    """One line: piece -> what is named as missing without it, with its remedies."""
    settings = load_settings()
    told = {}
    for piece in sorted({piece for needs in NEEDS.values() for piece, _ in needs}):
        with gone(piece):
            told[piece] = {one.piece: one.remedy for capability in capabilities(settings) for one in capability.missing}
    json.dump(told, sys.stdout)


@contextmanager
def gone(piece: str) -> Iterator[None]:
    """Without it, wherever it is."""
    hidden = []
    while (found := _find(piece)) is not None:
        away = found.with_name(f".away-{found.name}")
        found.rename(away)
        hidden.append((away, found))
    try:
        yield
    finally:
        for away, found in hidden:
            away.rename(found)


def _find(piece: str) -> Path | None:
    if piece.startswith("/"):
        return next(Path("/").glob(piece[1:]), None)
    return Path(found) if (found := shutil.which(piece, path=_PATH)) else None


if __name__ == "__main__":
    main()
