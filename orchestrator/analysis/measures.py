"""The measures: one formula each, the same everywhere.

A flow is measured over the part of the run's window in which it was active; the path over the whole window. A measure
without a meaning for a run (a completion time of a flow without a size) is null; so is one that a run in real time, whose
trace is sampled, cannot determine: which flow a dropped packet belonged to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.cwnd import backoff, peak_s, regrowth_s, window_packets
from longhaul.orchestrator.analysis.dual_queue import dual_links, measure_queues
from longhaul.orchestrator.analysis.fairness import convergence_s, jain_index, recovery_ratio
from longhaul.orchestrator.analysis.programs import delivered_packets, lost_packets, shared_ports
from longhaul.orchestrator.analysis.series import (
    Floats,
    app_bytes,
    bins_s,
    counter,
    frame_bytes,
    held,
    measuring,
    of_flow,
    queue_delays_ms,
    rises,
    ticks_within_s,
)
from longhaul.orchestrator.analysis.traffic.requests import request_numbers, round_numbers
from longhaul.orchestrator.analysis.traffic.totals import totals
from longhaul.orchestrator.analysis.unqueued_drops import acks_filtered, all_drops, measure_policers
from longhaul.orchestrator.plan.run import Flow, Link, Run
from longhaul.orchestrator.plan.run_document import (
    CompletionTimes,
    FlowNumbers,
    PartNumbers,
    PathNumbers,
    Percentiles,
    RoundTrips,
    RunNumbers,
)
from longhaul.orchestrator.spec.model import PROGRAM
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.trace.records import DROP_QUEUE, Records, Trace

# Values read back from the run or from one of its flows (facts.json).
Facts = dict[str, Any]

# The percentiles of a document's Percentiles.
_PERCENTILES = (50, 95, 99)


@dataclass(frozen=True, slots=True)
class Span:
    """Seconds from the start of the experiment."""

    begin_s: float
    end_s: float

    @property
    def length_s(self) -> float:
        return max(0.0, self.end_s - self.begin_s)

    def of(self, records: Records) -> Records:
        """The records inside."""
        t_ns = records["t_ns"]
        return records[(t_ns >= self.begin_s * 1e9) & (t_ns <= self.end_s * 1e9)]


def summarise(run: Run, trace: Trace, facts: Facts) -> RunNumbers:
    """The numbers of a run's document: flows, path, and the measures between flows."""
    fact_of = {fact["id"]: fact for fact in facts["flows"]}
    window = Span(run.window_us[0] / 1e6, run.window_us[1] / 1e6)
    whole = _measured(run, trace, fact_of, window)
    alone = [flow for flow in run.flows if flow.bytes and flow.group is None]
    times_s = [whole["flows"][flow.id]["completion_s"] for flow in alone]
    sized = {flow.group.name for flow in run.flows if flow.bytes and flow.group is not None}
    times_s += [total["completion_s"] for total in whole.get("totals", ()) if total["name"] in sized]
    filtered = acks_filtered(run, facts)
    numbers: RunNumbers = {
        **whole,
        "acks_filtered": filtered or 0,
        "convergence_s": convergence_s(run, trace),
        "recovery_ratio": recovery_ratio(run, trace, window.begin_s, window.end_s),
        **_completion(times_s),
        "phases": {
            phase.name: _measured(run, trace, fact_of, Span(phase.begin_us / 1e6, phase.end_us / 1e6))
            for phase in run.phases
        },
    }
    if not run.phases:
        del numbers["phases"]
    if filtered is None:
        del numbers["acks_filtered"]
    return numbers


def _measured(run: Run, trace: Trace, fact_of: Mapping[int, Facts], window: Span) -> PartNumbers:
    """The measures of a part of the run."""
    shared = shared_ports(fact_of)
    flows = [_flow(run, flow, trace, fact_of[flow.id], window, shared) for flow in run.flows]
    total = sum(flow["goodput_bps"] for flow in flows)
    for flow in flows:
        flow["share"] = flow["goodput_bps"] / total if total else None
    links = [_link(run, trace, link, window) for link in run.links]
    numbers: PartNumbers = {
        "from_s": window.begin_s,
        "to_s": window.end_s,
        "flows": flows,
        "path": links[0],
        "links": [{"name": link.name, **measured} for link, measured in zip(run.links, links, strict=True)],
        "jain": jain_index(run, trace, window.begin_s, window.end_s),
        "goodput_total": _goodput_total(run, flows, fact_of, window),
    }
    if found := list(totals(run, trace, fact_of, dict(enumerate(flows)), (window.begin_s, window.end_s))):
        numbers["totals"] = found
    if run.policers:
        policers = measure_policers(run, window.of(trace.decisions))
        numbers |= {"policed": sum(policer["policed"] for policer in policers), "policers": policers}
    return numbers


def _goodput_total(run: Run, measured: Sequence[FlowNumbers], fact_of: Mapping[int, Facts], window: Span) -> float:
    """Rates of flows that were active at different times do not add up; their bytes do."""
    carried = sum(
        one["goodput_bps"] * active(flow, fact_of[flow.id], window).length_s
        for flow, one in zip(run.flows, measured, strict=True)
    )
    return float(carried / window.length_s) if window.length_s else 0.0


def active(flow: Flow, fact: Facts, window: Span) -> Span:
    """The part of the window in which the flow had data to send."""
    end_us = fact["completed_us"] if fact["completed_us"] is not None else flow.stop_us
    end_s = window.end_s if end_us is None else min(window.end_s, end_us / 1e6)
    return Span(max(window.begin_s, flow.start_us / 1e6), end_s)


def _flow(
    run: Run, flow: Flow, trace: Trace, fact: Facts, window: Span, shared: frozenset[tuple[int, int]]
) -> FlowNumbers:
    span = active(flow, fact, window)
    got = app_bytes(run, trace, flow)
    acks = span.of(of_flow(trace.acks, flow.id))
    goodput_bps = got.rate(span.begin_s, span.end_s) * 8
    per_second = got.rates(bins_s(span.begin_s, span.end_s, 1.0)) * 8
    delivered = (
        delivered_packets(fact, got, span.begin_s, span.end_s)
        if flow.kind == PROGRAM
        else _delivered(run, flow, trace, acks, span)
    )
    frame = float(frame_bytes(run, _risen(acks, "delivered"), _risen(acks, "acked_bytes")))
    # A trace with less than one record a round trip does not have the window at a loss.
    every_round_trip = run.trace.ack_us <= run.meaning.rtt_us
    drops = _data_drops(run, flow, fact, span.of(all_drops(trace)), shared)
    pdr = None if drops is None else delivered / (delivered + drops) if delivered + drops else 1.0
    numbers: FlowNumbers = {
        "name": flow.name,
        "kind": flow.kind,
        "cc": flow.cc,
        "variant": flow.variant,
        "start_s": flow.start_us / 1e6,
        "stop_s": None if flow.stop_us is None else flow.stop_us / 1e6,
        # For a web user and programs, the first connection; null: no reply ever arrived.
        "connected_s": None if fact["connected_us"] is None else fact["connected_us"] / 1e6,
        "goodput_bps": goodput_bps,
        "throughput_bps": delivered * frame * 8 / span.length_s if span.length_s else 0.0,
        "goodput_cv": float(per_second.std() / per_second.mean())
        if len(per_second) > 1 and per_second.mean() > 0
        else None,
        "stability_sd_bps": float(per_second.std()) if len(per_second) > 1 else None,
        "rtt_ms": _rtt_ms(acks),
        "cwnd_packets": window_packets(acks),
        "cwnd_peak_s": peak_s(acks, flow.start_us / 1e6),
        "backoff": backoff(acks) if every_round_trip else None,
        "regrowth_s": regrowth_s(acks) if every_round_trip else None,
        "retransmits": fact["retransmits"]
        if flow.kind == PROGRAM and _covers(run, flow, fact, window)
        else _risen(acks, "retrans"),
        "loss_ratio": None if pdr is None else 1.0 - pdr,
        "pdr": pdr,
        "tpp": None if pdr is None else goodput_bps / 1e6 * pdr,
        "bytes": int(fact["bytes_received"]),
        "completion_s": None
        if fact["completed_us"] is None or (flow.bytes is None and flow.program is None and flow.requests is None)
        else (fact["completed_us"] - flow.start_us) / 1e6,
        "rate_error": _rate_error(run, flow, goodput_bps, span),
        # Known when every flow is.
        "share": None,
    }
    if flow.requests is not None:
        numbers["requests"] = request_numbers(trace, [flow.id], (window.begin_s, window.end_s))
        if flow.requests.barrier and flow.group is None:
            numbers["rounds"] = round_numbers(trace, [flow.id], (window.begin_s, window.end_s))
    return numbers


def _completion(times_s: Sequence[float | None]) -> CompletionTimes:
    """Incomplete transfers are the slowest; the others alone would look fast: then there is no value."""
    complete = [time_s for time_s in times_s if time_s is not None]
    if not complete or len(complete) < len(times_s):
        return {"fct_mean": None, "fct_p50": None, "fct_p95": None, "fct_p99": None, "fct_max": None}
    found = _percentiles(np.array(complete))
    return {
        "fct_mean": float(np.mean(complete)),
        "fct_p50": found["p50"],
        "fct_p95": found["p95"],
        "fct_p99": found["p99"],
        "fct_max": max(complete),
    }


def _delivered(run: Run, flow: Flow, trace: Trace, acks: Records, span: Span) -> float:
    """Packets that reached the receiver: TCP reports it itself, UDP receivers count."""
    if flow.kind == "udp":
        return counter(of_flow(trace.flows, flow.id), "packets", run).rate(span.begin_s, span.end_s) * span.length_s
    return float(_risen(acks, "delivered"))


def _data_drops(run: Run, flow: Flow, fact: Facts, drops: Records, shared: frozenset[tuple[int, int]]) -> int | None:
    """Those of these drops that are packets of the flow's data; None if that is not known."""
    if run.clock == "real":
        return None
    if flow.kind == PROGRAM:
        return lost_packets(fact, drops, shared)
    # A client of requests connects to the flow's sender.
    ours = drops["source_port" if flow.requests is not None else "destination_port"] == flow.port
    if flow.client_port:
        # iperf3's control connection passes there too.
        ours &= drops["source_port"] == flow.client_port
    return int(np.count_nonzero(ours))


def _covers(run: Run, flow: Flow, fact: Facts, window: Span) -> bool:
    """Whether all that a flow has sent is in a part of the run."""
    stop_us = fact["stopped_us"] if fact["stopped_us"] is not None else run.duration_us
    return window.begin_s * 1e6 <= flow.start_us and stop_us <= window.end_s * 1e6


def _risen(acks: Records, field: str) -> int:
    """The rise of a counter, over all connections."""
    return int(rises(acks[field]).sum())


def _rate_error(run: Run, flow: Flow, goodput_bps: float, span: Span) -> float | None:
    rates: Rates = run.pacing_rates(flow)
    if flow.kind == "udp" and flow.on_off is None:
        # The requested rate counts frames, goodput counts payload.
        rates = [(0, run.duration_us, flow.rate_bps * flow.payload_bytes // run.meaning.frame_bytes)]
    if not all(bps for _, _, bps in _within(rates, span)):
        return None
    asked = _mean_bps(rates, span)
    return abs(goodput_bps - asked) / asked


def _rtt_ms(acks: Records) -> RoundTrips | None:
    measured, field = measuring(acks)
    rtt_us = measured[field]
    if not len(rtt_us):
        return None
    return {"min": float(rtt_us.min() / 1000), "mean": float(rtt_us.mean() / 1000), **_percentiles(rtt_us, 1000)}


def _percentiles(values: Floats, divisor: float = 1.0) -> Percentiles:
    """The percentiles; 0 without values."""
    found = percentiles(values, _PERCENTILES) / divisor if len(values) else np.zeros(len(_PERCENTILES))
    p50, p95, p99 = map(float, found)
    return {"p50": p50, "p95": p95, "p99": p99}


def percentiles(values: Floats, percents: Sequence[float]) -> Floats:
    """The numbers of np.percentile, which loads numpy.ma: a third of the time in which numpy loads."""
    places = (len(values) - 1) * (np.array(percents) / 100)
    below = places.astype(np.int64)
    above = np.minimum(below + 1, len(values) - 1)
    parted = np.partition(values, np.concatenate((below, above)))
    low, high, share = parted[below].astype(np.float64), parted[above].astype(np.float64), places - below
    return np.where(share < 0.5, low + (high - low) * share, high - (high - low) * (1 - share))


def _link(run: Run, trace: Trace, link: Link, window: Span) -> PathNumbers:
    records = of_flow(trace.links, link.id)
    sent = counter(records, "tx_bytes", run)
    throughput_bps = sent.rate(window.begin_s, window.end_s) * 8
    rates = run.link_rates(link)
    # Scripts have links without a known rate.
    capacity_bps = _mean_bps(rates, window) if link.offered_bytes or all(bps for _, _, bps in rates) else None
    delays_ms = queue_delays_ms(run, trace, link, window.begin_s, window.end_s) if capacity_bps else np.zeros(0)
    queue_bytes = counter(records, "queue_byte_ns", run).rate(window.begin_s, window.end_s) / 1e9
    at_ticks = held(records, "queue_packets", ticks_within_s(run, window.begin_s, window.end_s))
    within = window.of(records)
    dropped, lost = _drops(run, trace, link, window)
    numbers: PathNumbers = {
        "throughput_bps": throughput_bps,
        "utilisation": throughput_bps / capacity_bps if capacity_bps else None,
        "efficiency": sent.rate(0, run.duration_us / 1e6) * 8 / link.rate_bps if capacity_bps else None,
        "drops": dropped,
        "losses": lost,
        "marks": int(counter(records, "marks", run).rate(window.begin_s, window.end_s) * window.length_s + 0.5),
        "queue_packets": {
            # Hosts of scripts send trains of segments as one packet.
            "mean": queue_bytes / run.meaning.frame_bytes
            if run.script is None
            else float(at_ticks.mean())
            if len(at_ticks)
            else 0.0,
            "p95": float(percentiles(at_ticks, [95])[0]) if len(at_ticks) else 0.0,
            "max": int(within["queue_max_packets"].max()) if len(within) else 0,
        },
        "queue_delay_ms": _mean_delay_ms(link, queue_bytes, capacity_bps, delays_ms) if capacity_bps else None,
        "queue_delay_percentiles_ms": _percentiles(delays_ms) if capacity_bps else None,
    }
    if link.id in dual_links(run):
        numbers["dual"] = measure_queues(trace, link.id, window.begin_s, window.end_s)
    return numbers


def _mean_delay_ms(link: Link, queue_bytes: float, capacity_bps: float, delays_ms: Floats) -> float:
    """Of the mean queue at the mean rate; a recorded rate changes too much for that, so of the ticks."""
    if link.offered_bytes:
        return float(delays_ms.mean()) if len(delays_ms) else 0.0
    return queue_bytes * 8000 / capacity_bps


def _drops(run: Run, trace: Trace, link: Link, window: Span) -> tuple[int, int]:
    """Packets that a link's queue dropped and that chance took; in real time, as the queue counts them."""
    if run.clock == "real":
        counters = [counter(of_flow(trace.links, link.id), name, run) for name in ("drops", "losses")]
        dropped, lost = (one.rate(window.begin_s, window.end_s) * window.length_s for one in counters)
        return round(dropped), round(lost)
    drops = window.of(of_flow(trace.drops, link.id))
    dropped = int(np.count_nonzero(drops["state"] == DROP_QUEUE))
    return dropped, len(drops) - dropped


# (from, to, bit/s), in microseconds.
Rates = Sequence[tuple[float, float, int]]


def _within(rates: Rates, window: Span) -> Rates:
    """The parts of a window, each with its rate; of an empty window, the first rate."""
    begin_us, end_us = window.begin_s * 1e6, window.end_s * 1e6
    parts = [(max(begin, begin_us), min(end, end_us), bps) for begin, end, bps in rates]
    return [part for part in parts if part[0] < part[1]] or [(0, 1, rates[0][2])]


def _mean_bps(rates: Rates, window: Span) -> float:
    """A rate that the schedule may change, averaged over the window."""
    parts = _within(rates, window)
    return sum((end - begin) * bps for begin, end, bps in parts) / sum(end - begin for begin, end, _ in parts)
