"""Programs that tests run to their end."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def run_program(
    words: Sequence[str | bytes | Path], *, check: bool = False, **how: Any
) -> subprocess.CompletedProcess[str]:
    """The finished program, with its output and its messages as text; with `check` it has to succeed."""
    return subprocess.run(words, capture_output=True, text=True, check=check, **how)
