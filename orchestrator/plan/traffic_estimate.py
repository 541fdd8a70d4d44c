"""How much a run will send, from its plan alone: a model of windows, round by round, that takes about a millisecond.

Flows that are alike are one group with one window. Between two moments at which something begins, ends or changes, the model walks
through at most `_ROUNDS` round trips and then continues at the mean rate of the last half of them. A window doubles until the queue
overflows or a packet is lost, and then follows its control's growth and back-off (tests/bench/estimate_cases.py measures how well this holds). It
promises an order of magnitude for everything, and a cost within a third for nearly all; it measures nothing and no result uses it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from longhaul.orchestrator.plan.qdiscs import DELAYS
from longhaul.orchestrator.plan.run import Flow, Qdisc, Run

_ROUNDS = 120
_LEAST_RTT_S = 50e-6
_DEFAULT_INITIAL = 10
# Above this share of losses timeouts decide, not windows.
_MANY_LOSSES = 0.02
_TIMEOUT_S = 0.25
_2_32 = 2**32
# A sender of UDP sends what is due at once, and wakes up at most about so often in a second.
_MOST_WAKES = 5000.0
# Queues that keep their delay near a target, in seconds: a loss-based control backs off at about this much.
_AQM_DELAY_S = {"codel": 0.02, "fq_codel": 0.02, "cake": 0.02, "pie": 0.03, "red": 0.05, "dualpi2": 0.03}
# The share of the window after a loss; the growth per round trip is in _growth.
_KEPT = {
    "cubic": 0.7, "bic": 0.8, "htcp": 0.65, "htcp_be": 0.65, "scalable": 0.875, "highspeed": 0.7, "illinois": 0.75, "cdg": 0.7,
    "agilesd": 0.8, "westwood": 0.7, "veno": 0.7,
}  # fmt: skip
# These keep to a few packets in the queue.
_DELAY_BASED = frozenset(("vegas", "nv", "cdg", "lp", "yeah"))
_RATE_BASED = frozenset(("bbr", "bbr2", "bbr3"))
_QUEUED_PACKETS = 6.0


@dataclass(slots=True)
class _Group:
    flow: Flow
    count: int
    start_s: float
    stop_s: float
    mss: float
    initial: float
    most: float
    cc: str
    left: float
    window: float = 0.0
    peak: float = 0.0
    slow_start: bool = True
    lost: float = 0.0
    since_s: float = 0.0
    rounds: int = 0
    sent: float = 0.0

    def alive(self, now_s: float) -> bool:
        return self.start_s <= now_s < self.stop_s and self.left > 0


@dataclass(slots=True)
class _Path:
    """The parts of a flow's path at one time."""

    base_s: float
    capacity: float
    limit: float
    lossy: float
    dark: bool


@dataclass(frozen=True, slots=True)
class Traffic:
    """Packets that senders send: of TCP and of web users, and of UDP; what crosses a
    wire, with ACKs; how often UDP senders wake up; connections of flows, and of web users; most packets at a time on the path."""

    tcp: float
    udp: float
    crossings: float
    wakes: float
    connections: float
    transfers: float
    peak: float


def expected_traffic(run: Run) -> Traffic:
    """The traffic of a run."""
    groups = _groups(run)
    udp = {flow.id: _udp_packets(run, flow) for flow in run.flows if flow.kind == "udp"}
    web = [flow for flow in run.flows if flow.kind == "web"]
    peak = 0.0
    for begin_s, end_s in _intervals(run, groups):
        state = _State(run, begin_s)
        taken = sum(_udp_rate(run, flow) for flow in run.flows if flow.kind == "udp" and _lives(run, flow, begin_s))
        alive = [group for group in groups if group.alive(begin_s)]
        if alive:
            peak = max(peak, _advance(alive, state, taken, begin_s, end_s))
    web_packets, transfers = _web(run, web)
    tcp = sum(group.sent * group.count for group in groups)
    crossings = sum(_crossings(run, group.flow, group.sent * group.count) for group in groups)
    crossings += sum(packets * max(1, len(flow.forward)) for flow in run.flows if (packets := udp.get(flow.id, 0.0)))
    crossings += sum(_crossings(run, flow, web_packets / len(web)) + 8 * transfers / len(web) for flow in web)
    wakes = sum(
        packets / (1 + _udp_rate(run, flow) / _MOST_WAKES) for flow in run.flows if (packets := udp.get(flow.id, 0.0))
    )
    connections = sum(group.count for group in groups)
    return Traffic(tcp + web_packets, sum(udp.values()), crossings, wakes, connections, transfers, peak)


def _crossings(run: Run, flow: Flow, packets: float) -> float:
    """Wires that data and ACKs cross; most ACKs are for two packets."""
    quick = any(route.quickack for route in run.routes if route.node == flow.to_node)
    return packets * (len(flow.forward) + len(flow.back) * (1.0 if quick else 0.55))


def _groups(run: Run) -> list[_Group]:
    initial = {(route.node): route.initcwnd for route in run.routes if route.initcwnd}
    clamps = {route.node: route.cwnd_clamp for route in run.routes if route.cwnd_clamp}
    step_us = max(1, run.duration_us // 16)
    found: dict[tuple[object, ...], _Group] = {}
    for flow in run.flows:
        if flow.kind != "tcp":
            continue
        stop_us = min(run.duration_us, run.duration_us if flow.stop_us is None else flow.stop_us)
        options = flow.options
        key = (
            flow.cc, flow.start_us // step_us, stop_us, flow.bytes, options.window_clamp_bytes, options.max_pacing_bps, flow.forward,
        )  # fmt: skip
        if key in found:
            found[key].count += 1
            continue
        mss = float(run.least_mtu - run.meaning.mtu + run.meaning.mss_bytes)
        most = options.window_clamp_bytes / mss if options.window_clamp_bytes else math.inf
        if flow.from_node in clamps:
            most = min(most, clamps[flow.from_node])
        cc = (flow.cc or "").removeprefix("lh_")
        if cc == "lhfixed":
            most = min(most, _fixed_window(run))
        window = float(initial.get(flow.from_node, _DEFAULT_INITIAL))
        left = flow.bytes / mss if flow.bytes else math.inf
        found[key] = _Group(
            flow, 1, flow.start_us / 1e6, stop_us / 1e6, mss, window, max(1.0, most), cc, left,
            window=_fixed_window(run) if cc == "lhfixed" else min(window, max(1.0, most)),
        )  # fmt: skip
    return list(found.values())


def _fixed_window(run: Run) -> float:
    values = [module.params.get("cwnd", "") for module in run.modules if module.name == "tcp_lhfixed"]
    return float(values[0]) if values and values[0].isdigit() else 10.0


def _intervals(run: Run, groups: Sequence[_Group]) -> Iterator[tuple[float, float]]:
    end_s = run.duration_us / 1e6
    moments = {0.0, end_s}
    moments |= {min(end_s, change.at_us / 1e6) for change in run.device_changes}
    for group in groups:
        moments |= {min(end_s, group.start_s), min(end_s, group.stop_s)}
    for flow in run.flows:
        if flow.kind == "udp":
            moments.add(min(end_s, flow.start_us / 1e6))
    ordered = sorted(moments)
    yield from itertools.pairwise(ordered)


class _State:
    """The devices of a run at one moment."""

    def __init__(self, run: Run, at_s: float) -> None:
        self._run = run
        self._frame_bits = 8.0 * (run.meaning.frame_bytes - run.meaning.mtu + run.least_mtu)
        self._qdiscs: dict[str, dict[str, Qdisc]] = {
            end.dev: {qdisc.kind: qdisc for qdisc in end.qdiscs} for end in run.ends if end.qdiscs
        }
        for change in run.device_changes:
            if change.at_us / 1e6 <= at_s:
                self._qdiscs.setdefault(change.dev, {}).update({qdisc.kind: qdisc for qdisc in change.qdiscs})

    def path(self, flow: Flow) -> _Path:
        base_s, passed, back_passed, capacity, limit = 0.0, 1.0, 1.0, math.inf, math.inf
        for dev in (*flow.forward, *flow.back):
            forward = dev in flow.forward
            for qdisc in self._qdiscs.get(dev, {}).values():
                options = qdisc.options
                if qdisc.kind in DELAYS:
                    base_s += _number(options.get("delay_ns")) / 1e9
                    share = loss_share(qdisc)
                    if forward:
                        passed *= 1 - share
                    else:
                        back_passed *= 1 - share
                rate = _number(options.get("rate_bps"))
                if rate and forward:
                    capacity = min(capacity, rate / self._frame_bits)
                elif rate:
                    # One ACK for two packets, in frames of 66 bytes.
                    capacity = min(capacity, 2 * rate / (8 * 66))
        for link in self._run.links:
            if link.dev in flow.forward:
                packets = link.queue_limit_packets or link.queue_limit_bytes * 8 / self._frame_bits
                if link.queue in _AQM_DELAY_S and capacity < math.inf:
                    packets = min(packets, max(4.0, _AQM_DELAY_S[link.queue] * capacity))
                limit = min(limit, packets)
        if limit == math.inf:
            limit = float(self._run.meaning.buffer_packets)
        dark = passed < 0.3 or back_passed < 0.05
        return _Path(max(base_s, _LEAST_RTT_S), capacity, max(1.0, limit), 1 - passed, dark)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else 0.0


def loss_share(qdisc: Qdisc) -> float:
    """All that a link takes, in the long run: random losses, bursts, and broken packets, which the receiver drops."""
    options = qdisc.options
    share = 1 - (1 - _number(options.get("loss_2p32")) / _2_32) * (1 - _number(options.get("corrupt_2p32")) / _2_32)
    burst = options.get("gemodel_2p32")
    if isinstance(burst, tuple):
        # The kernel has the share that passes in the bad state, and the share that is lost in the good one.
        into, out, passes, lost = (number / _2_32 for number in burst)
        bad = into / (into + out) if into + out > 0 else 0.0
        share = 1 - (1 - share) * (1 - bad * (1 - passes) - (1 - bad) * lost)
    return share


def _advance(groups: list[_Group], state: _State, taken: float, begin_s: float, end_s: float) -> float:
    """Walk through one interval; returns the most packets on the path."""
    paths = [state.path(group.flow) for group in groups]
    capacity = min(path.capacity for path in paths)
    free = max(capacity - taken, 0.05 * capacity) if capacity < math.inf else math.inf
    limit = min(path.limit for path in paths)
    base_s = sum(path.base_s for path in paths) / len(paths)
    now_s, peak, rounds = begin_s, 0.0, 0
    half_s, half_sent = begin_s, [0.0] * len(groups)
    while now_s < end_s and any(group.left > 0 for group in groups):
        total = sum(group.window * group.count for group in groups if group.left > 0)
        pipe = free * base_s if free < math.inf else math.inf
        queue = min(max(0.0, total - pipe), limit) if pipe < math.inf else 0.0
        rtt_s = base_s + (queue / free if free < math.inf else 0.0)
        peak = max(peak, min(total, pipe + limit))
        step_s = min(rtt_s, end_s - now_s)
        over = total - pipe - limit if pipe < math.inf else -1.0
        for group, path in zip(groups, paths, strict=True):
            if group.left <= 0:
                continue
            if path.dark:
                # A retransmission now and then, at intervals that double.
                group.sent += step_s / 2
                group.window, group.slow_start = 1.0, True
                continue
            rate = group.window / rtt_s
            if total > pipe + queue:
                rate = min(rate, free * group.window / total * (1 + max(0.0, min(over / total, 0.5))))
            if path.lossy > _MANY_LOSSES and group.cc not in _RATE_BASED:
                rate = min(rate, _padhye(path.lossy, rtt_s))
            sent = min(rate * step_s, group.left)
            group.sent += sent
            group.left -= sent * (1 - path.lossy)
            _react(group, path, sent, over, limit, queue, pipe, rtt_s, now_s)
        now_s += step_s
        rounds += 1
        if rounds == _ROUNDS // 2:
            half_s, half_sent = now_s, [group.sent for group in groups]
        if rounds >= _ROUNDS and now_s < end_s:
            for group, sent in zip(groups, half_sent, strict=True):
                more = min((group.sent - sent) / (now_s - half_s) * (end_s - now_s), group.left)
                group.sent += more
                group.left -= more
            break
    return peak


def _react(
    group: _Group,
    path: _Path,
    sent: float,
    over: float,
    limit: float,
    queue: float,
    pipe: float,
    rtt_s: float,
    now_s: float,
) -> None:
    """The window after a round trip."""
    if group.cc == "lhfixed":
        return
    group.lost += sent * path.lossy
    # ACKs come at the bottleneck's rate, and each lets two packets go, so half of a window meets the queue at once.
    burst = group.slow_start and group.window > 2 * limit + 4 and group.window > group.initial
    hit = over > 0 or burst or group.lost >= 1
    if group.lost >= 1:
        group.lost = max(0.0, group.lost - max(1.0, sent * path.lossy))
    if group.cc in _RATE_BASED:
        fair = 2.0 * (pipe if pipe < math.inf else group.window) / max(1, group.count)
        if group.slow_start and (group.window >= fair or over > 0):
            group.slow_start = False
        group.window = min(
            group.most, group.window * 2 if group.slow_start else max(4.0, min(fair, group.window * 1.25))
        )
        return
    if hit:
        if group.slow_start and (over > 0 or burst):
            group.window = max(2.0, group.window / 2)
        group.peak = group.window
        group.window = max(2.0, group.window * _KEPT.get(group.cc, 0.5))
        group.slow_start, group.since_s = False, now_s
        return
    if group.slow_start:
        group.window *= 2
        if group.cc in _DELAY_BASED and queue > _QUEUED_PACKETS * group.count:
            group.slow_start = False
        if group.cc == "cubic" and queue > max(16.0, 0.125 * pipe) and rtt_s > 0.004:
            group.slow_start, group.peak, group.since_s = False, group.window, now_s
    elif not (group.cc in _DELAY_BASED and queue > _QUEUED_PACKETS * group.count):
        group.window += _growth(group, rtt_s, now_s)
    group.window = min(group.window, group.most)


def _growth(group: _Group, rtt_s: float, now_s: float) -> float:
    """Packets per round trip without a loss."""
    since_s, window = now_s - group.since_s, group.window
    match group.cc:
        case "cubic":
            inflection_s = math.pow(group.peak * 0.3 / 0.4, 1 / 3)
            target = 0.4 * math.pow(since_s + rtt_s - inflection_s, 3) + group.peak
            return max(0.53, min(target - window, window / 2))
        case "scalable":
            return max(1.0, 0.01 * window)
        case "highspeed":
            return max(1.0, 0.032 * math.pow(window, 0.8))
        case "htcp" | "htcp_be":
            late_s = max(0.0, since_s - 1.0)
            return 1 + 10 * late_s + 0.25 * late_s * late_s
        case "bic":
            return min(32.0, max(1.0, (group.peak - window) / 2))
        case "hybla":
            return max(1.0, (rtt_s / 0.025) ** 2)
        case "illinois" | "agilesd" | "compound":
            return max(1.0, min(10.0, 0.02 * window))
    return 1.0


def _padhye(lossy: float, rtt_s: float) -> float:
    """Packets a second with timeouts (Padhye et al. 1998, equation 32), for two packets an ACK."""
    lossy = min(lossy, 0.9)
    waits = _TIMEOUT_S * min(1.0, 3 * math.sqrt(3 * 2 * lossy / 8)) * lossy * (1 + 32 * lossy**2)
    return 1.3 / (rtt_s * math.sqrt(2 * lossy / 3) + waits)


def _lives(run: Run, flow: Flow, at_s: float) -> bool:
    stop_us = run.duration_us if flow.stop_us is None else flow.stop_us
    return flow.start_us / 1e6 <= at_s < stop_us / 1e6


def _udp_rate(run: Run, flow: Flow) -> float:
    share = 1.0 if flow.on_off is None else flow.on_off.on_us / (flow.on_off.on_us + flow.on_off.off_us)
    return share * flow.rate_bps / (8 * run.meaning.frame_bytes)


def _udp_packets(run: Run, flow: Flow) -> float:
    stop_us = run.duration_us if flow.stop_us is None else flow.stop_us
    return _udp_rate(run, flow) * max(0, stop_us - flow.start_us) / 1e6


def _web(run: Run, users: Sequence[Flow]) -> tuple[float, float]:
    """Packets and transfers of web users, who share the path with each other."""
    packets = transfers = 0.0
    if not users:
        return packets, transfers
    rtt_s, mss = run.meaning.rtt_us / 1e6, run.meaning.mss_bytes
    fair = run.meaning.bandwidth_bps / (8 * run.meaning.frame_bytes)
    for flow in users:
        pages = max(1.0, flow.mean_bytes / mss)
        # Most pages are smaller than the mean: sizes have a heavy tail.
        rounds = 2.0 + math.log2(max(1.0, 0.4 * pages / _DEFAULT_INITIAL) + 1)
        alone_s = flow.think_us / 1e6 + rounds * rtt_s
        crowded_s = max(alone_s, len(users) * pages / fair)
        stop_us = run.duration_us if flow.stop_us is None else flow.stop_us
        time_s = max(0, stop_us - flow.start_us) / 1e6
        transfers += time_s / math.sqrt(alone_s * crowded_s)
        packets += time_s / crowded_s * (pages + 0.5)
    return packets, transfers
