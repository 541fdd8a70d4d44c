"""Rules for the run of any experiment: each broken rule is reported in one sentence with its numbers.

    window    never 0, never more than several times the capacity of the path and its queue
    data      in order, complete, no more than was sent
    life      a flow with data to send delivers again once the path lets it: TCP doubles its timer at every loss, so a silence
              may last as long again as the time before it, and no longer
    the lab   its promises for every run: the trace is complete, settings are as planned, no packet appears or vanishes

The other fidelity checks decide whether a run's numbers can be believed; those of an odd experiment may fail.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from longhaul.orchestrator.analysis.fidelity.checks import check_fidelity
from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.qdiscs import DELAYS
from longhaul.orchestrator.plan.run import Flow, Qdisc, Run
from longhaul.orchestrator.trace.records import Records, Trace
from tests.fuzz.lab import Finished

_PROMISED = ("trace complete", "sysctls", "no frame above the MTU", "conservation")

_LEAST_SSTHRESH = 2
_LARGEST_STATE = 4  # TCP_CA_Loss

# Slow start sends twice the capacity before it learns of a loss, and an undone reduction restores that window.
_PIPES = 4
_ROOM_PACKETS = 100

# The longest silence that TCP itself causes: the time without an ACK once more, plus the retransmission timer from measured round
# trips; a longer round trip adds to the timer nine times what it adds to the smoothed round trip, and that fades slowly.
_AGAIN = 2.5
_SILENCE_NS = 8_000_000_000
_SILENT_ROUND_TRIPS = 12
_TAUGHT_BY_ACKS = 200
_TAUGHT_BY_WINDOWS = 2
_HANDSHAKES = 4
_PACED_PACKETS = 4

# Controls that multiply a rate by a round trip, and the longest round trip that they use.
_BY_ROUND_TRIP = {"apptcp", "ccp", "ccpd"}
_LONGEST_RTT_US = 16_000_000
_LARGEST_RATE_BPS = 400 * 10**9
_SMALLEST_MSS_BYTES = 500
_NEVER_2P32 = 2**32 * 0.99


def violations(done: Finished) -> Iterator[str]:
    """Every broken rule."""
    run, trace = done.run, done.trace
    facts = {fact["id"]: fact for fact in done.facts["flows"]}
    reach = _reach(run)
    for flow in run.flows:
        if flow.kind == "udp":
            continue
        acks = of_flow(trace.acks, flow.id)
        yield from (f"{flow.name}: {what}" for what in _window(run, flow, acks, reach))
        received = of_flow(trace.flows, flow.id)
        data = _data(flow, run.meaning.mss_bytes, acks, received, facts[flow.id])
        yield from (f"{flow.name}: {what}" for what in data)
        connected_us, completed_us = facts[flow.id]["connected_us"], facts[flow.id]["completed_us"]
        if flow.kind == "tcp" and connected_us is not None:
            yield from (f"{flow.name}: {what}" for what in silences(done, flow, connected_us, completed_us))
    for check in check_fidelity(run, trace, done.facts):
        if check.name in _PROMISED and not check.ok:
            yield f"{check.name}: {check.text}"


@dataclass(frozen=True, slots=True)
class Reach:
    """Upper bounds for one flow: packets in flight and waiting, nanoseconds of a round trip with its queue."""

    packets: int
    rtt_ns: int
    rate_bps: int


def _window(run: Run, flow: Flow, acks: Records, reach: Reach) -> Iterator[str]:
    if not len(acks):
        return
    if (none := acks["cwnd"] == 0).any():
        yield f"the window is 0 at {_first(acks, none)}"
    if (low := acks["ssthresh"] < _LEAST_SSTHRESH).any():
        yield f"ssthresh is {acks['ssthresh'][low][0]} at {_first(acks, low)}"
    if (unknown := acks["state"] > _LARGEST_STATE).any():
        yield f"its state is {acks['state'][unknown][0]} at {_first(acks, unknown)}"
    most = _PIPES * reach.packets + _ROOM_PACKETS
    controls = {flow.cc, *(change.cc for change in run.changes_of(flow))}
    if controls & _BY_ROUND_TRIP:
        # A window of a rate and the longest round trip, which lost packets of the handshake may have caused.
        rtt_us = max(int(acks["rtt_us"].max()), int(acks["srtt_us"].max()), reach.rtt_ns // 1000)
        rate_bps = _required_bps(run, flow) if "apptcp" in controls else reach.rate_bps
        most += _PIPES * math.ceil(rate_bps * min(rtt_us, _LONGEST_RTT_US) / (8_000_000 * _SMALLEST_MSS_BYTES))
    if (wide := acks["cwnd"] > most).any():
        yield f"the window is {acks['cwnd'].max()} packets at {_first(acks, wide)}, the path holds {reach.packets}"


def _required_bps(run: Run, flow: Flow) -> int:
    """The largest rate that the flow ever requests; if it requests none, the module may get any."""
    requested = [bps for _, _, bps in run.pacing_rates(flow)]
    return max(requested) if all(requested) else _LARGEST_RATE_BPS


def _first(records: Records, where: NDArray[np.bool_]) -> str:
    return f"{int(records['t_ns'][where][0]) / 1e9:.6f} s"


def _data(flow: Flow, mss_bytes: int, acks: Records, received: Records, fact: dict[str, Any]) -> Iterator[str]:
    steps = np.diff(received["app_bytes"].astype(np.int64))
    # A connection that is reset counts a byte less in the end, as if it had ended with a FIN.
    if flow.kind == "tcp" and (steps < -1).any():
        yield "what was received becomes less"
    sent, arrived = fact["bytes_sent"], fact["bytes_received"]
    # The sender's counters are read at the flow's end, the receiver's when it has noticed that end.
    window_bytes = int(acks["cwnd"][-1]) * mss_bytes if len(acks) else 0
    if arrived > sent + window_bytes:
        yield f"{arrived} bytes received of {sent} sent"
    if flow.kind == "tcp" and flow.bytes is not None and fact["completed_us"] is not None and arrived != flow.bytes:
        yield f"complete with {arrived} bytes of {flow.bytes}"


def silences(done: Finished, flow: Flow, connected_us: int, completed_us: int | None) -> Iterator[str]:
    """Silences longer than TCP's timer explains; packets that the bottleneck drops or the receiver gets were sent."""
    reach = _reach(done.run)
    ends_us = (done.run.duration_us, flow.stop_us, completed_us)
    begin_ns, end_ns = flow.start_us * 1000, min(us for us in ends_us if us is not None) * 1000
    acks, dark = of_flow(done.trace.acks, flow.id), blackouts(done.run)
    received, dropped = of_flow(done.trace.flows, flow.id), _dropped(done.trace, flow)
    signs = np.unique(np.concatenate([[begin_ns, end_ns], received["t_ns"].astype(np.int64), dropped]))
    signs = signs[(signs >= begin_ns) & (signs <= end_ns)]
    acknowledged, connected_ns = _acknowledged(acks), connected_us * 1000
    long = np.flatnonzero(np.diff(signs) > _SILENCE_NS)
    for sign_ns, next_ns in zip(signs[long].tolist(), signs[long + 1].tolist(), strict=True):
        # Packets sent during a blackout may have left no sign: the silence begins at its end.
        from_ns = max([sign_ns, *(until for since, until in dark if since < next_ns and until > sign_ns)])
        before = acknowledged[acknowledged <= sign_ns]
        without_ns = from_ns - (int(before[-1]) if len(before) else begin_ns)
        rtt_ns = max(reach.rtt_ns, _taught_us(acks[acks["t_ns"] <= next_ns]) * 1000)
        allowed_ns = _AGAIN * without_ns + _SILENCE_NS + _SILENT_ROUND_TRIPS * rtt_ns + _paced_ns(done.run, flow)
        # A handshake is a round trip too, from its first packet on, however often it was lost.
        allowed_ns += _HANDSHAKES * max(connected_ns - begin_ns, 0)
        if next_ns - from_ns > allowed_ns:
            yield f"nothing sent from {from_ns / 1e9:.3f} s to {next_ns / 1e9:.3f} s, {allowed_ns / 1e9:.1f} s are explained"


def _taught_us(acks: Records) -> int:
    """The longest round trip that may still affect the timer: its variance fades once for each delivered window."""
    if not len(acks):
        return 0
    windows = _TAUGHT_BY_WINDOWS * int(acks["cwnd"].max())
    return int(acks["srtt_us"][-max(_TAUGHT_BY_ACKS, windows) :].max())


def _paced_ns(run: Run, flow: Flow) -> float:
    """The time that a few packets take at the lowest pacing rate that the flow ever requested."""
    requested = [bps for _, _, bps in run.pacing_rates(flow) if bps]
    return _PACED_PACKETS * run.meaning.mtu * 8e9 / min(requested) if requested else 0.0


def _acknowledged(acks: Records) -> NDArray[np.int64]:
    """Times of ACKs that acknowledged new data: a record shows the sender before its ACK, so the next one shows the change."""
    times: NDArray[np.int64] = acks["t_ns"][:-1][np.diff(acks["acked_bytes"].astype(np.int64)) > 0].astype(np.int64)
    return times


def _dropped(trace: Trace, flow: Flow) -> NDArray[np.int64]:
    """Times at which the bottleneck dropped packets of the flow."""
    drops = trace.drops
    lost: NDArray[np.int64] = drops["t_ns"][drops["destination_port"] == flow.port].astype(np.int64)
    return lost


def blackouts(run: Run) -> list[tuple[int, int]]:
    """(from, to) in nanoseconds, during which a device of the path loses everything."""
    dark = {
        (end.node, end.dev): 0
        for end in run.ends
        if any(qdisc.kind in DELAYS and _share(qdisc, "loss_2p32") >= _NEVER_2P32 for qdisc in end.qdiscs)
    }
    found = []
    for change in run.device_changes:
        for qdisc in change.qdiscs:
            if qdisc.kind not in DELAYS:
                continue
            began = dark.pop((change.node, change.dev), None)
            if began is not None:
                found.append((began, change.at_us * 1000))
            if _share(qdisc, "loss_2p32") >= _NEVER_2P32:
                dark[change.node, change.dev] = change.at_us * 1000
    return sorted(found + [(began, run.duration_us * 1000) for began in dark.values()])


def _share(qdisc: Qdisc, name: str) -> int:
    value = qdisc.options.get(name)
    return value if isinstance(value, int) else 0


def _reach(run: Run) -> Reach:
    """The worst of every setting that any device has at any time."""
    delays: dict[str, int] = {}
    packets = run.links[0].queue_limit_packets
    devices = [(end.dev, end.qdiscs) for end in run.ends]
    devices += [(change.dev, change.qdiscs) for change in run.device_changes]
    for dev, qdiscs in devices:
        for qdisc in qdiscs:
            if qdisc.kind in DELAYS:
                delay_ns = _share(qdisc, "delay_ns") + _share(qdisc, "jitter_ns")
                delays[dev] = max(delays.get(dev, 0), delay_ns)
            elif qdisc.kind in ("pfifo", "codel", "fq_codel", "pie"):
                packets = max(packets, _share(qdisc, "limit"))
    rates = [bps for _, _, bps in run.link_rates(run.links[0])]
    frame_bits = run.meaning.frame_bytes * 8
    rtt_ns = max((sum(delays.get(dev, 0) for dev in (*flow.forward, *flow.back)) for flow in run.flows), default=0)
    windows = max((route.initcwnd for route in run.routes), default=0)
    # Data stays in flight while its ACKs wait for the reverse rate.
    for link in run.links[1:]:
        rtt_ns += math.ceil(link.queue_limit_packets * frame_bits * 1e9 / link.rate_bps)
    carried = math.ceil(max(rates) * rtt_ns / 8e9 / (run.least_mtu + 14))
    waiting_ns = math.ceil(packets * frame_bits * 1e9 / min(rates))
    return Reach(carried + packets + windows, rtt_ns + waiting_ns, max(rates))
