"""The command line, in the home of the tests of kernels."""

from __future__ import annotations

import sys

from tests.support.programs import run_program


def longhaul(*words: str, code: int = 0) -> str:
    """The output of a command that ends with this code."""
    done = run_program([sys.executable, "-m", "longhaul.cli.main", *words])
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout + done.stderr
