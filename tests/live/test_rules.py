"""The configuration that is shipped: promtool takes it, every alert fires where it must and not elsewhere, every name is exported."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
import yaml

from orchestrator.metrics import BY_NAME, HISTOGRAM
from tests.live.prometheus import CONFIG

RULES = sorted((CONFIG.parent / "rules").glob("*.yml"))
TESTS = Path(__file__).parent / "rules" / "alerts.test.yml"


def promtool(*words: str) -> None:
    done = subprocess.run(["promtool", *words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def rules() -> list[dict[str, str]]:
    return [rule for file in RULES for group in yaml.safe_load(file.read_text())["groups"] for rule in group["rules"]]


def test_promtool_takes_configuration_and_rules() -> None:
    promtool("check", "config", str(CONFIG))
    promtool("check", "rules", *map(str, RULES))


def test_every_alert_fires_where_it_must_and_every_rule_computes_what_it_says() -> None:
    promtool("test", "rules", str(TESTS))
    told = yaml.safe_load(TESTS.read_text())["tests"]
    for rule in rules():
        if alert := rule.get("alert"):
            cases = [case for test in told for case in test.get("alert_rule_test", []) if case["alertname"] == alert]
            assert any("exp_alerts" in case for case in cases), f"{alert} is never shown to fire"
            assert any("exp_alerts" not in case for case in cases), f"{alert} is never shown to be silent"
        else:
            assert any(rule["record"] in case["expr"] for test in told for case in test.get("promql_expr_test", []))


@pytest.mark.parametrize("rule", rules(), ids=lambda rule: str(rule.get("alert", rule.get("record"))))
def test_every_metric_of_a_rule_is_one_that_is_exported(rule: dict[str, str]) -> None:
    exported = set(BY_NAME) | {
        f"{metric.name}_{part}"
        for metric in BY_NAME.values()
        if metric.kind == HISTOGRAM
        for part in ("bucket", "sum", "count")
    }
    named = set(re.findall(r"\blonghaul_[a-z0-9_]+", rule["expr"]))
    assert named <= exported
    assert named or "up{" in rule["expr"]
