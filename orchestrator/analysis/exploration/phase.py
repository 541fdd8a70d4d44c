"""Two quantities of a flow against each other, ACK by ACK: the window against the round trip, or against the queue of the flow's bottleneck.

    phase(run, trace.columns, "app", x="rtt", y="cwnd") -> Phase

An ACK gives both values at one instant; the queue is that of the last tick before it. A thinned plot keeps the extremes of both.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from longhaul.orchestrator.analysis.raw_series import Span
from longhaul.orchestrator.analysis.series import Floats, delays_ms, held, rtt_field
from longhaul.orchestrator.analysis.thinning import LEAST_POINTS, thin
from longhaul.orchestrator.analysis.timelines import FLOW_SERIES, LINK_SERIES, named_in
from longhaul.orchestrator.plan.run import Flow, Link, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVER, Columns, ColumnSource

POINTS = 2000

_Reader = Callable[[Run, ColumnSource, Link, Columns], Floats]


@dataclass(frozen=True, slots=True)
class Phase:
    """Times, and both values of each; `link` is the flow's bottleneck. Thinned from `of_values`."""

    flow: str
    link: str
    x: str
    y: str
    x_unit: str
    y_unit: str
    t_s: Floats
    x_values: Floats
    y_values: Floats
    of_values: int


def _of_ack(field: str, a_unit: float = 1.0) -> _Reader:
    def read(run: Run, source: ColumnSource, link: Link, acks: Columns) -> Floats:
        return np.asarray(acks[field] / a_unit, dtype=np.float64)

    return read


def _round_trips(run: Run, source: ColumnSource, link: Link, acks: Columns) -> Floats:
    values = acks[rtt_field(acks["rtt_us"])] / 1000
    return np.where(values > 0, values, np.nan)


def _queue(run: Run, source: ColumnSource, link: Link, acks: Columns) -> Floats:
    return held(source("link", ["queue_packets"], link.id, EVER), "queue_packets", acks["t_ns"] / 1e9)


def _queue_delay(run: Run, source: ColumnSource, link: Link, acks: Columns) -> Floats:
    found = delays_ms(run, source("link", ["queue_bytes"], link.id, EVER), link, acks["t_ns"] / 1e9)
    return found if len(found) else np.full(len(acks["t_ns"]), np.nan)


# Names are those of series.
AXES: dict[str, _Reader] = {
    "cwnd": _of_ack("cwnd"),
    "inflight": _of_ack("inflight"),
    "rtt": _round_trips,
    "srtt": _of_ack("srtt_us", 1000),
    "pacing": _of_ack("pacing_Bps", 1 / 8),
    "queue": _queue,
    "queue_delay": _queue_delay,
}


def phase(
    run: Run,
    source: ColumnSource,
    flow: str,
    *,
    x: str = "rtt",
    y: str = "cwnd",
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> Phase:
    """Pairs of values of a part of a run; NotFound for an unknown flow or quantity."""
    sender = named_in({one.name: one for one in run.flows}, flow, "reading the phase plot of flow")
    link = bottleneck_of(run, sender)
    readers = [named_in(AXES, name, "reading the phase plot of") for name in (x, y)]
    end_s = run.duration_us / 1e6 if end_s is None else end_s
    fields = ["cwnd", "inflight", "rtt_us", "srtt_us", "pacing_Bps"]
    acks = source("ack", fields, sender.id, Span(max(0.0, begin_s), end_s, 1).ns(run))
    both = [read(run, source, link, acks) for read in readers]
    there = ~np.isnan(both[0]) & ~np.isnan(both[1])
    t_s, across, up = (column[there] for column in (acks["t_ns"] / 1e9, *both))
    half = max(LEAST_POINTS, points // 2)
    kept = np.union1d(thin(t_s, across, half), thin(t_s, up, half)) if len(t_s) > points else np.arange(len(t_s))
    return Phase(
        flow, link.name, x, y, unit_of(x), unit_of(y), t_s[kept], across[kept], up[kept], len(t_s)
    )  # fmt: skip


def unit_of(quantity: str) -> str:
    """The unit of a quantity of a flow or a link."""
    return (FLOW_SERIES | LINK_SERIES)[quantity].unit


def bottleneck_of(run: Run, flow: Flow) -> Link:
    """The slowest followed link on a flow's path; the first one of the run if none is on it, or their rates are unknown."""
    on_path = [link for link in run.links if link.dev in flow.forward and link.rate_bps]
    return min(on_path, key=lambda link: link.rate_bps, default=run.links[0])
