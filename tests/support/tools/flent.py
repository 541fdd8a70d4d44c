"""flent itself: as a command that draws into files, and its definitions of tests, with the host, marks and times of every series."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from flent.testenv import TEST_PATH, TestEnvironment

from tests.support.programs import run_program

DELAY_S, LENGTH_S = 5, 60


def flent(*words: str, home: Path, **environment: str) -> str:
    """What `flent` with these words prints; it fails if flent does, or prints a warning."""
    command = [str(Path(sys.executable).with_name("flent")), *words]
    settings = {**os.environ, "HOME": str(home), "MPLCONFIGDIR": str(home), "MPLBACKEND": "Agg", **environment}
    done = run_program(command, env=settings)
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr and "ERROR" not in done.stderr, done.stderr
    return done.stdout


def data_sets(test: str, hosts: Sequence[str], parameters: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """The series of a test of flent by name, as `flent TEST -H HOST` would record them."""
    settings = {
        "HOST": hosts[0] if hosts else "",
        "HOSTS": list(hosts),
        "LOCAL_BIND": None,
        "SEND_SIZE": None,
        "IP_VERSION": 4,
        "STEP_SIZE": 0.2,
        "DELAY": DELAY_S,
        "LENGTH": LENGTH_S,
        "TOTAL_LENGTH": LENGTH_S + 2 * DELAY_S,
        "TEST_PARAMETERS": dict(parameters),
    }
    environment = TestEnvironment(settings, informational=True)
    return dict(environment.execute(str(Path(TEST_PATH) / f"{test}.conf"))["DATA_SETS"])
