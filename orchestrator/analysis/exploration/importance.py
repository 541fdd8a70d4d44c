"""How much of the variance of a measure each swept field explains: a functional ANOVA of the points of a sweep, with repeats as noise.

    importance([{"path.rtt": "20 ms"}, ...], [9.1e6, ...]) -> Importance

Each point counts once, by the mean over its repeats. The effect of a value of a field is the mean of all points with it, less the mean of all
points; the field explains the variance of these effects. Repeats differ by noise, whose variance is pooled over the points; what noise adds to an
effect by chance is subtracted, so that a field without effect explains nothing. The rest of the variance between the points is that of
interactions: what fields do only together. Without repeats, both are one share.

In an incomplete grid the effects are those of the additive model that fits the present points best, and depend on which are missing. Fields that
always change together have one effect, which is named after both.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from math import prod

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import (
    parse_duration,
    parse_multiple,
    parse_packets,
    parse_rate,
    parse_share,
    parse_size,
)

METHOD = (
    "Share of the variance of the measure over all runs. Main effect of a field: the variance of the means of its values (functional ANOVA), "
    "every point counted once; what repeats vary by chance is noise and is subtracted; the rest between the points is interactions."
)
_INCOMPLETE = (
    "{missing} of the {whole} points of the full grid have no value: effects are those of an additive model fitted to the others, "
    "and depend on which are missing"
)
_TOGETHER = "{fields} always change together: their effects cannot be separated"
_NO_REPEATS = "no point has repeats: interactions and noise are one share"
_EVEN = "the measure is the same in all runs"
# Relative to the values: below this, variance is rounding.
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Level:
    """A value of a field: the mean of the measure at its points, as the model has it, and the number of its runs."""

    value: str
    mean: float
    runs: int


@dataclass(frozen=True, slots=True)
class FieldImportance:
    """A swept field, or several that change together; `share` is of the whole variance, 0 to 1."""

    fields: tuple[str, ...]
    share: float
    levels: tuple[Level, ...]


@dataclass(frozen=True, slots=True)
class Importance:
    """The fields, the most important first. `noise` is None without repeats: then `interactions` is what is left."""

    runs: int
    points: int
    missing: int
    mean: float | None
    deviation: float | None
    fields: tuple[FieldImportance, ...]
    interactions: float
    noise: float | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Factor:
    """Fields that change together, their values in order, and the value of each point by its number."""

    fields: tuple[str, ...]
    values: tuple[str, ...]
    at: NDArray[np.int64]


def importance(points: Sequence[Mapping[str, str]], values: Sequence[float | None]) -> Importance:
    """Of runs by their points; a run without a value is left out."""
    known = [(dict(point), float(value)) for point, value in zip(points, values, strict=True) if value is not None]
    cells: dict[tuple[tuple[str, str], ...], list[float]] = {}
    for point, value in known:
        cells.setdefault(tuple(sorted(point.items())), []).append(value)
    factors = _factors([dict(cell) for cell in cells], list(dict.fromkeys(name for point in points for name in point)))
    whole = prod(len(factor.values) for factor in factors)
    if not known:
        return Importance(0, 0, 0, None, None, (), 0.0, None, ("no run has a value",))
    groups = list(cells.values())
    return _decomposed(factors, groups, whole - len(cells))


def _factors(cells: Sequence[Mapping[str, str]], fields: Sequence[str]) -> list[_Factor]:
    """The fields that vary; those that divide the points in the same way are one."""
    found: dict[bytes, _Factor] = {}
    for name in fields:
        texts = [cell.get(name, "") for cell in cells]
        values = _ordered(dict.fromkeys(texts))
        if len(values) < 2:
            continue
        at = np.array([values.index(text) for text in texts], dtype=np.int64)
        same = found.get(at.tobytes())
        if same is None:
            found[at.tobytes()] = _Factor((name,), values, at)
        else:
            both = tuple(f"{a}, {b}" for a, b in zip(same.values, values, strict=True))
            found[at.tobytes()] = _Factor((*same.fields, name), both, at)
    return list(found.values())


def _ordered(texts: Iterable[str]) -> tuple[str, ...]:
    """Values in the order of their numbers, if all are quantities of one kind; else as they came."""
    values = tuple(texts)
    for parse in (float, parse_duration, parse_rate, parse_size, parse_packets, parse_share, _multiples):
        with contextlib.suppress(ValueError):
            return tuple(sorted(values, key=parse))
    return values


def _multiples(text: str) -> Fraction:
    found = parse_multiple(text, "BDP")
    if found is None:
        raise ValueError(text)
    return found


def _decomposed(factors: Sequence[_Factor], groups: Sequence[Sequence[float]], missing: int) -> Importance:
    means = np.array([np.mean(group) for group in groups])
    counts = np.array([len(group) for group in groups])
    every = np.concatenate([np.asarray(group, dtype=np.float64) for group in groups])
    grand = float(means.mean())
    freedom = int((counts - 1).sum())
    noise = sum(float(((np.asarray(group) - np.mean(group)) ** 2).sum()) for group in groups)
    noise = noise / freedom if freedom else 0.0
    # The variance of a mean of a point, were all points repeated equally often.
    of_mean = noise * float((1 / counts).mean())
    effects = _effects(factors, means - grand)
    explained = [_variance(effect, factor, missing) for factor, effect in zip(factors, effects, strict=True)]
    chance = [of_mean * (len(factor.values) - 1) / len(groups) for factor in factors]
    between = float(((means - grand) ** 2).mean())
    left = means - sum(effect[factor.at] for factor, effect in zip(factors, effects, strict=True))
    middle = float(left.mean())
    rest = float(left.var()) if missing else max(0.0, between - sum(explained))
    free = max(0, len(groups) - 1 - sum(len(factor.values) - 1 for factor in factors))
    mains = [max(0.0, value - by_chance) for value, by_chance in zip(explained, chance, strict=True)]
    interactions = max(0.0, rest - of_mean * free / len(groups))
    whole = sum(mains) + interactions + noise
    notes = _notes(factors, missing, len(groups), repeated=bool(freedom))
    if whole <= (_ROUNDING * max(1e-300, float(np.abs(every).max()))) ** 2:
        whole, notes = 0.0, (*notes, _EVEN)
    shares = [value / whole if whole else 0.0 for value in (*mains, interactions, noise)]
    found = [
        FieldImportance(factor.fields, share, _levels(factor, effect + middle, counts))
        for factor, effect, share in zip(factors, effects, shares, strict=False)
    ]
    return Importance(
        runs=len(every),
        points=len(groups),
        missing=missing,
        mean=grand,
        deviation=float(every.std()),
        fields=tuple(sorted(found, key=lambda one: -one.share)),
        interactions=shares[-2],
        noise=shares[-1] if freedom else None,
        notes=notes,
    )


def _effects(factors: Sequence[_Factor], values: Floats) -> list[Floats]:
    """The effects of an additive model, each with the mean 0 over the values of its field; on a full grid, the means of the values."""
    if not factors:
        return []
    columns = [np.eye(len(factor.values))[factor.at] for factor in factors]
    design = np.hstack([np.ones((len(values), 1)), *columns])
    found = np.linalg.lstsq(design, values, rcond=None)[0][1:]
    edges = np.cumsum([len(factor.values) for factor in factors])[:-1]
    return [effect - effect.mean() for effect in np.split(found, edges)]


def _variance(effect: Floats, factor: _Factor, missing: int) -> float:
    """Over the points; of an incomplete grid, over the values, as if each had as many points."""
    of = effect if missing else effect[factor.at]
    return float((of**2).mean())


def _levels(factor: _Factor, means: Floats, counts: NDArray[np.int64]) -> tuple[Level, ...]:
    runs = np.bincount(factor.at, weights=counts, minlength=len(factor.values))
    return tuple(
        Level(value, float(mean), int(count)) for value, mean, count in zip(factor.values, means, runs, strict=True)
    )


def _notes(factors: Sequence[_Factor], missing: int, points: int, *, repeated: bool) -> tuple[str, ...]:
    notes = [_TOGETHER.format(fields=" and ".join(factor.fields)) for factor in factors if len(factor.fields) > 1]
    if missing:
        notes.append(_INCOMPLETE.format(missing=missing, whole=points + missing))
    if not repeated:
        notes.append(_NO_REPEATS)
    return tuple(notes)
