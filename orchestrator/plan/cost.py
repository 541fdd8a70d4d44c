"""The cost of a run before it starts: packets, processor time and memory, from the plan and the pace of this machine.

The constants are fits to 716 runs of one core of a 2-core x86-64 machine. `make bench` draws experiments and compares both estimates
with the runs (tests/bench/estimate_cases.py).
"""

from __future__ import annotations

from collections.abc import Sequence

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.traffic_estimate import Traffic, expected_traffic
from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS
from longhaul.orchestrator.system.pace import pace

# A guest's boot and end, its page table for each GB, a node, a connection of a flow, one of a web user.
_BOOT_US, _GB_US, _NODE_US, _CONNECTION_US, _TRANSFER_US = 20_500.0, 16_000.0, 2_000.0, 1_100.0, 285.0
# A packet that crosses a wire, and as much again as the second one where so many are on their way that caches do not hold them.
_CROSSING_US, _UNCACHED_US, _CACHED_PACKETS = 0.47, 0.3, 4_000.0
# A program that wakes up for a packet of UDP.
_WAKE_US = 40.0
_USUAL_NODES = 3
# Writing and measuring the run outside of its guest.
_KEEP_US = 20_000.0
# Time for Mininet to build a net in a guest; in real time its programs run at their own speed.
_NET_US = {"virtual": 3_000_000.0, "real": 6_000_000.0}
# Starting the two programs of a flow of iperf3.
_IPERF3_US = 150_000.0
# Slowdown of a debug kernel.
_DEBUG_FACTOR = 20.0
# Memory: a guest's own, of its page table, of a thousand packets, of a connection.
_OWN_MB, _GB_MB, _PACKETS_MB, _CONNECTION_MB = 11.5, 16.9, 1.5, 0.12


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


def guest_estimate_s(run: Run) -> float:
    """Processor time of the run's guest on the machine of the constants above."""
    return _guest_us(run, expected_traffic(run)) / 1e6


def memory_estimate_mb(run: Run) -> float:
    """Memory of this machine that the run's guest uses, at most `memory_mb` and its kernel's own."""
    traffic = expected_traffic(run)
    packets_mb = _PACKETS_MB * traffic.peak / 1000 * max(1.0, run.meaning.mtu / 3000)
    return _OWN_MB + _GB_MB * run.memory_mb / 1024 + packets_mb + _CONNECTION_MB * traffic.connections


def wall_estimate_s(run: Run) -> float:
    """Seconds of real time for one run on one core of this machine."""
    net_us = _NET_US[run.clock] if run.backend == "mininet" else 0.0
    if run.clock == "real":
        return (_BOOT_US + net_us + run.duration_us + _KEEP_US) / 1e6
    return pace() * (guest_estimate_s(run) + (net_us + _KEEP_US) / 1e6)


def _guest_us(run: Run, traffic: Traffic) -> float:
    programs = sum(flow.tool != "lh-flow" for flow in run.flows)
    set_up_us = _BOOT_US + _GB_US * run.memory_mb / 1024 + _NODE_US * max(0, len(run.nodes) - _USUAL_NODES)
    set_up_us += _CONNECTION_US * traffic.connections + _TRANSFER_US * traffic.transfers + _IPERF3_US * programs
    crossing_us = _CROSSING_US + _UNCACHED_US * min(1.0, traffic.peak / _CACHED_PACKETS)
    factor = _DEBUG_FACTOR if run.kernel in DEBUG_KERNELS else 1.0
    return factor * (set_up_us + crossing_us * traffic.crossings + _WAKE_US * traffic.wakes)


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
