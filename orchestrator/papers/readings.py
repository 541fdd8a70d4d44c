"""Reads the measurements at the points of a published claim: the repeats of each point as one value with its interval."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from longhaul.orchestrator.analysis.aggregate import by_point, point_key, with_interval, without
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.analysis.values import value_of
from longhaul.orchestrator.papers.claims import Claim, Contrast, selects
from longhaul.orchestrator.plan.run import point_text
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.system.lazy_dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reading:
    """The measured value at a point."""

    point: Mapping[str, str]
    value: float
    low: float
    high: float
    n: int


class Unreadable(Exception):
    """Why a claim cannot be judged."""


def read_points(claim: Claim, documents: Sequence[RunDocument], aggregate: str) -> list[Reading]:
    """The measured value at each point of the claim, in the order of the sweep; Unreadable."""
    groups = by_point(document for document in documents if is_about(claim, document["point"]))
    if not groups:
        raise Unreadable("no run exists at its points")
    if claim.contrast is not None:
        return list(_contrasts(claim, claim.contrast, groups, aggregate))
    return [read_point(group, claim.measure, claim.flow, aggregate, claim.phase) for group in groups]


def is_about(claim: Claim, point: Mapping[str, str]) -> bool:
    """Whether a point counts for the claim."""
    return selects(claim.at, point) and not (claim.but and selects(claim.but, point))


def _contrasts(
    claim: Claim, contrast: Contrast, groups: Sequence[Sequence[RunDocument]], aggregate: str
) -> Iterator[Reading]:
    """The difference between two values of a field, at each point of the other fields, repeat by repeat; Unreadable."""
    sides: dict[str, dict[str, Sequence[RunDocument]]] = {contrast.of: {}, contrast.to: {}}
    for group in groups:
        point = group[0]["point"]
        if (value := point[contrast.field]) in sides:
            sides[value][point_key(without(point, contrast.field))] = group
    for place, group in sides[contrast.of].items():
        if place not in sides[contrast.to]:
            raise Unreadable(f"{contrast.field}={contrast.to} was not run{place_text(json.loads(place))}")
        ones, others = (
            _values(one, claim.measure, claim.flow, claim.phase) for one in (group, sides[contrast.to][place])
        )
        if len(ones) != len(others):
            raise Unreadable(f"{len(ones)} runs against {len(others)}{place_text(json.loads(place))}")
        if contrast.by == "ratio" and not others.all():
            raise Unreadable(f"{claim.measure} is 0 at {contrast.field}={contrast.to}")
        values = ones - others if contrast.by == "difference" else ones / others
        yield Reading(json.loads(place), *with_interval(values, aggregate), len(values))


def read_point(
    group: Sequence[RunDocument], measure: str, flow: str | None, aggregate: str, phase: str | None = None
) -> Reading:
    """The value of one point's repeats; Unreadable."""
    values = _values(group, measure, flow, phase)
    return Reading(group[0]["point"], *with_interval(values, aggregate), len(values))


def _values(group: Sequence[RunDocument], measure: str, flow: str | None, phase: str | None) -> Floats:
    point = group[0]["point"]
    if failed := sum(document["status"] == "failed" for document in group):
        raise Unreadable(f"{failed} of {len(group)} runs failed{place_text(point)}")
    values = [value_of(document, measure, flow, phase) for document in group]
    if None in values:
        raise Unreadable(f"{measure} has no value{place_text(point)}")
    return np.array(values, dtype=float)


def place_text(point: Mapping[str, str]) -> str:
    """The point of a measurement as text."""
    text = point_text(point)
    return f" at {text}" if text else ""
