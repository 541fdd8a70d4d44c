"""An `expect` line in numbers: the bounds of a measure, in the measure's unit."""

from __future__ import annotations

from longhaul.orchestrator.plan.run import Expectation
from longhaul.orchestrator.spec.amounts import read_amount
from longhaul.orchestrator.spec.model import Expected
from longhaul.orchestrator.system.units import format_share, parse_share


def resolve(expected: Expected) -> Expectation:
    """The expectation in numbers."""
    name = f"{expected.measure}({expected.flow})" if expected.flow else expected.measure
    name += f" in {expected.phase}" if expected.phase else ""
    if expected.within is not None:
        share, middle = parse_share(expected.within), read_amount(expected.measure, expected.of)
        text = f"{name} within {format_share(share)} of {expected.of}"
        edges = (middle * (1 - share), middle * (1 + share))
        return Expectation(expected.measure, expected.flow, *edges, text, expected.phase)
    low, high = (
        None if bound is None else read_amount(expected.measure, bound)
        for bound in (expected.at_least, expected.at_most)
    )
    bounds = [f"at least {expected.at_least}"] * (low is not None) + [f"at most {expected.at_most}"] * (
        high is not None
    )
    return Expectation(expected.measure, expected.flow, low, high, f"{name} {' and '.join(bounds)}", expected.phase)
