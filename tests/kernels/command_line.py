"""The command line, in the home of the tests of kernels."""

from __future__ import annotations

import subprocess
import sys


def longhaul(*words: str, code: int = 0) -> str:
    """The output of a command that ends with this code."""
    done = subprocess.run(
        [sys.executable, "-m", "longhaul.cli.main", *words], capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
