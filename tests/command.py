"""`longhaul` as a process of its own, with a home of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path


def longhaul(*words: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The finished command; whoever asks looks at its exit code."""
    return subprocess.run(
        [sys.executable, "-m", "orchestrator.cli", *words],
        env={**os.environ, "LONGHAUL_HOME": str(home), **environment},
        capture_output=True,
        text=True,
        check=False,
    )
