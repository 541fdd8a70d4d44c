"""Traffic whose amount the agent draws itself: UDP in periods, and the fetches of web users, each from the seed of its flow.

A web user's fetches take as long as the path lets them: its round trips, and its share of the bottleneck among the users that fetch at the
same time. A sender of UDP sends what is due at once, a quarter of a millisecond at most; its receiver looks at its socket a hundred times a second.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.traffic.draws import Draws
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_DEFAULT_INITIAL = 10
_HEADERS_BYTES = 52
# A first window that is lost is sent again by a timeout.
_TIMEOUT_S, _MOST_QUEUED_S = 0.2, 2.0
# As in orchestrator/agent/traffic/udp.c.
_TOGETHER_S, _MOST_TOGETHER, _DRAIN_S = 250e-6, 256, 0.01
# After this many draws of a run, the mean of them stands for the others.
_MOST_DRAWS = 2_000
# A fetch has small packets too: SYN, its answer, the end of both sides. They take little of the bottleneck.
_SMALL_PACKETS = 4


@dataclass(frozen=True, slots=True)
class Sent:
    """Packets of a UDP sender, how often it and its receiver wake up, and most packets on their way or not yet looked at."""

    packets: float
    sends: float
    looks: float
    peak: float


@dataclass(frozen=True, slots=True)
class Fetched:
    """Packets with data of a web user, and its fetches."""

    packets: float
    fetches: float


def lives(run: Run, flow: Flow, at_s: float) -> bool:
    """Whether the flow sends at this time."""
    return flow.start_us / 1e6 <= at_s < _end_s(run, flow)


def mean_rate(run: Run, flow: Flow) -> float:
    """Packets a second of a UDP sender, with its pauses."""
    share = 1.0 if flow.on_off is None else flow.on_off.on_us / (flow.on_off.on_us + flow.on_off.off_us)
    return share * _rate(run, flow)


def udp_sent(run: Run, flow: Flow) -> Sent:
    """What a UDP sender sends, in the periods that it will draw."""
    begin_s, end_s = flow.start_us / 1e6, _end_s(run, flow)
    rate = _rate(run, flow)
    packets = rate * _on_s(flow, begin_s, end_s)
    # Whole packets, as in the agent.
    together = min(max(1, int(_TOGETHER_S * rate)), _MOST_TOGETHER)
    capacity = run.meaning.bandwidth_bps / (8 * run.meaning.frame_bytes)
    queued = run.meaning.buffer_packets if rate > capacity else together
    peak = min(packets, rate * run.meaning.forward_us / 1e6 + min(rate, capacity) * _DRAIN_S + queued)
    return Sent(packets, packets / together, max(0.0, run.duration_us / 1e6 - begin_s) / _DRAIN_S, peak)


def web_fetched(run: Run, flow: Flow, capacity: float, users: int, others: int) -> Fetched:
    """What a web user fetches, with the sizes and the pauses that it will draw, next to the other users and `others` that always send."""
    draws = Draws(flow.seed)
    now_s, end_s = flow.start_us / 1e6, _end_s(run, flow)
    rtt_s, mss = run.meaning.rtt_us / 1e6, run.meaning.mss_bytes
    shape = flow.shape_milli / 1000
    busy = _fetching(run, flow, capacity, users)
    fair = capacity / (busy + others)
    room = run.meaning.buffer_packets
    # Flows that always send fill half of the queue on average.
    rtt_s += 0.5 * room / capacity if others else 0.0
    rtt_s = min(rtt_s, run.meaning.rtt_us / 1e6 + _MOST_QUEUED_S)
    most = max(4, _MOST_DRAWS // users)
    packets = fetches = 0.0
    while now_s < end_s and fetches < most:
        size = math.ceil(draws.pareto(flow.mean_bytes, shape) / mss)
        fetches += 1
        # The handshake, a window that doubles, and the end.
        rounds = 2 + math.log2(1 + size / _DEFAULT_INITIAL)
        took_s = max(rounds * rtt_s, size / fair)
        at_once = min(size, _DEFAULT_INITIAL) * (busy if fetches > 1 else users)
        if at_once > run.meaning.bdp_packets + room + 1:
            took_s += _TIMEOUT_S
        left_s = end_s - now_s
        packets += size if took_s <= left_s else max(0.0, size * (left_s - rtt_s) / took_s)
        now_s += took_s + draws.exponential(flow.think_us / 1e6)
    more = max(1.0, (end_s - flow.start_us / 1e6) / max(1e-9, now_s - flow.start_us / 1e6))
    return Fetched(packets * more, fetches * more)


def _fetching(run: Run, flow: Flow, capacity: float, users: int) -> float:
    """How many users fetch at a time: in a circle of fetches and pauses, as many as make the share of each what it is."""
    rtt_s = run.meaning.rtt_us / 1e6
    # Half of the mean: a few huge fetches are most of it, and most users meet none of them.
    size = max(1.0, 0.5 * flow.mean_bytes / run.meaning.mss_bytes) + _SMALL_PACKETS * _HEADERS_BYTES / run.meaning.mtu
    busy = 1.0
    for _ in range(20):
        took_s = max(3 * rtt_s, size * busy / capacity)
        busy += 0.5 * (max(1.0, users * took_s / (took_s + flow.think_us / 1e6)) - busy)
    return busy


def web_users(run: Run) -> Sequence[Flow]:
    """The web users of a run."""
    return [flow for flow in run.flows if flow.kind == "web"]


def _on_s(flow: Flow, begin_s: float, end_s: float) -> float:
    if flow.on_off is None:
        return max(0.0, end_s - begin_s)
    draws, now_s, on_s = Draws(flow.seed), begin_s, 0.0
    drawn = 0
    while now_s < end_s and drawn < _MOST_DRAWS:
        drawn += 1
        until_s = min(end_s, now_s + draws.exponential(flow.on_off.on_us / 1e6))
        on_s += until_s - now_s
        now_s = until_s + draws.exponential(flow.on_off.off_us / 1e6)
    return on_s * max(1.0, (end_s - begin_s) / (now_s - begin_s)) if drawn else 0.0


def _rate(run: Run, flow: Flow) -> float:
    return flow.rate_bps / (8 * run.meaning.frame_bytes)


def _end_s(run: Run, flow: Flow) -> float:
    return (run.duration_us if flow.stop_us is None else flow.stop_us) / 1e6
