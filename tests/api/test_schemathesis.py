"""Whatever schemathesis thinks of within some minutes (`--api-minutes`): no 5xx, and nothing that the reference does not tell of."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.api.fuzzing import fuzz
from tests.support.service import served


def test_nothing_breaks_the_service_or_its_reference(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    minutes, seed = request.config.getoption("--api-minutes"), request.config.getoption("--from-seed")
    # One of its own: it makes tokens, leases and experiments of every kind.
    with served(tmp_path / "home") as service:
        found = fuzz(service, minutes, seed, tmp_path / "report.ndjson")
        faults = [line for line in service.log_lines() if line["level"] in ("error", "critical")]
    assert found.returncode == 0, found.stdout + found.stderr
    assert faults == []
    assert "Tested: " in found.stdout and " 0 generated" not in found.stdout, found.stdout
