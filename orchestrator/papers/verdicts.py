"""Published claims against measured runs: agrees, differs and by how much, or not checkable and why.

A point's value is the aggregate of its repeats with its 95 % interval, as in every summary; the value decides, the interval is
shown. Of several points the one farthest from agreeing is told. A claim is never judged on runs that failed or were not made.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.aggregate import point_key, without
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.papers.claims import (
    Claim,
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
from longhaul.orchestrator.spec.measures import MEASURES, read_amount
from longhaul.orchestrator.system.units import format_rate, parse_share

_UNITS = {"seconds": " s", "milliseconds": " ms", "packets": " packets", "size": " bytes"}
AGREES, DIFFERS, NOT_CHECKABLE = "agrees", "differs", "not checkable"


@dataclass(frozen=True, slots=True)
class Finding:
    """How far a claim is from agreeing at one place: `off` above 0 differs, as a share; `told` is what was measured there."""

    off: float
    told: str
    reading: Reading


@dataclass(frozen=True, slots=True)
class Verdict:
    """`value`, `low` and `high` are the measure's at `point`, the one that decides; `off` is by how much it differs, as a share."""

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
        """Whether the exit code has to say so."""
        return self.gate and self.verdict == DIFFERS

    def as_dict(self) -> dict[str, Any]:
        """The verdict for JSON documents."""
        told = asdict(self)
        return {"figure": told.pop("figure"), "claim": told.pop("claim"), "class": told.pop("grade"), **told}


def judge_claim(figure: str, claim: Claim, documents: Sequence[RunDocument], aggregate: str) -> Verdict:
    """The verdict on a claim, given every document of its experiment."""
    blank = Verdict(
        figure, claim.name, claim.grade, claim.kind, claim.words, claim.published, claim.gate, NOT_CHECKABLE, ""
    )
    try:
        findings = list(_JUDGES[claim.kind](claim, read_points(claim, documents, aggregate)))
        if not findings:
            raise Unreadable("the points that it compares were not all run")
    except Unreadable as reason:
        return replace(blank, measured=str(reason))
    worst = max(findings, key=lambda finding: finding.off)
    differs = worst.off > 0
    reading = worst.reading
    return replace(
        blank,
        verdict=DIFFERS if differs else AGREES,
        measured=worst.told,
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
    told = f"{_percent(spread)}: {_shown(claim, lowest.value)}{place_text(lowest.point)} to {_shown(claim, highest.value)}{place_text(highest.point)}"
    yield Finding(spread - parse_share(claim.at_most), told, lowest)


def _error(claim: ErrorClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    for reading in readings:
        asked = read_amount(claim.measure, reading.point[claim.asked])
        error = abs(reading.value - asked) / asked
        told = f"{_percent(error)}: {_shown(claim, reading.value)}{place_text(reading.point)}"
        yield Finding(error - parse_share(claim.at_most), told, reading)


def _trend(claim: TrendClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    slack, by = parse_share(claim.slack), parse_share(claim.by)
    sign = 1.0 if claim.direction == "falls" else -1.0
    for group in _apart(readings, claim.along):
        if len(group) < 2:
            continue
        first, last = group[0], group[-1]
        change = _beyond(sign * (first.value - last.value), first.value)
        told = f"{_shown(claim, first.value)} to {_shown(claim, last.value)}{place_text(last.point)}"
        yield Finding(by - change, told, last)
        for before, after in pairwise(group):
            step = _beyond(sign * (after.value - before.value), before.value)
            told = f"{_shown(claim, before.value)} to {_shown(claim, after.value)}{place_text(after.point)}"
            yield Finding(step - slack, told, after)


def _ordering(claim: OrderingClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    slack, level = parse_share(claim.slack), 0.0 if claim.level is None else claim.amount(claim.level)
    sign = 1.0 if claim.best == "highest" else -1.0
    for group in _apart(readings, *claim.fields):
        ranked = {claim.entrant(reading.point): reading for reading in group}
        for ahead, behind in _pairs(claim, list(ranked)):
            one, other = ranked[ahead], ranked[behind]
            lead = _beyond(sign * (one.value - other.value) + level, max(abs(one.value), abs(other.value)))
            told = f"{ahead} {_shown(claim, one.value)}, {behind} {_shown(claim, other.value)}{place_text(without(one.point, *claim.fields))}"
            yield Finding(-lead - slack, told, one)


def _pairs(claim: OrderingClaim, names: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Who has to be ahead of whom; Unreadable where one that the claim names was not run."""
    if missing := [name for name in claim.named() if name not in names]:
        raise Unreadable(f"{', '.join(missing)} was not run")
    if claim.ranking:
        yield from pairwise(claim.ranking)
    chosen = claim.first or claim.last
    for one in chosen:
        for other in names:
            if other not in chosen:
                yield (one, other) if claim.first else (other, one)


def _table(claim: TableClaim, readings: Sequence[Reading]) -> Iterator[Finding]:
    published = _published(claim.table, readings)
    if claim.beside is not None:
        published = published / (published + _published(claim.beside, readings))
    apart = np.abs(np.array([reading.value for reading in readings]) - published)
    near = apart <= claim.apart + 1e-12
    worst = int(apart.argmax())
    told = (
        f"{near.sum()} of {len(near)} cells within {claim.apart:g}; the farthest, {_shown(claim, readings[worst].value)}"
        f"{place_text(readings[worst].point)}, was published as {_shown(claim, float(published[worst]))}"
    )
    yield Finding(parse_share(claim.cells) - float(near.mean()), told, readings[worst])


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
    """What the table has at each point; Unreadable where a cell is missing."""
    cells = load_matrix(matrix)
    places = [(reading.point[matrix.rows], reading.point[matrix.columns]) for reading in readings]
    if missing := [place for place in places if place not in cells]:
        raise Unreadable(f"{matrix.file} has no cell {' / '.join(missing[0])}")
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
    "table": _table,
    "rank": _rank,
}


def _apart(readings: Sequence[Reading], *fields: str) -> list[list[Reading]]:
    """Readings that differ in these fields alone, together."""
    groups: dict[str, list[Reading]] = {}
    for reading in readings:
        groups.setdefault(point_key(without(reading.point, *fields)), []).append(reading)
    return list(groups.values())


def _beyond(difference: float, base: float) -> float:
    """A difference as a share; of nothing, all or nothing."""
    return difference / abs(base) if base else float(np.sign(difference))


def _shown(claim: Claim, value: float) -> str:
    if claim.contrast is not None and claim.contrast.by == "ratio":
        return f"{value:.4g} times"
    kind = MEASURES[claim.measure].quantity
    if kind == "rate":
        return format_rate(value)
    # Jain's index is a share too, but nobody writes it so.
    if kind == "share" and claim.measure != "jain":
        return _percent(value)
    return f"{value:.4g}{_UNITS.get(kind, '')}"


def _percent(share: float) -> str:
    return f"{100 * share:.2f} %"
