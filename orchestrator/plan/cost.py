"""The cost of a run before it starts: packets and wall time, from the plan alone."""

from __future__ import annotations

from collections.abc import Sequence

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS

# Measured on one core of a 2-core x86-64 machine: a data packet with its share of an acknowledgement, and a guest's boot.
_WALL_US_PER_PACKET = 3.0
_WALL_US_PER_GUEST = 150_000.0
# Time for Mininet to build a net in a guest; in real time its programs run at their own speed.
_WALL_US_PER_NET = {"virtual": 3_000_000.0, "real": 6_000_000.0}
# Starting the two programs of a flow of iperf3.
_WALL_US_PER_IPERF3 = 100_000.0
# Slowdown of a debug kernel.
_DEBUG_FACTOR = 20.0


def packets_per_second(run: Run) -> float:
    """Full frames a second at the bottleneck's first rate."""
    return run.meaning.bandwidth_bps / (8 * run.meaning.frame_bytes)


def data_packets(run: Run) -> int:
    """The most data packets that cross the bottleneck: its rate while any flow is active, or all that flows send."""
    headers_bytes = run.meaning.frame_bytes - run.meaning.mtu
    capacity = sum(
        bps * _active_us(run.flows, begin_us, end_us, run.duration_us) / (8_000_000 * (run.least_mtu + headers_bytes))
        for begin_us, end_us, bps in run.bottleneck_rates()
    )
    wanted = sum(_wanted(run, flow) for flow in run.flows)
    return round(min(capacity, wanted))


def wall_estimate_s(run: Run) -> float:
    """Seconds of real time for one run on one core."""
    factor = _DEBUG_FACTOR if run.kernel in DEBUG_KERNELS else 1.0
    programs = sum(flow.tool != "lh-flow" for flow in run.flows)
    net_us = _WALL_US_PER_NET[run.clock] if run.backend == "mininet" else 0.0
    begin_us = _WALL_US_PER_GUEST + _WALL_US_PER_IPERF3 * programs + net_us
    work_us = run.duration_us if run.clock == "real" else _WALL_US_PER_PACKET * data_packets(run)
    return factor * (begin_us + work_us) / 1e6


def _active_us(flows: Sequence[Flow], begin_us: int, end_us: int, duration_us: int) -> int:
    """How long in [begin, end) at least one flow may send."""
    total, reached = 0, begin_us
    for flow in sorted(flows, key=lambda flow: flow.start_us):
        first = max(reached, flow.start_us)
        last = min(end_us, duration_us if flow.stop_us is None else flow.stop_us)
        if last > first:
            total += last - first
            reached = last
    return total


def _wanted(run: Run, flow: Flow) -> float:
    stop_us = run.duration_us if flow.stop_us is None else flow.stop_us
    time_us = stop_us - flow.start_us
    if flow.kind == "udp":
        share = 1.0 if flow.on_off is None else flow.on_off.on_us / (flow.on_off.on_us + flow.on_off.off_us)
        return share * flow.rate_bps * time_us / (8_000_000 * run.meaning.frame_bytes)
    if flow.bytes is not None:
        return flow.bytes / (run.least_mtu - run.meaning.mtu + run.meaning.mss_bytes)
    if flow.options.window_clamp_bytes and run.meaning.rtt_us:
        return flow.options.window_clamp_bytes / run.meaning.mss_bytes * time_us / run.meaning.rtt_us
    return float("inf")
