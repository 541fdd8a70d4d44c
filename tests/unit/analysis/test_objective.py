"""Objectives and claims: known values, and any text that is not an expression over measures is refused."""

from __future__ import annotations

from typing import Any

import pytest

from longhaul.orchestrator.analysis.objective import read_claim, read_objective
from longhaul.orchestrator.system.errors import PlanError

FLOWS = ["app", "long-1"]
DOCUMENT: Any = {
    "flows": [
        {"name": "app", "goodput_bps": 3e6, "rtt_ms": {"p50": 40.0}, "completion_s": None},
        {"name": "long-1", "goodput_bps": 1e6, "rtt_ms": None},
    ],
    "path": {"queue_packets": {"mean": 10.0}, "utilisation": 0.5, "drops": 0, "throughput_bps": 4e6},
    "jain": 0.8,
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("goodput(app)", 3e6),
        ("jain", 0.8),
        ("-rtt_p50(app)", -40.0),
        ("goodput(app)/1e6 - 0.1*queue_mean", 2.0),
        ("goodput(long-1)", 1e6),
        ("goodput('long-1') + 1", 1e6 + 1),
        ("min(goodput(app), goodput(long-1))", 1e6),
        ("max(1, 2, jain)", 2.0),
        ("2 ** 3 * jain", 6.4),
        ("log10(goodput(long-1))", 6.0),
        ("sqrt(queue_mean * 10)", 10.0),
        ("abs(-throughput)", 4e6),
        ("-(1 + 2) * queue_mean", -30.0),
    ],
)
def test_an_objective_has_its_value(text: str, value: float) -> None:
    assert read_objective(text, FLOWS).value(DOCUMENT) == pytest.approx(value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("__import__('os').system('true')", "is not allowed there"),
        ("goodput(app).real", "is not allowed there"),
        ("jain if 1 else 2", "is not allowed there"),
        ("[jain][0]", "is not allowed there"),
        ("lambda: jain", "is not allowed there"),
        ("jain and jain", "is not allowed there"),
        ("True + jain", "is not allowed there"),
        ("'jain'", "is not allowed there"),
        ("jain @ jain", "is not allowed there"),
        ("open(app)", "not a measure"),
        ("max(*jain, 1)", "is not allowed there"),
        ("godput(app)", "nearest: goodput"),
        ("goodput", "goodput is a measure of a flow"),
        ("jain(app)", "of the run, not of a flow"),
        ("goodput(web)", "known: app, long-1"),
        ("goodput(app, app)", "one flow"),
        ("goodput(", "not an expression"),
        ("min(jain)", "takes 2 to 20"),
        ("1 + 2", "no measure"),
        ("(" * 300 + "jain" + ")" * 300, "longer than"),
        ("-" * 399 + "1", "no"),
        ("9" * 399, "too large"),
    ],
)
def test_an_invalid_objective_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError, match="reading the objective") as refused:
        read_objective(text, FLOWS)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("jain / drops", "cannot be computed: float division by zero"),
        ("rtt_p50(long-1)", "has no value"),
        ("completion_s(app)", "has no value"),
        ("10 ** goodput(app)", "cannot be computed"),
        ("log10(jain - 2)", "cannot be computed"),
    ],
)
def test_a_run_without_a_value_gives_the_reason(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_objective(text, FLOWS).value(DOCUMENT)


@pytest.mark.parametrize(
    ("text", "at_least", "bound", "margin"),
    [
        ("goodput(app) >= 0.5 * 622e6", True, 311e6, 3e6 - 311e6),
        ("goodput(app) >= 2 Mbit/s", True, 2e6, 1e6),
        ("0.4 <= utilisation", True, 0.4, 0.1),
        ("rtt_p50(app) <= 50 ms", False, 50.0, 10.0),
        ("queue_mean <= 20", False, 20.0, 10.0),
        ("jain>=90 %", True, 0.9, -0.1),
    ],
)
def test_a_claim_has_its_bound(text: str, at_least: bool, bound: float, margin: float) -> None:
    claim = read_claim(text, FLOWS)
    assert claim.at_least is at_least
    assert claim.bound == pytest.approx(bound)
    assert claim.margin(DOCUMENT) == pytest.approx(margin)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("goodput(app)", "a claim is a measure"),
        ("goodput(app) > 1", "a claim is a measure"),
        ("1 <= jain <= 2", "a claim is a measure"),
        ("2*goodput(app) >= 1e6", "one measure"),
        ("goodput(app) >= goodput(long-1)", "the bound must be a number"),
        ("utilisation >= 2", "lies between 0 and 1"),
        ("goodput(app) >= 5 parsecs", "a rate with its unit"),
        ("jain >= 1/0", "cannot be computed"),
        ("queue_mean <= 2.5", "would round it to 2"),
    ],
)
def test_an_invalid_claim_is_refused(text: str, message: str) -> None:
    with pytest.raises(PlanError, match="reading the claim") as refused:
        read_claim(text, FLOWS)
    assert message in str(refused.value)
