"""`make fuzz-api`: schemathesis against a real service, for a number of minutes; `python -m tests.api.fuzzing MINUTES [SEED]`.

Every response is checked against the OpenAPI reference: no 5xx, no undocumented status, header or body, no valid request refused,
no invalid one accepted. The schema does not cover the whole experiment format, so a valid body may contain an invalid experiment.
Event streams are checked in test_examples.py, where their end is known.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.support.service import Service, served

_HOOKS = "tests.api.hooks"
_CONFIG = Path(__file__).with_name("schemathesis.toml")
# Streams last as long as a run, so they are left to test_following.py and test_watching.py.
_STREAMS = "/(events|live)$"
# Time limit of a request, for a busy machine.
_PATIENCE_S = 120


def fuzz(service: Service, minutes: float, seed: int, report: Path) -> subprocess.CompletedProcess[str]:
    """Run schemathesis to its end; its output lists the failures, each with a curl command."""
    command = [
        str(Path(sys.executable).with_name("st")), "--config-file", str(_CONFIG), "--no-color", "run", f"{service.url}/api/v1/openapi.json",
        "--max-time", str(round(minutes * 60)), "--seed", str(seed), "--request-timeout", str(_PATIENCE_S),
        "-H", f"Authorization: Bearer {service.tokens['admin']}",
        "--continue-on-failure", "--max-failures", "50", "--warnings", "off", "--exclude-path-regex", _STREAMS,
        "--report", "ndjson", "--report-ndjson-path", str(report), "--generation-database", "none",
    ]  # fmt: skip
    return subprocess.run(
        command, env={**os.environ, "SCHEMATHESIS_HOOKS": _HOOKS}, capture_output=True, text=True, check=False
    )


def main() -> int:
    """Fuzz a fresh service and print the failures."""
    minutes, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as service:
        result = fuzz(service, minutes, seed, Path(home) / "report.ndjson")
        faults = [line for line in service.log_lines() if line["level"] in ("error", "critical")]
    print(result.stdout)
    print(result.stderr, file=sys.stderr)
    for line in faults:
        print(line.get("traceback", line))
    return result.returncode or bool(faults)


if __name__ == "__main__":
    raise SystemExit(main())
