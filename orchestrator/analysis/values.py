"""One measure out of a run's document: nothing is computed, and nothing of numpy is loaded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from longhaul.orchestrator.plan.run_document import PartNumbers, RunNumbers
from longhaul.orchestrator.spec.measures import MEASURES


def key_of(measure: str, flow: str | None) -> str:
    """The measure's place in the document, as in rtt_ms.p50; rows of summaries and of the catalogue carry it."""
    assert flow is None or MEASURES[measure].of in ("flow", "either"), measure
    return MEASURES[measure].field


def flow_names(document: Mapping[str, Any]) -> list[str]:
    """The names that a measure of a flow may have in this document: those of flows, and of several together; none in a failed run's."""
    return [one["name"] for one in (*document.get("flows", ()), *document.get("totals", ()))]


def value_of(document: RunNumbers, measure: str, flow: str | None, phase: str | None = None) -> float | None:
    """One measure out of a run's document; of a phase if one is named."""
    numbers: RunNumbers | PartNumbers = document if phase is None else document["phases"][phase]
    row = MEASURES[measure]
    place: Any = numbers
    if flow is not None:
        place = next((one for one in (*numbers["flows"], *numbers.get("totals", ())) if one["name"] == flow), None)
    elif row.of != "run":
        place = numbers["path"]
    for name in row.path:
        place = None if place is None else place.get(name)
    return None if place is None else float(place)
