"""The mean of a series over the repeats of a point, at each instant, with its 95 % band.

    band([(run, columns), ...], "cwnd", flow="app", points=200) -> Band

All repeats share one grid of time. A rate is the mean of its bin. Of other series, a value holds until the next one, and each instant of the grid has the
mean over its part of the grid, so that a thinned curve of one run does not depend on which of its values was taken. An instant before a run's first value
has no value of that run. The band is Student's interval of the mean (intervals.py) at each instant by itself; one run has none.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from longhaul.orchestrator.analysis.intervals import student_quantile
from longhaul.orchestrator.analysis.raw_series import Raw, Span
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, LINK_SERIES, named_in
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import ColumnSource

POINTS = 200
# Means of bins already, at the bins' middles.
_RATES = ("goodput", "throughput")
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class Band:
    """Seconds from the start; the mean over the runs with a value then, its interval (NaN of fewer than two), and the number of those runs."""

    measure: str
    about: str
    unit: str
    t_s: Floats
    mean: Floats
    low: Floats
    high: Floats
    runs: Floats


def band(
    repeats: Sequence[tuple[Run, ColumnSource]],
    measure: str,
    *,
    flow: str | None = None,
    link: str | None = None,
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> Band:
    """A series of a flow if one is named, else of a link, by default the first; NotFound, and PlanError without runs."""
    if not repeats:
        raise PlanError("drawing the band of", measure, "there is no run", "give the runs of a point")
    first = repeats[0][0]
    length_s = min(run.duration_us for run, _ in repeats) / 1e6
    begin_s = min(max(0.0, begin_s), length_s)
    span = Span(begin_s, length_s if end_s is None else max(begin_s, min(end_s, length_s)), points)
    edges = np.linspace(span.begin_s, span.end_s, points + 1)
    unit, rows = "", []
    for run, source in repeats:
        unit, raw = _read(run, source, measure, flow, link, span)
        rows.append(_own_bins(raw) if measure in _RATES else (_middles(edges), _held(raw, edges)))
    t_s = min((t for t, _ in rows), key=len)
    values = np.array([row[: len(t_s)] for _, row in rows])
    about = flow or link or first.links[0].name
    return Band(measure, about, unit, t_s, *_student(values))


def _read(
    run: Run, source: ColumnSource, measure: str, flow: str | None, link: str | None, span: Span
) -> tuple[str, Raw]:
    if flow is not None:
        of_flow = named_in(FLOW_SERIES, measure, "reading the series of a flow")
        sender = named_in({one.name: one for one in run.flows}, flow, "reading a series of flow")
        return of_flow.unit, of_flow.read(run, source, sender, span)
    of_link = named_in(LINK_SERIES, measure, "reading the series of a link")
    name = run.links[0].name if link is None else link
    queue = named_in({one.name: one for one in run.links}, name, "reading a series of link")
    return of_link.unit, of_link.read(run, source, queue, span)


def _own_bins(raw: Raw) -> tuple[Floats, Floats]:
    return np.asarray(raw.t, dtype=np.float64) / raw.a_second, np.asarray(raw.values / raw.a_unit, dtype=np.float64)


def _held(raw: Raw, edges: Floats) -> Floats:
    """The mean over each part of the grid of values that hold until the next one; NaN before the first."""
    if not len(raw.t):
        return np.full(len(edges) - 1, np.nan)
    t_s = np.asarray(raw.t, dtype=np.float64) / raw.a_second
    values = np.asarray(raw.values, dtype=np.float64) / raw.a_unit
    area = np.append(0.0, np.cumsum(values[:-1] * np.diff(t_s)))
    begins, ends = np.maximum(edges[:-1], t_s[0]), np.maximum(edges[1:], t_s[0])
    at_ends, at_begins = (_area(t_s, values, area, times) for times in (ends, begins))
    length = ends - begins
    return np.where(length > 0, (at_ends - at_begins) / np.where(length > 0, length, 1), np.nan)


def _area(t_s: Floats, values: Floats, area: Floats, times: Floats) -> Floats:
    at = np.searchsorted(t_s, times, side="right") - 1
    found: Floats = area[at] + values[at] * (times - t_s[at])
    return found


def _student(values: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Mean, low, high and number of values of each column, without NaN."""
    there = ~np.isnan(values)
    count = there.sum(axis=0)
    total = np.where(there, values, 0).sum(axis=0)
    mean = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    squares = np.where(there, (values - mean) ** 2, 0).sum(axis=0)
    # t for each number of runs that occurs.
    quantiles = np.array([math.nan, math.nan, *(student_quantile(_ALPHA, n - 1) for n in range(2, len(values) + 1))])
    half = quantiles[count] * np.sqrt(squares / np.maximum(count - 1, 1) / np.maximum(count, 1))
    return mean, mean - half, mean + half, count.astype(np.float64)


def _middles(edges: Floats) -> Floats:
    found: Floats = (edges[:-1] + edges[1:]) / 2
    return found
