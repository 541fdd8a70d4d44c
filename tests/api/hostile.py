"""Shared by the tests of hostile requests: an experiment that is accepted, and the media type of refusals."""

from __future__ import annotations

from typing import Any

PROBLEM = "application/problem+json"
BASE: dict[str, Any] = {
    "experiment": "hostile",
    "path": {"bandwidth": "10 Mbit/s", "rtt": "40 ms"},
    "flows": [{"name": "one", "cc": "cubic"}],
    "duration": "1 s",
}
