"""Judges published claims by measured runs: agrees, differs (by how much), or not checkable (why).

A point's value is the aggregate of its repeats with its 95 % interval, as in every summary; the value decides, the interval is
shown. Of several points the one farthest from agreement is shown. A claim is never judged on failed or missing runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import pairwise
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.aggregate import point_key, without
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.papers.claims import (
    Claim,
    CurveClaim,
    ErrorClaim,
    FlatClaim,
    Matrix,
    OrderingClaim,
    RankClaim,
    TableClaim,
    TrendClaim,
    ValueClaim,
)
from longhaul.orchestrator.papers.load import load_matrix
from longhaul.orchestrator.papers.readings import Reading, Unreadable, place_text, read_points
from longhaul.orchestrator.plan.run_document import RunDocument
from longhaul.orchestrator.spec.amounts import read_amount
from longhaul.orchestrator.spec.measures import MEASURES
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_rate, parse_share

_UNITS = {"seconds": " s", "milliseconds": " ms", "packets": " packets", "size": " bytes"}
AGREES, DIFFERS, NOT_CHECKABLE = "agrees", "differs", "not checkable"


@dataclass(frozen=True, slots=True)
class Finding:
    """The distance of a claim from agreement at one point: `off` above 0 differs, as a share; `measured` is the value as text."""

    off: float
    measured: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Verdict:
    """`value`, `low` and `high` belong to the deciding `point`; `off` is the difference as a share."""

    figure: str
    claim: str
    grade: str
    kind: str
    words: str
    published: str
    gate: bool
    verdict: str
    measured: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    off: float | None = None
    point: Mapping[str, str] | None = None
    why: str = ""

    @property
    def fails(self) -> bool:
        """Whether it makes the exit code 1."""
        return self.gate and self.verdict == DIFFERS

    def as_dict(self) -> dict[str, Any]:
        """The verdict for JSON documents."""
        fields = asdict(self)
        return {"figure": fields.pop("figure"), "claim": fields.pop("claim"), "class": fields.pop("grade"), **fields}


def judge_claim(figure: str, claim: Claim, documents: Sequence[RunDocument], aggregate: str) -> Verdict:
    """The verdict on a claim, given every document of its experiment."""
    blank = Verdict(
        figure, claim.name, claim.grade, claim.kind, claim.words, claim.published, claim.gate, NOT_CHECKABLE, ""
    )
    try:
        findings = list(_JUDGES[claim.kind](claim, read_points(claim, documents, aggregate)))
        if not findings:
            raise Unreadable("some points that it compares have no run")
    except Unreadable as reason:
        return replace(blank, measured=str(reason))
    worst = max(findings, key=lambda finding: finding.off)
    differs = worst.off > 0
    reading = worst.reading
    return replace(
        blank,
        verdict=DIFFERS if differs else AGREES,
        measured=worst.measured,
        value=reading.value,
        low=reading.low,
        high=reading.high,
        off=worst.off if differs else 0.0,
        point=dict(reading.point),
        why=claim.why if differs else "",
    )


def _value(claim: ValueClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    low, high = (None if bound is None else claim.amount(bound) for bound in (claim.at_least, claim.at_most))
    if claim.of is not None and claim.within is not None:
        middle, within = claim.amount(claim.of), parse_share(claim.within)
        low, high = middle * (1 - within), middle * (1 + within)
    for reading in readings:
        below = 0.0 if low is None else _beyond(low - reading.value, low)
        above = 0.0 if high is None else _beyond(reading.value - high, high)
        yield Finding(max(below, above), f"{_shown(claim, reading.value)}{place_text(reading.point)}", reading)


def _flat(claim: FlatClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    if len(readings) < 2:
        return
    lowest, highest = (pick(readings, key=lambda one: one.value) for pick in (min, max))
    mean = float(np.mean([reading.value for reading in readings]))
    spread = _beyond(highest.value - lowest.value, mean)
    text = f"{_percent(spread)}: {_shown(claim, lowest.value)}{place_text(lowest.point)} to {_shown(claim, highest.value)}{place_text(highest.point)}"
    yield Finding(spread - parse_share(claim.at_most), text, lowest)


def _error(claim: ErrorClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    for reading in readings:
        wanted = read_amount(claim.measure, reading.point[claim.asked])
        error = abs(reading.value - wanted) / wanted
        text = f"{_percent(error)}: {_shown(claim, reading.value)}{place_text(reading.point)}"
        yield Finding(error - parse_share(claim.at_most), text, reading)


def _trend(claim: TrendClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    slack, by = parse_share(claim.slack), parse_share(claim.by)
    sign = 1.0 if claim.direction == "falls" else -1.0
    for group in _apart(readings, claim.along):
        if len(group) < 2:
            continue
        first, last = group[0], group[-1]
        change = _beyond(sign * (first.value - last.value), first.value)
        text = f"{_shown(claim, first.value)} to {_shown(claim, last.value)}{place_text(last.point)}"
        yield Finding(by - change, text, last)
        for before, after in pairwise(group):
            step = _beyond(sign * (after.value - before.value), before.value)
            text = f"{_shown(claim, before.value)} to {_shown(claim, after.value)}{place_text(after.point)}"
            yield Finding(step - slack, text, after)


def _ordering(claim: OrderingClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    slack, level = parse_share(claim.slack), 0.0 if claim.level is None else claim.amount(claim.level)
    sign = 1.0 if claim.best == "highest" else -1.0
    for group in _apart(readings, *claim.fields):
        ranked = {claim.entrant(reading.point): reading for reading in group}
        for ahead, behind in _pairs(claim, list(ranked)):
            one, other = ranked[ahead], ranked[behind]
            lead = _beyond(sign * (one.value - other.value) + level, max(abs(one.value), abs(other.value)))
            text = f"{ahead} {_shown(claim, one.value)}, {behind} {_shown(claim, other.value)}{place_text(without(one.point, *claim.fields))}"
            yield Finding(-lead - slack, text, one)


def _pairs(claim: OrderingClaim, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The pairs (ahead, behind); Unreadable if a named one was not run."""
    if missing := [name for name in claim.named() if name not in names]:
        raise Unreadable(f"{', '.join(missing)} was not run")
    if claim.ranking:
        yield from pairwise(claim.ranking)
    chosen = claim.first or claim.last
    for one in chosen:
        for other in names:
            if other not in chosen:
                yield (one, other) if claim.first else (other, one)


def _curve(claim: CurveClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    published = _cells(claim.table.file, load_matrix(claim.table), [
        (reading.point[claim.table.rows], claim.column) for reading in readings
    ])  # fmt: skip
    apart = np.abs(np.array([reading.value for reading in readings]) / published - 1)
    near = apart <= parse_share(claim.within) + 1e-12
    worst = int(apart.argmax())
    text = (
        f"{near.sum()} of {len(near)} points within {_percent(parse_share(claim.within))}; the farthest is "
        f"{_shown(claim, readings[worst].value)}{place_text(readings[worst].point)}, published as {_shown(claim, float(published[worst]))}"
    )
    yield Finding(parse_share(claim.points) - float(near.mean()), text, readings[worst])


def _table(claim: TableClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    published = _published(claim.table, readings)
    if claim.beside is not None:
        published = published / (published + _published(claim.beside, readings))
    apart = np.abs(np.array([reading.value for reading in readings]) - published)
    near = apart <= claim.apart + 1e-12
    worst = int(apart.argmax())
    text = (
        f"{near.sum()} of {len(near)} cells within {claim.apart:g}; the farthest is {_shown(claim, readings[worst].value)}"
        f"{place_text(readings[worst].point)}, published as {_shown(claim, float(published[worst]))}"
    )
    yield Finding(parse_share(claim.cells) - float(near.mean()), text, readings[worst])


def _rank(claim: RankClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    published = _published(claim.table, readings)
    measured = np.round(np.array([reading.value for reading in readings]) / claim.step)
    if len(readings) < 3 or not published.std() or not measured.std():
        raise Unreadable("ranks need three cells that differ")
    spearman = float(np.corrcoef(_ranks(published), _ranks(measured))[0, 1])
    yield Finding(
        claim.at_least - spearman, f"Spearman's correlation {spearman:.3f} of {len(readings)} cells", readings[0]
    )


def _published(matrix: Matrix, readings: Sequence[Reading]) -> Floats:
    """The table's value at each point; Unreadable if a cell is missing."""
    places = [(reading.point[matrix.rows], reading.point[matrix.columns]) for reading in readings]
    return _cells(matrix.file, load_matrix(matrix), places)


def _cells(file: str, cells: Mapping[tuple[str, str], float], places: Sequence[tuple[str, str]]) -> Floats:
    """The values of cells; Unreadable if one is missing."""
    if missing := [place for place in places if place not in cells]:
        raise Unreadable(f"{file} has no cell {' / '.join(missing[0])}")
    return np.array([cells[place] for place in places])


def _ranks(values: Floats) -> Floats:
    """Ranks from 1 on; equal values share the mean of theirs."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    shared: Floats = (last - (counts - 1) / 2)[places]
    return shared


_JUDGES: Mapping[str, Callable[[Any, Sequence[Reading]], Iterator[Finding]]] = {
    "value": _value,
    "flat": _flat,
    "error": _error,
    "trend": _trend,
    "ordering": _ordering,
    "curve": _curve,
    "table": _table,
    "rank": _rank,
}


def _apart(readings: Sequence[Reading], *fields: str) -> list[list[Reading]]:
    """Readings grouped so that a group differs only in these fields."""
    groups: dict[str, list[Reading]] = {}
    for reading in readings:
        groups.setdefault(point_key(without(reading.point, *fields)), []).append(reading)
    return list(groups.values())


def _beyond(difference: float, base: float) -> float:
    """A difference as a share; with a base of 0: -1, 0 or 1."""
    return difference / abs(base) if base else float(np.sign(difference))


def _shown(claim: Claim, value: float) -> str:
    if claim.contrast is not None and claim.contrast.by == "ratio":
        return f"{value:.4g} times"
    kind = MEASURES[claim.measure].quantity
    if kind == "rate":
        return format_rate(value)
    # Jain's index is a share too, but is not written as one.
    if kind == "share" and claim.measure != "jain":
        return _percent(value)
    return f"{value:.4g}{_UNITS.get(kind, '')}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
