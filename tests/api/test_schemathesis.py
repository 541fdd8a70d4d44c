"""Requests that schemathesis generates for some minutes (`--api-minutes`; `make fuzz-api` for longer) cause no 5xx and no undocumented response.

Every response is checked against the OpenAPI reference: no 5xx, no undocumented status, header or body, no valid request refused,
no invalid one accepted. The schema does not cover the whole experiment format, so a valid body may contain an invalid experiment.
Event streams are checked in test_examples.py, where their end is known.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.programs import run_program
from tests.support.service import Service, served

_HOOKS = "tests.api.hooks"
_CONFIG = Path(__file__).with_name("schemathesis.toml")
# Streams last as long as a run, so they are left to test_following.py and test_watching.py.
_STREAMS = "/(events|live)$"
# Time limit of a request, for a busy machine.
_PATIENCE_S = 120


def test_generated_requests_cause_no_undocumented_response(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    minutes, seed = request.config.getoption("--api-minutes"), request.config.getoption("--from-seed")
    # A separate service, because schemathesis makes tokens, leases and experiments of every kind.
    with served(tmp_path / "home") as service:
        result = fuzz(service, minutes, seed, tmp_path / "report.ndjson")
        faults = [line for line in service.log_lines() if line["level"] in ("error", "critical")]
    print(result.stdout)
    assert result.returncode == 0, result.stdout + result.stderr
    assert [line.get("traceback", line) for line in faults] == []
    assert "Tested: " in result.stdout and " 0 generated" not in result.stdout, result.stdout


def fuzz(service: Service, minutes: float, seed: int, report: Path) -> subprocess.CompletedProcess[str]:
    """Run schemathesis to its end; its output lists the failures, each with a curl command."""
    command = [
        str(Path(sys.executable).with_name("st")), "--config-file", str(_CONFIG), "--no-color", "run", f"{service.url}/api/v1/openapi.json",
        "--max-time", str(round(minutes * 60)), "--seed", str(seed), "--request-timeout", str(_PATIENCE_S),
        "-H", f"Authorization: Bearer {service.tokens['admin']}",
        "--continue-on-failure", "--max-failures", "50", "--warnings", "off", "--exclude-path-regex", _STREAMS,
        "--report", "ndjson", "--report-ndjson-path", str(report), "--generation-database", "none",
    ]  # fmt: skip
    return run_program(command, env={**os.environ, "SCHEMATHESIS_HOOKS": _HOOKS})
