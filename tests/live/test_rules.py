"""The shipped configuration: promtool accepts it, and every alert fires where it must and not elsewhere."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import yaml

from longhaul.api.lab import Lab
from longhaul.api.metrics import Gauges
from longhaul.api.streams.events import Hub
from longhaul.orchestrator.system.settings import Settings
from tests.live.prometheus import CONFIG
from tests.support.programs import run_program
from tests.support.rules import RULES, rules

TESTS = Path(__file__).parent / "rules" / "alerts.test.yml"


def promtool(*words: str) -> None:
    done = run_program(["promtool", *words])
    assert done.returncode == 0, done.stdout + done.stderr


def test_promtool_takes_configuration_and_rules() -> None:
    promtool("check", "config", str(CONFIG))
    promtool("check", "rules", *map(str, RULES))


def test_every_alert_and_rule_has_a_test_and_passes() -> None:
    promtool("test", "rules", str(TESTS))
    tests = yaml.safe_load(TESTS.read_text())["tests"]
    for rule in rules():
        if alert := rule.get("alert"):
            cases = [case for test in tests for case in test.get("alert_rule_test", []) if case["alertname"] == alert]
            assert any("exp_alerts" in case for case in cases), f"{alert} is never shown to fire"
            assert any("exp_alerts" not in case for case in cases), f"{alert} is never shown to be silent"
        else:
            assert any(rule["record"] in case["expr"] for test in tests for case in test.get("promql_expr_test", []))


def test_promtool_accepts_the_metrics_of_the_service(settings: Settings, tmp_path: Path) -> None:
    lab = Lab(replace(settings, home=tmp_path))
    text = Gauges().text(lab, Hub(lab.events))
    done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
