"""How much a run will send, from its plan alone: a model of windows, round by round, that takes about a millisecond.

Flows that are alike are one group with one window. Its data follows its handshake by a round trip. Between two moments at which something
begins, ends or changes, the model walks through at most `_ROUNDS` round trips and then continues at the mean rate of the last half of them.
A window doubles until the queue overflows or a packet is lost, and then follows its control's growth and back-off; a flow whose packets
are all lost waits for a timeout, and one without SACK mends a packet in each round trip (tests/bench/estimate_cases.py measures how well
this holds). What UDP senders and web users draw from their seeds is drawn here too (senders.py).

It promises an order of magnitude for everything, and a cost within a third for nearly all; it measures nothing and no result uses it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.traffic.path_state import PathNumbers, PathState
from longhaul.orchestrator.plan.traffic.requests import requests_asked
from longhaul.orchestrator.plan.traffic.senders import Sent, lives, mean_rate, udp_sent, web_fetched, web_users
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

_ROUNDS = 120
_DEFAULT_INITIAL = 10
# Above this share of losses timeouts decide, not windows.
_MANY_LOSSES = 0.02
_TIMEOUT_S = 0.25
# Linux' least timeout beyond a round trip, and its first one of a handshake.
_LEAST_TIMEOUT_S, _FIRST_TIMEOUT_S = 0.2, 1.0
# A probe of the last packet (RFC 8985) comes two round trips later, and at a tick of the guest's timers.
_FEW_PACKETS, _PROBE_S = 3.0, 0.02
# The round trip to which Hybla's growth is equal.
_HYBLA_RTT_S = 0.025
_NO_SACK = ("net/ipv4/tcp_sack", "0")
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
    members: list[int]
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
    sent: float = 0.0
    passed: float = 0.0
    sack: bool = True
    # Nothing is sent until then; since when nothing arrives.
    waits_until_s: float = 0.0
    dark_since_s: float | None = None

    @property
    def count(self) -> int:
        return len(self.members)

    def alive(self, now_s: float) -> bool:
        return self.start_s <= now_s < self.stop_s and self.left > 0

    def sends(self, now_s: float) -> bool:
        return self.left > 0 and self.waits_until_s <= now_s


@dataclass(frozen=True, slots=True)
class Traffic:
    """Packets that senders send: of TCP and of web users, and of UDP; what crosses a wire, with ACKs; how often UDP senders and
    receivers wake up; connections of flows; web users and their fetches; most packets of TCP and of UDP at a time on the path; what each
    flow sends, by its number."""

    tcp: float
    udp: float
    crossings: float
    sends: float
    looks: float
    connections: float
    users: int
    fetches: float
    peak: float
    udp_peak: float
    of_flows: Mapping[int, float]


def expected_traffic(run: Run) -> Traffic:
    """The traffic of a run."""
    groups = _groups(run)
    udp = {flow.id: udp_sent(run, flow) for flow in run.flows if flow.kind == "udp" and flow.requests is None}
    peak = 0.0
    for begin_s, end_s in _intervals(run, groups):
        state = PathState(run, begin_s)
        taken = sum(mean_rate(run, flow) for flow in run.flows if flow.id in udp and lives(run, flow, begin_s))
        alive = [group for group in groups if group.alive(begin_s)]
        if alive:
            peak = max(peak, _advance(alive, state, taken, begin_s, end_s))
    tcp = sum(group.sent * group.count for group in groups)
    crossings = sum(group.count * _crossings(run, group.flow, group.sent, group.passed) for group in groups)
    crossings += sum(_udp_crossings(run, flow, udp[flow.id]) for flow in run.flows if flow.id in udp)
    users = web_users(run)
    fair = run.meaning.bandwidth_bps / (8 * run.meaning.frame_bytes)
    others = sum(flow.kind == "tcp" and flow.bytes is None for flow in run.flows)
    fetched = [(flow, web_fetched(run, flow, fair, len(users), others)) for flow in users]
    fetched += [(flow, requests_asked(run, flow, fair)) for flow in run.flows if flow.requests is not None]
    crossings += sum(_crossings(run, flow, one.packets, one.packets) + 8 * one.fetches for flow, one in fetched)
    return Traffic(
        tcp=tcp + sum(one.packets for _, one in fetched),
        udp=sum(sent.packets for sent in udp.values()),
        crossings=crossings,
        sends=sum(sent.sends for sent in udp.values()),
        looks=sum(sent.looks for sent in udp.values()),
        connections=sum(group.count for group in groups),
        users=len(users),
        fetches=sum(one.fetches for _, one in fetched),
        peak=peak,
        udp_peak=sum(sent.peak for sent in udp.values()),
        of_flows={number: group.sent for group in groups for number in group.members}
        | {number: sent.packets for number, sent in udp.items()}
        | {flow.id: one.packets for flow, one in fetched},
    )


def _udp_crossings(run: Run, flow: Flow, sent: Sent) -> float:
    """Wires that packets cross; those that the bottleneck has no room for do not cross the wires behind it, nor do those on their way at the end."""
    stop_us = run.duration_us if flow.stop_us is None else flow.stop_us
    path, time_s = PathState(run, flow.start_us / 1e6).path(flow), max(1e-6, (stop_us - flow.start_us) / 1e6)
    # All that is due at once meets the queue at once.
    passed = min(sent.packets, path.capacity * time_s, sent.sends * (path.limit + 1)) * (1 - path.lossy)
    passed *= max(0.0, 1 - run.meaning.forward_us / 1e6 / time_s)
    before = _before_bottleneck(run, flow)
    return sent.packets * before + passed * (len(flow.forward) - before)


def _before_bottleneck(run: Run, flow: Flow) -> int:
    return next((place for place, dev in enumerate(flow.forward) if dev == run.links[0].dev), len(flow.forward))


def _crossings(run: Run, flow: Flow, sent: float, passed: float) -> float:
    """Wires that data and ACKs cross; most ACKs are for two packets."""
    quick = any(route.quickack for route in run.routes if route.node == flow.to_node)
    before = _before_bottleneck(run, flow)
    return sent * before + passed * (len(flow.forward) - before + len(flow.back) * (1.0 if quick else 0.55))


def _groups(run: Run) -> list[_Group]:
    initial = {(route.node): route.initcwnd for route in run.routes if route.initcwnd}
    clamps = {route.node: route.cwnd_clamp for route in run.routes if route.cwnd_clamp}
    step_us = max(1, run.duration_us // 16)
    without_sack = {node.name for node in run.nodes if _NO_SACK in node.sysctls}
    found: dict[tuple[object, ...], _Group] = {}
    for flow in run.flows:
        if flow.kind not in ("tcp", "program"):
            continue
        stop_us = min(run.duration_us, run.duration_us if flow.stop_us is None else flow.stop_us)
        options = flow.options
        key = (
            flow.cc, flow.start_us // step_us, stop_us, flow.share_bytes, options.window_clamp_bytes, options.max_pacing_bps, flow.forward,
        )  # fmt: skip
        if key in found:
            found[key].members.append(flow.id)
            continue
        mss = float(run.least_mtu - run.meaning.mtu + run.meaning.mss_bytes)
        most = options.window_clamp_bytes / mss if options.window_clamp_bytes else math.inf
        if flow.from_node in clamps:
            most = min(most, clamps[flow.from_node])
        cc = (flow.cc or "").removeprefix("lh_")
        if cc == "lhfixed":
            most = min(most, _fixed_window(run))
        window = float(initial.get(flow.from_node, _DEFAULT_INITIAL))
        left = flow.share_bytes / mss if flow.share_bytes else math.inf
        found[key] = _Group(
            flow, [flow.id], flow.start_us / 1e6, stop_us / 1e6, mss, window, max(1.0, most), cc, left,
            window=_fixed_window(run) if cc == "lhfixed" else min(window, max(1.0, most)),
            sack=not {flow.from_node, flow.to_node} & without_sack,
        )  # fmt: skip
    for group in found.values():
        group.start_s = _connected_s(run, group.flow)
    return list(found.values())


def _connected_s(run: Run, flow: Flow) -> float:
    """When the first data leaves: a round trip after the start, and later if the handshake is lost: Linux repeats it after 1, 3 and 7 s."""
    at_s, wait_s = flow.start_us / 1e6, _FIRST_TIMEOUT_S
    path = PathState(run, at_s).path(flow)
    while path.dark and at_s < run.duration_us / 1e6:
        at_s += wait_s
        wait_s *= 2
        path = PathState(run, at_s).path(flow)
    lost = 1 - (1 - path.lossy) * (1 - path.back_lossy)
    return at_s + path.base_s + min(3.0, lost / max(1e-9, 1 - lost)) * _FIRST_TIMEOUT_S


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


def _advance(groups: list[_Group], state: PathState, taken: float, begin_s: float, end_s: float) -> float:
    """Walk through one interval; returns the most packets on the path."""
    paths = [state.path(group.flow) for group in groups]
    capacity = min(path.capacity for path in paths)
    free = max(capacity - taken, 0.05 * capacity) if capacity < math.inf else math.inf
    limit = min(path.limit for path in paths)
    base_s = sum(path.base_s for path in paths) / len(paths)
    now_s, peak, rounds = begin_s, 0.0, 0
    half_s, half = begin_s, [(0.0, 0.0)] * len(groups)
    for group, path in zip(groups, paths, strict=True):
        _see_darkness(group, path, begin_s)
    while now_s < end_s and any(group.left > 0 for group in groups):
        going = [group for group, path in zip(groups, paths, strict=True) if group.sends(now_s) and not path.dark]
        if not going:
            now_s = min([end_s, *(group.waits_until_s for group in groups if group.waits_until_s > now_s)])
            continue
        total = sum(group.window * group.count for group in going)
        pipe = free * base_s if free < math.inf else math.inf
        queue = min(max(0.0, total - pipe), limit) if pipe < math.inf else 0.0
        rtt_s = base_s + (queue / free if free < math.inf else 0.0)
        peak = max(peak, min(total, pipe + limit))
        step_s = min(rtt_s, end_s - now_s)
        over = total - pipe - limit if pipe < math.inf else -1.0
        for group, path in zip(groups, paths, strict=True):
            if group.left <= 0:
                continue
            if path.dark or group.waits_until_s > now_s:
                continue
            rate = group.window / rtt_s
            share = free * group.window / total if total > pipe + queue else rate
            if group.cc != "lhfixed" or path.by_acks:
                # A window that never shrinks sends all of what is lost again, every round trip.
                rate = min(rate, share if path.by_acks else share * (1 + max(0.0, min(over / total, 0.5))))
            if path.lossy > _MANY_LOSSES and group.cc not in _RATE_BASED:
                rate = min(rate, _padhye(path.lossy, rtt_s))
            sent = min(rate * step_s, group.left)
            group.sent += sent
            group.passed += min(sent, share * step_s)
            group.left -= sent * (1 - path.lossy)
            _react(group, path, sent, over, limit, queue, pipe, rtt_s, now_s)
        now_s += step_s
        rounds += 1
        if rounds == _ROUNDS // 2:
            half_s, half = now_s, [(group.sent, group.passed) for group in groups]
        if rounds >= _ROUNDS and now_s < end_s:
            for group, (sent, passed) in zip(groups, half, strict=True):
                longer = (end_s - now_s) / (now_s - half_s)
                more = min((group.sent - sent) * longer, group.left)
                group.passed += min((group.passed - passed) * longer, more)
                group.sent += more
                group.left -= more
            break
    return peak


def _see_darkness(group: _Group, path: PathNumbers, now_s: float) -> None:
    """A flow whose packets were all lost for a while: it sends again at the first of its timeouts, which double, after that."""
    if path.dark:
        group.dark_since_s = now_s if group.dark_since_s is None else group.dark_since_s
    elif group.dark_since_s is not None:
        timeout_s = path.base_s + _LEAST_TIMEOUT_S
        at_s = group.dark_since_s + timeout_s
        while at_s < now_s:
            timeout_s *= 2
            at_s += timeout_s
        group.waits_until_s, group.dark_since_s = at_s, None
        if group.cc != "lhfixed":
            group.window, group.slow_start = 1.0, True


def _react(
    group: _Group,
    path: PathNumbers,
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
    if group.window > group.initial:
        burst = group.slow_start and group.window > 2 * limit + 4
    else:
        # The initial window leaves at once.
        burst = group.slow_start and sent == group.sent and group.window > limit + 1
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
            if not group.sack:
                # Half of the window is lost, and a round trip mends one packet (RFC 6582).
                group.waits_until_s = now_s + path.base_s * group.window
        group.peak = group.window
        group.window = max(2.0, group.window * _KEPT.get(group.cc, 0.5))
        group.slow_start, group.since_s = False, now_s
        if over > 0 and group.window <= _FEW_PACKETS:
            # Too few ACKs follow to show what is lost.
            group.waits_until_s = max(group.waits_until_s, now_s + 2 * rtt_s + _PROBE_S)
        return
    if group.slow_start:
        group.window *= 2.0 ** min(6.0, max(1.0, path.base_s / _HYBLA_RTT_S)) if group.cc == "hybla" else 2
        if path.reordered * group.sent >= 1 and (group.cc == "cubic" or group.cc in _DELAY_BASED):
            # What overtakes others measures a shorter round trip, and the others seem to wait in a queue.
            group.slow_start, group.peak, group.since_s = False, group.window, now_s
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
            return max(1.0, (rtt_s / _HYBLA_RTT_S) ** 2)
        case "illinois" | "agilesd" | "compound":
            return max(1.0, min(10.0, 0.02 * window))
    return 1.0


def _padhye(lossy: float, rtt_s: float) -> float:
    """Packets a second with timeouts (Padhye et al. 1998, equation 32), for two packets an ACK."""
    lossy = min(lossy, 0.9)
    waits = _TIMEOUT_S * min(1.0, 3 * math.sqrt(3 * 2 * lossy / 8)) * lossy * (1 + 32 * lossy**2)
    return 1.3 / (rtt_s * math.sqrt(2 * lossy / 3) + waits)
