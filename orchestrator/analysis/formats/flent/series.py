"""The values of flent's series on its grid of times: goodput, statistics of sockets, round trips, and what flent computes from them.

A value belongs to the step that ends at its time; None, where a flow is not active or nothing was measured.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import field

import numpy as np

from longhaul.orchestrator.analysis.fairness import jain
from longhaul.orchestrator.analysis.formats.exported_run import ExportedRun
from longhaul.orchestrator.analysis.raw_series import NO_PACING, Span, round_trips
from longhaul.orchestrator.analysis.series import Floats, counter
from longhaul.orchestrator.plan.run import Flow
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import EVENT_REQUEST, EVER

# Statistics of sockets by their names in flent: the field of an ACK, the share of it that is a unit, and its value without one.
_OF_SOCKETS = {
    "tcp_cwnd": ("cwnd", 1.0, 0),
    "tcp_rtt": ("srtt_us", 1000.0, 0),
    "tcp_pacing_rate": ("pacing_Bps", 125_000.0, NO_PACING),
}

Values = Sequence[float | None]


@dataclass(frozen=True, slots=True)
class Series:
    """One series: its unit, its mean over the whole test, its values, and those of the socket by name.

    `samples` are single ones with their times in seconds, where each step has what came in it.
    """

    unit: str
    mean: float | None
    values: Values
    of_socket: Mapping[str, Values] = field(default_factory=dict)
    samples: Sequence[tuple[float, float]] = ()


def transfer(exported: ExportedRun, flow: Flow, edges_s: Floats) -> Series:
    """What the receiver's application got, Mbit/s, and the state of the sender's socket."""
    run = exported.run
    received = counter(exported.source("flow", ["app_bytes"], flow.id, EVER), "app_bytes", run)
    start_s = flow.start_us / 1e6
    stop_s = start_s + exported.length_s(flow)
    is_active = (edges_s[1:] > start_s) & (edges_s[:-1] < stop_s)
    values = _where(received.rates(edges_s) * 8e-6, is_active)
    # What a complete transfer received counts at its end, which may be between two ticks.
    is_complete = exported.numbers_of(flow)["completion_s"] is not None
    whole = float(received.value[-1] if is_complete else received.at(stop_s))
    mean = whole * 8e-6 / (stop_s - start_s) if stop_s > start_s else None
    return Series("Mbits/s", mean, values, _of_socket(exported, flow, edges_s[1:], (edges_s[1:] <= stop_s)))


def _of_socket(exported: ExportedRun, flow: Flow, t_s: Floats, is_open: np.ndarray) -> dict[str, Values]:
    acks = exported.source("ack", [column for column, _, _ in _OF_SOCKETS.values()], flow.id, EVER)
    last = np.searchsorted(acks["t_ns"] / 1e9, t_s + 5e-10, side="right") - 1
    if not len(acks["t_ns"]):
        return {}
    found: dict[str, Values] = {}
    for name, (column, a_unit, none) in _OF_SOCKETS.items():
        stored = acks[column][np.maximum(last, 0)]
        values = _where(stored / a_unit, is_open & (last >= 0) & (stored != none))
        if any(value is not None for value in values):
            found[name] = values
    return found


def ping(exported: ExportedRun, flows: Sequence[Flow], edges_s: Floats) -> Series:
    """The mean round trip in each step, ms: of a flow's requests, which are single samples too, or that ACKs measured."""
    total, count = np.zeros(len(edges_s) - 1), np.zeros(len(edges_s) - 1)
    samples: list[tuple[float, float]] = []
    for flow in flows:
        t_s, times_ms = _request_times(exported, flow) if flow.requests is not None else _ack_times(exported, flow)
        total += np.histogram(t_s, edges_s, weights=times_ms)[0]
        count += np.histogram(t_s, edges_s)[0]
        if flow.requests is not None:
            samples += zip(t_s.tolist(), times_ms.tolist(), strict=True)
    mean = float(total.sum() / count.sum()) if count.any() else None
    return Series("ms", mean, _where(total / np.maximum(count, 1), count > 0), samples=samples)


def _request_times(exported: ExportedRun, flow: Flow) -> tuple[Floats, Floats]:
    """When each request was complete, and the time that it took, ms."""
    events = exported.source("event", ["what", "value"], flow.id, EVER)
    is_request = events["what"] == EVENT_REQUEST
    return events["t_ns"][is_request] / 1e9, events["value"][is_request] / 1e6


def _ack_times(exported: ExportedRun, flow: Flow) -> tuple[Floats, Floats]:
    raw = round_trips(exported.run, exported.source, flow, Span(0.0, exported.run.duration_us / 1e6, 0))
    return raw.t / raw.a_second, raw.values / raw.a_unit


def computed(what: str, of: Sequence[Series], steps: int) -> Series:
    """The sum, the mean or Jain's index of several series, over those that have a value."""
    rows = zip(*(one.values for one in of), strict=True) if of else [()] * steps
    units = [one.unit for one in of]
    unit = "Idx" if what == "fairness" else units[0] if units else "Mbits/s"
    return Series(unit, _compute(what, [one.mean for one in of]), [_compute(what, row) for row in rows])


def _compute(what: str, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    if what == "fairness":
        return jain(np.array(known)) if any(known) else None
    return math.fsum(known) / (len(known) if what == "avg" else 1)


def _where(values: Floats, chosen: np.ndarray) -> Values:
    return [value if one else None for value, one in zip(values.tolist(), chosen.tolist(), strict=True)]
