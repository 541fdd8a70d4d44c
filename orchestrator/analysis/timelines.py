"""The time series of a run: a table of series by name, of flows and of links, and one function that reads a series.

    timeline(run, trace.columns, "cwnd", flow="app", begin_s=10, end_s=20, points=2000) -> Timeline

A series is read from columns of the trace, in memory or on disk, so that a chart of a kept run reads only the columns that it shows. It is thinned
to `points` values and keeps every spike: no value is smoothed, except that a rate is the mean of its bin. A series that a trace does not have,
such as the window of UDP, is empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Generic, TypeVar

import numpy as np

from longhaul.orchestrator.analysis.raw_series import (
    NO_PACING,
    NO_SSTHRESH,
    FlowReader,
    LinkReader,
    Raw,
    Span,
    at_acks,
    at_ticks,
    counted_at_acks,
    flow_throughput,
    goodput,
    link_throughput,
    queue_delays,
    received_bytes,
    round_trips,
)
from longhaul.orchestrator.analysis.series import Floats
from longhaul.orchestrator.analysis.thinning import thin
from longhaul.orchestrator.plan.run import Run
from longhaul.orchestrator.system.errors import NotFound, nearest
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import ColumnSource

POINTS = 2000

_Reader = TypeVar("_Reader")
_Named = TypeVar("_Named")


@dataclass(frozen=True, slots=True)
class Series(Generic[_Reader]):
    """A series' unit, description and reader."""

    unit: str
    about: str
    read: _Reader


FLOW_SERIES: dict[str, Series[FlowReader]] = {
    "cwnd": Series("packets", "congestion window as each ACK found it", at_acks("cwnd")),
    "ssthresh": Series("packets", "slow start threshold, from the first one on", at_acks("ssthresh", none=NO_SSTHRESH)),
    "rtt": Series("ms", "round trips that ACKs measured", round_trips),
    "srtt": Series("ms", "smoothed round trip", at_acks("srtt_us", a_unit=1000)),
    "inflight": Series("packets", "packets sent and neither acknowledged nor considered lost", at_acks("inflight")),
    "pacing": Series("bit/s", "rate of TCP's pacing", at_acks("pacing_Bps", a_unit=1 / 8, none=NO_PACING)),
    "snd_wnd": Series("bytes", "window that the receiver offers", at_acks("snd_wnd")),
    "state": Series("", "0 open, 1 disorder, 2 reducing its window (CWR), 3 recovery, 4 loss", at_acks("state")),
    "delivered": Series(
        "packets", "packets that reached the receiver so far, as TCP counts them", counted_at_acks("delivered")
    ),
    "retransmits": Series("packets", "segments sent again so far", counted_at_acks("retrans")),
    "lost": Series(
        "packets",
        "segments that TCP considered lost so far; in real time, those that it considers lost now",
        counted_at_acks("lost"),
    ),
    "goodput": Series(
        "bit/s", "bytes the receiver's application got, in bins of a round trip or more, and of 0.1 s or more", goodput
    ),
    "throughput": Series("bit/s", "frames that reached the receiver, in bins of 0.1 s or more", flow_throughput),
    "bytes": Series("bytes", "bytes the receiver's application got so far", received_bytes),
}

LINK_SERIES: dict[str, Series[LinkReader]] = {
    "queue": Series("packets", "packets that wait", at_ticks("queue_packets")),
    "queue_bytes": Series("bytes", "bytes that wait", at_ticks("queue_bytes")),
    "queue_delay": Series("ms", "bytes that wait / the bandwidth then", queue_delays),
    "throughput": Series("bit/s", "frames that left the queue, in bins of 0.1 s or more", link_throughput),
    "drops": Series("packets", "packets the queue dropped so far", at_ticks("drops")),
    "losses": Series("packets", "packets lost at random so far", at_ticks("losses")),
    "marks": Series("packets", "packets the queue marked so far", at_ticks("marks")),
}


@dataclass(frozen=True, slots=True)
class Timeline:
    """Seconds from the start of the experiment, and values, thinned from `of_values` values."""

    measure: str
    about: str
    unit: str
    t_s: Floats
    values: Floats
    of_values: int


def timeline(
    run: Run,
    source: ColumnSource,
    measure: str,
    *,
    flow: str | None = None,
    link: str | None = None,
    begin_s: float = 0.0,
    end_s: float | None = None,
    points: int = POINTS,
) -> Timeline:
    """A series of a part of a run: of a flow if one is named, else of a link, by default the first; NotFound."""
    whole_s = run.duration_us / 1e6
    # A span outside the run is empty, however far outside.
    begin_s, end_s = max(0.0, min(whole_s + 1, begin_s)), whole_s if end_s is None else max(0.0, min(whole_s, end_s))
    span = Span(begin_s, end_s, points)
    if flow is None and link is None and measure in FLOW_SERIES.keys() - LINK_SERIES.keys():
        known = ", ".join(one.name for one in run.flows)
        raise NotFound(
            "reading the series", measure, "it is a series of a flow, and no flow is named", f"known: {known}"
        )
    if flow is not None:
        of_flow = named_in(FLOW_SERIES, measure, "reading the series of a flow")
        sender = named_in({one.name: one for one in run.flows}, flow, "reading a series of flow")
        return _thinned(measure, flow, of_flow.unit, of_flow.read(run, source, sender, span), points)
    of_link = named_in(LINK_SERIES, measure, "reading the series of a link")
    link = run.links[0].name if link is None else link
    queue = named_in({one.name: one for one in run.links}, link, "reading a series of link")
    return _thinned(measure, link, of_link.unit, of_link.read(run, source, queue, span), points)


def named_in(table: Mapping[str, _Named], name: str, attempting: str) -> _Named:
    """The entry of this name; NotFound names the known ones."""
    try:
        return table[name]
    except KeyError:
        known = list(table)
        hint = f"known: {', '.join(known)}{nearest(name, known)}"
        raise NotFound(attempting, name, "no such name", hint) from None


def _thinned(measure: str, about: str, unit: str, raw: Raw, points: int) -> Timeline:
    kept = thin(raw.t, raw.values, points)
    t_s, values = (
        np.asarray(stored[kept] / of_one, dtype=np.float64)
        for stored, of_one in ((raw.t, raw.a_second), (raw.values, raw.a_unit))
    )
    return Timeline(measure, about, unit, t_s, values, len(raw.t))
