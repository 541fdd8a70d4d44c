"""The cost of a run before it starts: packets, processor time and memory, from the plan and the pace of this machine.

The constants are fits to 200 drawn experiments on one core of a 2-core x86-64 machine, by the packets that really crossed a wire. `make bench`
draws others and compares both estimates with the runs (tests/bench/estimate_cases.py).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.traffic.estimate import Traffic, expected_traffic
from longhaul.orchestrator.spec.kernel_versions import DEBUG_KERNELS
from longhaul.orchestrator.system.pace import pace

# A guest's boot and end, its page table for each GB, a node, a connection of a flow, a web user, one fetch.
_BOOT_US, _GB_US, _NODE_US, _CONNECTION_US, _USER_US, _FETCH_US = 16_000.0, 9_000.0, 1_100.0, 670.0, 650.0, 140.0
# A packet that crosses a wire; a MB that the guest uses for the first time, which this machine has to find.
_CROSSING_US, _USED_MB_US = 0.42, 680.0
# A sender of UDP that wakes up for what is due, and a receiver that looks.
_SEND_US, _LOOK_US = 25.0, 31.0
_USUAL_NODES = 3
# Writing and measuring the run outside of its guest.
_KEEP_US = 20_000.0
# Time for Mininet to build a net in a guest; in real time its programs run at their own speed.
_NET_US = {"virtual": 3_000_000.0, "real": 6_000_000.0}
# Starting the two programs of a flow of iperf3; a second in which the client waits for answers, four round trips, as it looks at the
# clock all the time (agent/traffic/iperf3_client.c).
# Two programs of a flow with a command: their worlds, and the start of an interpreter; a packet that curl reads. What other programs do is
# not known: iperf needs a tenth of that, and curl with ten connections ten times as much.
_PROGRAMS_US, _PROGRAM_PACKET_US = 400_000.0, 200.0
_IPERF3_US, _IPERF3_WAIT_US, _IPERF3_ROUNDS = 90_000.0, 300_000.0, 4
# How much faster a run is in several guests at once (docs/benchmarks.md).
_PARTS_FASTER = 1.6
# Slowdown of a debug kernel.
_DEBUG_FACTOR = 20.0
# Memory: a guest's own, of its page table, of a thousand packets of TCP, whose data is shared, and of UDP, of a connection, of iperf3.
_OWN_MB, _GB_MB, _PACKETS_MB, _UDP_PACKETS_MB, _CONNECTION_MB, _IPERF3_MB = 12.7, 16.9, 1.5, 2.7, 0.075, 10.0


def packets_per_second(run: Run) -> float:
    """Full frames a second at the bottleneck's first rate."""
    return run.meaning.bandwidth_bps / (8 * run.meaning.frame_bytes)


def data_packets(run: Run) -> int:
    """The most data packets that cross the bottleneck: its rate while any flow is active, or all that flows send."""
    headers_bytes = run.meaning.frame_bytes - run.meaning.mtu
    capacity = sum(
        bps * _active_us(run.flows, begin_us, end_us, run.duration_us) / (8_000_000 * (run.least_mtu + headers_bytes))
        for begin_us, end_us, bps in run.link_rates(run.links[0])
    )
    wanted = sum(_wanted(run, flow) for flow in run.flows)
    return round(min(capacity, wanted))


def guest_estimate_s(run: Run) -> float:
    """Processor time of the run's guest on the machine of the constants above."""
    return _guest_us(run, expected_traffic(run)) / 1e6


def memory_estimate_mb(run: Run) -> float:
    """Memory of this machine that the run's guest uses, at most `memory_mb` and its kernel's own."""
    return _OWN_MB + _GB_MB * run.memory_mb / 1024 + _used_mb(run, expected_traffic(run))


def _used_mb(run: Run, traffic: Traffic) -> float:
    large = max(1.0, run.meaning.mtu / 3000)
    programs_mb = _IPERF3_MB * any(flow.tool != "lh-flow" for flow in run.flows)
    packets_mb = (_PACKETS_MB * traffic.peak + _UDP_PACKETS_MB * traffic.udp_peak) / 1000 * large
    return packets_mb + _CONNECTION_MB * (traffic.connections + traffic.users) + programs_mb


def wall_estimate_s(run: Run) -> float:
    """Seconds of real time for one run on one core of this machine."""
    if run.clock == "real":
        return (_BOOT_US + _net_us(run) + run.duration_us + _KEEP_US) / 1e6
    return pace() * reference_estimate_s(run)


def reference_estimate_s(run: Run) -> float:
    """Seconds for one run in virtual time on the machine of the constants above."""
    guests_s = guest_estimate_s(run) / (1.0 if run.parts is None else _PARTS_FASTER)
    return guests_s + (_net_us(run) + _KEEP_US) / 1e6


def _net_us(run: Run) -> float:
    return _NET_US[run.clock] if run.backend == "mininet" else 0.0


def _guest_us(run: Run, traffic: Traffic) -> float:
    set_up_us = _BOOT_US + _GB_US * run.memory_mb / 1024 + _NODE_US * max(0, len(run.nodes) - _USUAL_NODES)
    set_up_us += _CONNECTION_US * traffic.connections + _USER_US * traffic.users + _FETCH_US * traffic.fetches
    set_up_us += sum(_iperf3_us(run, flow) for flow in run.flows if flow.tool != "lh-flow")
    set_up_us += sum(_PROGRAMS_US for flow in run.flows if flow.program is not None)
    set_up_us += sum(_PROGRAM_PACKET_US * traffic.of_flows[flow.id] for flow in run.flows if flow.kind == "program")
    factor = _DEBUG_FACTOR if run.kernel in DEBUG_KERNELS else 1.0
    wakes_us = _SEND_US * traffic.sends + _LOOK_US * traffic.looks
    moved_us = _CROSSING_US * traffic.crossings + _USED_MB_US * _used_mb(run, traffic)
    return factor * (set_up_us + moved_us + wakes_us)


def _iperf3_us(run: Run, flow: Flow) -> float:
    waits_us = min(_IPERF3_ROUNDS * run.meaning.rtt_us, max(0, run.duration_us - flow.start_us))
    return _IPERF3_US + _IPERF3_WAIT_US * waits_us / 1e6


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
    if flow.requests is not None:
        packets = math.ceil(flow.requests.response_bytes / run.meaning.mss_bytes)
        return float("inf") if flow.requests.count is None else flow.requests.count * packets
    if flow.kind == "udp":
        share = 1.0 if flow.on_off is None else flow.on_off.on_us / (flow.on_off.on_us + flow.on_off.off_us)
        return share * flow.rate_bps * time_us / (8_000_000 * run.meaning.frame_bytes)
    if flow.share_bytes is not None:
        return flow.share_bytes / (run.least_mtu - run.meaning.mtu + run.meaning.mss_bytes)
    if flow.options.window_clamp_bytes and run.meaning.rtt_us:
        return flow.options.window_clamp_bytes / run.meaning.mss_bytes * time_us / run.meaning.rtt_us
    return float("inf")
