"""The recording rules and alerts of Prometheus, as tests read them."""

from __future__ import annotations

import yaml

from tests.support.folders import REPOSITORY

RULES = sorted((REPOSITORY / "dashboards" / "rules").glob("*.yml"))


def rules() -> list[dict[str, str]]:
    """All rules of all files and groups."""
    return [rule for file in RULES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
