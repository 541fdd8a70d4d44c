"""Everything that the printed answer of a run is made of, as one text: equal texts give equal answers.

So an answer that was printed before is printed again without rich and numpy, which take longer to load than all else of a kept run.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from longhaul.orchestrator.system.settings import terminal_variables

_PACKAGE = Path(__file__).parents[2]
# The folders with the modules that read a trace, draw its chart and write the lines of an answer.
_FOLDERS = (
    "cli/terminal",
    "results",
    *(f"orchestrator/{room}" for room in ("analysis", "plan", "preview", "results", "spec", "system", "trace")),
    "orchestrator/analysis/report",
)
_LIBRARIES = ("rich", "numpy")


def answer_source(document: Mapping[str, Any]) -> str:
    """The document, the code, its libraries and the terminal."""
    return json.dumps([document, _code(), list(_libraries()), _terminal()], default=str)


def _code() -> str:
    digest = hashlib.sha256()
    for folder in _FOLDERS:
        for name in sorted(os.listdir(_PACKAGE / folder)):  # noqa: PTH208 (names are all that is needed)
            if name.endswith(".py"):
                digest.update(f"{folder}/{name}\0".encode())
                with open(f"{_PACKAGE}/{folder}/{name}", "rb") as file:
                    digest.update(hashlib.sha256(file.read()).digest())
    return digest.hexdigest()


def _libraries() -> Iterator[tuple[str, int, int]]:
    """Each library by when it was installed."""
    for name in _LIBRARIES:
        found = find_spec(name)
        if found is not None and found.origin is not None:
            about = Path(found.origin).stat()
            yield found.origin, about.st_mtime_ns, about.st_ctime_ns


def _terminal() -> list[Any]:
    """What rich asks about where it prints."""
    is_terminal, sizes = sys.stdout.isatty(), []
    if is_terminal:
        for descriptor in range(3):
            try:
                sizes.append(tuple(os.get_terminal_size(descriptor)))
            except OSError:
                sizes.append(())
    # As rich has it: the same encoding has names in upper and lower case.
    return [is_terminal, sizes, sys.stdout.encoding.lower(), terminal_variables()]
