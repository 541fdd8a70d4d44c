"""What the tests of strangers' requests start from: an experiment that would be taken, and how refusals come."""

from __future__ import annotations

from typing import Any

PROBLEM = "application/problem+json"
BASE: dict[str, Any] = {
    "experiment": "hostile",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "one", "cc": "cubic"}],
    "duration": "1 s",
}
