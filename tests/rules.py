"""The recording rules and alerts of Prometheus, as tests read them."""

from __future__ import annotations

from pathlib import Path

import yaml

RULES = sorted((Path(__file__).resolve().parents[1] / "dashboards" / "rules").glob("*.yml"))


def rules() -> list[dict[str, str]]:
    """Every one, whichever file and group it stands in."""
    return [rule for file in RULES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]
