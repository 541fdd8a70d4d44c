"""Time series of a run, from records to evenly spaced values: the ground of every measure and every chart.

The probe writes a FLOW or LINK record at a tick only if something changed, so a missing record says "as before".
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from orchestrator.run import Flow, Link, Run
from orchestrator.trace import Records, Trace

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Counter:
    """A cumulative count, known at ticks; between two ticks it is taken to rise evenly."""

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
    """Records of one flow or link."""
    chosen: Records = records[records["id"] == flow]
    return chosen


def ticks_s(run: Run) -> Floats:
    """Every tick of the run, 0 and the end included."""
    step, end = run.trace.tick_us / 1e6, run.duration_us / 1e6
    inner = np.arange(0, end, step)
    return np.append(inner, end)


def held(records: Records, field: str, t_s: Floats) -> Floats:
    """A field's value at these times: the last record's, 0 before the first."""
    if not len(records):
        return np.zeros(len(t_s))
    # Half a nanosecond of grace, so that a record written at a tick counts at that tick.
    index = np.searchsorted(records["t_ns"] / 1e9, t_s + 5e-10, side="right") - 1
    values = records[field].astype(np.float64)
    return np.where(index >= 0, values[np.maximum(index, 0)], 0.0)


def counter(records: Records, field: str, run: Run) -> Counter:
    """A cumulative field over the whole run."""
    t_s = ticks_s(run)
    return Counter(t_s, held(records, field, t_s))


def app_bytes(run: Run, trace: Trace, flow: Flow) -> Counter:
    """What is in order at the receiver, there for its application."""
    return counter(of_flow(trace.flows, flow.id), "app_bytes", run)


def bins_s(begin_s: float, end_s: float, width_s: float) -> Floats:
    """Edges of whole bins inside a span."""
    count = int((end_s - begin_s) / width_s + 1e-9)
    edges: Floats = begin_s + np.arange(count + 1, dtype=np.float64) * width_s
    return edges


def measuring(acks: Records) -> tuple[Records, str]:
    """The ACKs that measured a round trip, and the field that has it: without SACK, Linux keeps the smoothed one alone."""
    field = "rtt_us" if (acks["rtt_us"] > 0).any() else "srtt_us"
    return acks[acks[field] > 0], field


def round_trips_ms(run: Run, trace: Trace, flow: Flow) -> Floats:
    """What the ACKs of the window measured."""
    begin_ns, end_ns = (edge_us * 1000 for edge_us in run.window_us)
    acks = of_flow(trace.acks, flow.id)
    measured, field = measuring(acks[(acks["t_ns"] >= begin_ns) & (acks["t_ns"] <= end_ns)])
    return np.asarray(measured[field] / 1000)


def queue_delays_ms(run: Run, trace: Trace, link: Link, begin_s: float, end_s: float) -> Floats:
    """What waits in a queue / the bandwidth then, at the ticks of a part of the run."""
    t_s = ticks_s(run)
    inside = t_s[(t_s >= begin_s) & (t_s <= end_s)]
    rates = run.link_rates(link)
    begins_s = np.array([begin_us for begin_us, _, _ in rates]) / 1e6
    bps = np.array([bps for _, _, bps in rates], dtype=np.float64)
    at_ticks = bps[np.searchsorted(begins_s, inside, side="right") - 1]
    return np.asarray(held(of_flow(trace.links, link.id), "queue_bytes", inside) * 8000 / at_ticks)
