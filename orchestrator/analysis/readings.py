"""What was measured at the points that a published claim is about: the repeats of each point as one value with its interval."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from orchestrator.analysis.aggregate import with_interval
from orchestrator.analysis.measures import value_of
from orchestrator.claims import Claim, selects

Document = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """What was measured at a point."""

    point: Mapping[str, str]
    value: float
    low: float
    high: float
    n: int


class Unreadable(Exception):
    """Why a claim cannot be judged."""


def read_points(claim: Claim, documents: Sequence[Document], aggregate: str) -> list[Reading]:
    """What was measured at each point that the claim is about, in the order of the sweep; Unreadable."""
    groups = by_point(document for document in documents if selects(claim.at, document["point"]))
    if not groups:
        raise Unreadable("no run was made at its points")
    return [read_point(group, claim.measure, claim.flow, aggregate, claim.phase) for group in groups]


def by_point(documents: Iterable[Document]) -> list[list[Document]]:
    """The repeats of each point together."""
    groups: dict[str, list[Document]] = {}
    for document in documents:
        groups.setdefault(json.dumps(document["point"], sort_keys=True), []).append(document)
    return list(groups.values())


def read_point(
    group: Sequence[Document], measure: str, flow: str | None, aggregate: str, phase: str | None = None
) -> Reading:
    """What the repeats of one point say; Unreadable."""
    point = group[0]["point"]
    if failed := sum(document["status"] == "failed" for document in group):
        raise Unreadable(f"{failed} of {len(group)} runs failed{place_text(point)}")
    values = [value_of(document, measure, flow, phase) for document in group]
    if None in values:
        raise Unreadable(f"{measure} has no value{place_text(point)}")
    return Reading(point, *with_interval(np.array(values, dtype=float), aggregate), len(values))


def place_text(point: Mapping[str, str]) -> str:
    """Where something was measured, in words."""
    told = ", ".join(f"{name.removeprefix('flows.').removeprefix('path.')}={value}" for name, value in point.items())
    return f" at {told}" if told else ""
