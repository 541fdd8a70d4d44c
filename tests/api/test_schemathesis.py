"""Requests that schemathesis generates for some minutes (`--api-minutes`) cause no 5xx and no undocumented response."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.fuzzing import fuzz
from tests.support.service import served


def test_generated_requests_cause_no_undocumented_response(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    minutes, seed = request.config.getoption("--api-minutes"), request.config.getoption("--from-seed")
    # A separate service, because schemathesis makes tokens, leases and experiments of every kind.
    with served(tmp_path / "home") as service:
        result = fuzz(service, minutes, seed, tmp_path / "report.ndjson")
        faults = [line for line in service.log_lines() if line["level"] in ("error", "critical")]
    assert result.returncode == 0, result.stdout + result.stderr
    assert faults == []
    assert "Tested: " in result.stdout and " 0 generated" not in result.stdout, result.stdout
