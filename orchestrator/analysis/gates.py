"""Compares two sides under gates: the measures that decide, and the least effect that matters, as a user writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from longhaul.orchestrator.analysis.compare import Comparison, Quantity, compare, measure_of_runs
from longhaul.orchestrator.analysis.objective import Objective, read_objective
from longhaul.orchestrator.analysis.pairing import Pairing, differing, pair_runs
from longhaul.orchestrator.analysis.values import flow_names
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.measures import MEASURES, NEITHER
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.units import parse_share

# A run's plan (run.json), if known.
Plan = Callable[[str], Mapping[str, Any] | None]


def compare_documents(
    a: str,
    runs: Sequence[RunDocument],
    b: str,
    others: Sequence[RunDocument],
    gates: Sequence[str],
    least: str,
    plan: Plan | None = None,
) -> Comparison:
    """Compare the runs of two named sides; `plan` gives the run.json of a run, if known."""
    return compare_pairs((a, b), pair_runs(runs, others), gates, least, plan)


def compare_pairs(
    names: tuple[str, str], pairing: Pairing, gates: Sequence[str], least: str, plan: Plan | None
) -> Comparison:
    """The same for paired runs."""
    comparison = compare(*names, pairing, _gates(gates, pairing), _least_effect(least))
    if plan is not None:
        comparison = replace(comparison, differs=differing(pairing, plan))
    if gates and not comparison.gated:
        raise PlanError("gating on", ", ".join(gates), "it has no value in any pair of runs")
    return comparison


def _least_effect(text: str) -> float:
    try:
        return parse_share(text)
    except ValueError as error:
        raise PlanError("reading --min-effect", text, str(error)) from None


def _gates(texts: Sequence[str], pairing: Pairing) -> list[Quantity]:
    flows = dict.fromkeys(name for pair in pairing.pairs for one in pair for name in flow_names(one))
    return [_gate(read_objective(text, flows)) for text in texts]


def _gate(objective: Objective) -> Quantity:
    """A measure has its own better direction; an expression of measures is an objective, for which larger is better."""
    if (measure := objective.measure) is None:
        return Quantity(objective.text, None, 1, lambda document: _value(objective, document))
    if MEASURES[measure.name].better == NEITHER:
        what = f"{measure.name} has no better direction"
        raise PlanError(
            "gating on", str(measure), what, f"choose one: --for '-{measure}' wants less, --for '1*{measure}' more"
        )
    return measure_of_runs(measure.name, measure.flow)


def _value(objective: Objective, document: RunDocument) -> float | None:
    if document["status"] == "failed":
        return None
    try:
        return objective.value(document)
    except ValueError:
        return None
