"""Distributions of a run's round trips and queue delays: for each value, the share that is at most as large.

The measures take their percentiles from the same values: rtt_p95 is where a flow's curve reaches 95 %, queue_delay_p95 where a queue's
does. (A sized flow's measures end when its receiver has every byte; only the curve contains the ACKs still on their way then.)
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from longhaul.orchestrator.analysis.panels import MOST_QUEUES, flow_label
from longhaul.orchestrator.analysis.raw_series import Raw, Span, goodput, queue_delays, round_trips
from longhaul.orchestrator.analysis.series import Floats, queue_delays_ms, round_trips_ms
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import ColumnSource, Trace

# The number of shares of a curve, evenly spaced.
_SHARES = 401
# Goodput is that of whole seconds, like its measures, unless these are few.
_FEWEST_SECONDS = 20
# The distributions that a page draws of each flow or link, in the unit of the series.
DISTRIBUTIONS = {"rtt": "ms", "goodput": "bit/s", "queue_delay": "ms"}


@dataclass(frozen=True, slots=True)
class Curve:
    """Values (milliseconds, unless stated otherwise), and the share of all values that are at most that."""

    label: str
    ms: Floats
    share: Floats


def round_trip_curves(run: Run, trace: Trace) -> list[Curve]:
    """The round trips that each flow's ACKs of the window measured; flows without any are left out."""
    found = [(flow_label(flow), round_trips_ms(run, trace, flow)) for flow in run.flows]
    return [_curve(label, values) for label, values in found if len(values)]


def queue_delay_curves(run: Run, trace: Trace) -> list[Curve]:
    """The delay of the first bottleneck's queue over the time of the window, and of other queues that were ever occupied."""
    return list(_queue_delays(run, trace))[:MOST_QUEUES]


def curves_from_columns(run: Run, source: ColumnSource, measure: str) -> list[Curve]:
    """A distribution of the window, by a name of `DISTRIBUTIONS`, of every flow or link that has values."""
    begin_s, end_s = (edge_us / 1e6 for edge_us in run.window_us)
    seconds = end_s - begin_s
    span = Span(begin_s, end_s, int(seconds if seconds >= _FEWEST_SECONDS else seconds * 10) or 1)
    found: list[tuple[str, Raw]]
    if measure == "queue_delay":
        found = [(link.name, queue_delays(run, source, link, span)) for link in run.links]
    else:
        read = {"rtt": round_trips, "goodput": goodput}[measure]
        found = [(flow.name, read(run, source, flow, span)) for flow in run.flows]
    return [_curve(label, raw.values / raw.a_unit) for label, raw in found if len(raw.values)]


def _queue_delays(run: Run, trace: Trace) -> Iterator[Curve]:
    begin_s, end_s = (edge_us / 1e6 for edge_us in run.window_us)
    for place, link in enumerate(run.links):
        delays_ms = queue_delays_ms(run, trace, link, begin_s, end_s)
        if len(delays_ms) and (place == 0 or delays_ms.any()):
            yield _curve(link.name, delays_ms)


def _curve(label: str, values: Floats) -> Curve:
    share = np.linspace(0.0, 1.0, _SHARES)
    return Curve(label, np.asarray(np.percentile(values, share * 100)), share)
