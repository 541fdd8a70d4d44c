"""Time series of a run, from records to evenly spaced values: the basis of every measure and chart.

The probe writes a FLOW or LINK record at a tick only if something changed, so a missing record means "unchanged".
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.plan.run import Flow, Link, Run
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import Columns, Records, Trace

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Counter:
    """A cumulative count, known at ticks; between two ticks it is assumed to rise evenly."""

    t_s: Floats
    value: Floats

    def at(self, t_s: Floats | float) -> Floats:
        """The count at these times."""
        return np.asarray(np.interp(t_s, self.t_s, self.value), dtype=np.float64)

    def rate(self, begin_s: float, end_s: float) -> float:
        """Mean rise a second over a span."""
        if end_s <= begin_s:
            return 0.0
        first, last = self.at(np.array([begin_s, end_s]))
        return float((last - first) / (end_s - begin_s))

    def rates(self, edges_s: Floats) -> Floats:
        """Mean rise a second between consecutive edges."""
        rates: Floats = np.diff(self.at(edges_s)) / np.diff(edges_s)
        return rates


def of_flow(records: Records, flow: int) -> Records:
    """Records of one flow or link; they are not copied if there are no others."""
    its = records["id"] == flow
    chosen: Records = records if its.all() else records[its]
    return chosen


def ticks_s(run: Run) -> Floats:
    """Every tick of the run, 0 and the end included."""
    step, end = run.trace.tick_us / 1e6, run.duration_us / 1e6
    inner = np.arange(0, end, step)
    return np.append(inner, end)


def ticks_within_s(run: Run, begin_s: float, end_s: float) -> Floats:
    """The ticks of a part of the run."""
    t_s = ticks_s(run)
    return t_s[(t_s >= begin_s) & (t_s <= end_s)]


def held(records: Records | Columns, field: str, t_s: Floats) -> Floats:
    """A field's value at these times: that of the last record, 0 before the first."""
    if not len(records["t_ns"]):
        return np.zeros(len(t_s))
    # Half a nanosecond of tolerance, so that a record written at a tick counts at that tick.
    index = np.searchsorted(records["t_ns"] / 1e9, t_s + 5e-10, side="right") - 1
    values = records[field].astype(np.float64)
    return np.where(index >= 0, values[np.maximum(index, 0)], 0.0)


def counter(records: Records | Columns, field: str, run: Run) -> Counter:
    """A cumulative field over the whole run."""
    t_s = ticks_s(run)
    return Counter(t_s, held(records, field, t_s))


def app_bytes(run: Run, trace: Trace, flow: Flow) -> Counter:
    """Bytes in order at the receiver, available to its application."""
    return counter(of_flow(trace.flows, flow.id), "app_bytes", run)


def bins_s(begin_s: float, end_s: float, width_s: float) -> Floats:
    """Edges of whole bins inside a span."""
    count = int((end_s - begin_s) / width_s + 1e-9)
    edges: Floats = begin_s + np.arange(count + 1, dtype=np.float64) * width_s
    return edges


def measuring(acks: Records) -> tuple[Records, str]:
    """The ACKs that measured a round trip, and its field."""
    field = rtt_field(acks["rtt_us"])
    return acks[acks[field] > 0], field


def rtt_field(rtt_us: NDArray[np.integer[Any]]) -> str:
    """Which field of a flow's ACKs has their round trips: without SACK, Linux keeps only the smoothed one."""
    return "rtt_us" if (rtt_us > 0).any() else "srtt_us"


def rises(values: NDArray[np.integer[Any]]) -> NDArray[np.int64]:
    """The rise of a connection's counter from each value to the next; a web user's connections follow one another, so a fall is a new connection."""
    return np.maximum(np.diff(values.astype(np.int64)), 0)


def frame_bytes(run: Run, packets: Floats | float, payload_bytes: Floats | float) -> Floats:
    """The mean frame size of these packets and payload: a full frame, unless a schedule changes its size."""
    full = run.meaning.frame_bytes
    if run.least_mtu == run.meaning.mtu:
        return np.full(np.shape(packets), float(full))
    mean = full - run.meaning.mss_bytes + payload_bytes / np.maximum(packets, 1)
    return np.where(np.asarray(packets) > 0, mean, float(full))


def round_trips_ms(run: Run, trace: Trace, flow: Flow) -> Floats:
    """The round trips that the ACKs of the window measured."""
    begin_ns, end_ns = (edge_us * 1000 for edge_us in run.window_us)
    acks = of_flow(trace.acks, flow.id)
    measured, field = measuring(acks[(acks["t_ns"] >= begin_ns) & (acks["t_ns"] <= end_ns)])
    return np.asarray(measured[field] / 1000)


def queue_delays_ms(run: Run, trace: Trace, link: Link, begin_s: float, end_s: float) -> Floats:
    """Bytes in a queue / the bandwidth then, at the ticks of a part of the run."""
    return delays_ms(run, of_flow(trace.links, link.id), link, ticks_within_s(run, begin_s, end_s))


def delays_ms(run: Run, records: Records | Columns, link: Link, t_s: Floats) -> Floats:
    """Bytes in a link's queue / the bandwidth then, at these times; none of a link without a known rate."""
    waiting = held(records, "queue_bytes", t_s)
    if link.offered_bytes:
        return _recorded_delays_ms(run, link, waiting, t_s)
    rates = run.link_rates(link)
    if not all(bps for _, _, bps in rates):
        return np.zeros(0)
    begins_s = np.array([begin_us for begin_us, _, _ in rates]) / 1e6
    bps = np.array([bps for _, _, bps in rates], dtype=np.float64)
    at_times = bps[np.searchsorted(begins_s, t_s, side="right") - 1]
    return np.asarray(waiting * 8000 / at_times)


def _recorded_delays_ms(run: Run, link: Link, waiting: Floats, t_s: Floats) -> Floats:
    """Until the recording has carried what waits; past the end of the run, at the recording's mean rate."""
    edges_s = np.append(np.arange(len(link.offered_bytes)) * link.offered_every_us, run.duration_us) / 1e6
    carried = np.append(0.0, np.cumsum(link.offered_bytes))
    goal = np.interp(t_s, edges_s, carried) + waiting
    # Of instants with the same sum, the first one.
    rising = np.append(True, np.diff(carried) > 0)
    end_s = np.interp(goal, carried[rising], edges_s[rising])
    beyond = np.maximum(goal - carried[-1], 0) * 8 / link.rate_bps
    return np.asarray(np.where(waiting > 0, np.maximum(end_s + beyond - t_s, 0), 0) * 1000)
