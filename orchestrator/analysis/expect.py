"""Checks an experiment's expectations against a run's document."""

from __future__ import annotations

from collections.abc import Sequence

from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.plan.run import Expectation
from longhaul.orchestrator.plan.run_document import ExpectationResult, RunNumbers


def evaluate(expectations: Sequence[Expectation], document: RunNumbers) -> list[ExpectationResult]:
    """One verdict an expectation; one on a measure without a value is missed."""
    return [_verdict(expectation, document) for expectation in expectations]


def _verdict(expectation: Expectation, document: RunNumbers) -> ExpectationResult:
    value = value_of(document, expectation.measure, expectation.flow, expectation.phase)
    if value is None:
        return {"ok": False, "text": f"{expectation.text}: has no value in this run", "value": None}
    ok = (expectation.low is None or value >= expectation.low) and (
        expectation.high is None or value <= expectation.high
    )
    # The experiment's format takes long to load: a run without expectations does not need it.
    from longhaul.orchestrator.spec.amounts import say_amount

    return {"ok": ok, "text": f"{expectation.text}: {say_amount(expectation.measure, value)}", "value": value}
