"""`make fuzz-api`: schemathesis against a real service, for as many minutes as one likes; `python -m tests.api.fuzzing MINUTES [SEED]`.

Every answer is held against the reference: no 5xx, no status, header or body that it does not tell of, nothing good refused,
nothing bad let in. What an experiment says is a language of its own: that a good body holds a bad experiment is expected.
Streams of events are held against it where it is known when they end (test_examples.py).
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
# What goes on for as long as a run does, which nobody waits for here; tests/api/test_following.py and test_watching.py do.
_STREAMS = "/(events|live)$"
# How long an answer may take on a machine that does much else.
_PATIENCE_S = 120


def fuzz(service: Service, minutes: float, seed: int, report: Path) -> subprocess.CompletedProcess[str]:
    """The finished run of schemathesis; its output says what was found, with a curl command each."""
    words = [
        str(Path(sys.executable).with_name("st")), "--config-file", str(_CONFIG), "--no-color", "run", f"{service.url}/api/v1/openapi.json",
        "--max-time", str(round(minutes * 60)), "--seed", str(seed), "--request-timeout", str(_PATIENCE_S),
        "-H", f"Authorization: Bearer {service.tokens['admin']}",
        "--continue-on-failure", "--max-failures", "50", "--warnings", "off", "--exclude-path-regex", _STREAMS,
        "--report", "ndjson", "--report-ndjson-path", str(report), "--generation-database", "none",
    ]  # fmt: skip
    return subprocess.run(
        words, env={**os.environ, "SCHEMATHESIS_HOOKS": _HOOKS}, capture_output=True, text=True, check=False
    )


def main() -> int:
    """Fuzz a fresh service and say what was found."""
    minutes, seed = float(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as service:
        found = fuzz(service, minutes, seed, Path(home) / "report.ndjson")
        faults = [line for line in service.log_lines() if line["level"] in ("error", "critical")]
    print(found.stdout)
    print(found.stderr, file=sys.stderr)
    for line in faults:
        print(line.get("traceback", line))
    return found.returncode or bool(faults)


if __name__ == "__main__":
    raise SystemExit(main())
