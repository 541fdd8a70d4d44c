"""Fidelity: what must hold of every run before anyone is shown a number of it.

Each check says what was expected and what was found. A run with one broken check has no result. The tolerances are those of
docs/fidelity.md; random shares are held to an interval that a sound run leaves less than once in a billion runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from orchestrator.analysis.budget import over_budget, told
from orchestrator.analysis.series import counter, of_flow
from orchestrator.run import DeviceChange, End, Flow, FlowChange, Link, Qdisc, Run
from orchestrator.trace import DROP_RANDOM, EVENT_END, EVENT_FLOW_CHANGE, EVENT_PATH_CHANGE, Trace

Facts = dict[str, Any]

# By the clock: real timers are late, within the budget (budget.py).
_RATE_TOLERANCE = {"virtual": 0.002, "real": 0.03}
_RTT_TOLERANCE = 0.001
_RTT_GRACE_US = {"virtual": 20, "real": 2000}
_LIMITED_SHARE = 0.01
_LATE_US = {"virtual": 100, "real": 10_000}
# Counters go on while they are read: at most this much longer than it took, and what is in no queue at the moment.
_READING_SLACK_US = 4000
_READING_PACKETS = 10
# A connection's first window is 64 KB whatever the receiver's memory (the SYN's window is not scaled); it then opens within this.
_OPENING_ROUND_TRIPS = 3
# Of many things that are wrong in the same way, the first few tell.
_MOST_LISTED = 10
# Standard deviations: the chance of a sound run to be outside is below 1e-9.
_SIGMAS = 6.2


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that must hold."""

    name: str
    ok: bool
    text: str

    def as_dict(self) -> dict[str, Any]:
        """For the document."""
        return asdict(self)


def check_fidelity(run: Run, trace: Trace, facts: Facts) -> list[Check]:
    """Every check that applies to this run."""
    return [
        *_complete(trace, facts),
        *_budget(facts),
        *_congestion_controls(run, trace, facts),
        *_schedule(run, trace, facts),
        *_sysctls(run, facts),
        *_frames(run, facts),
        *_links(run, trace),
        *_base_rtt(run, trace),
        *_conservation(run, facts),
        *_drops_elsewhere(run, facts),
        *_windows(run, trace),
        *_buffers(run, facts),
    ]


def _listed(wrong: Sequence[str]) -> str:
    """The first of them."""
    rest = len(wrong) - _MOST_LISTED
    return "; ".join([*wrong[:_MOST_LISTED], *([f"and {rest} more"] if rest > 0 else [])])


def broken_text(checks: Sequence[Check]) -> str:
    """What is said of a run with these checks where some are broken; empty where none is."""
    return _listed([f"{check.name}: {check.text}" for check in checks if not check.ok])


def _complete(trace: Trace, facts: Facts) -> Iterator[Check]:
    records = sum(len(part) for part in trace.kinds().values())
    ended = bool((trace.events["what"] == EVENT_END).any())
    said = facts["trace"]["records"]
    yield Check(
        "trace complete",
        ended and records == said,
        f"{records} records, {said} written, {'with' if ended else 'without'} its end",
    )


def _budget(facts: Facts) -> Iterator[Check]:
    if (machine := facts.get("machine")) is not None:
        broken = list(over_budget(machine))
        yield Check("cpu budget", not broken, "; ".join(broken) or told(machine))


def _congestion_controls(run: Run, trace: Trace, facts: Facts) -> Iterator[Check]:
    told = {fact["id"]: fact for fact in facts["flows"]}
    made = _changes_made(trace)
    for flow in run.flows:
        fact, asked = told[flow.id], flow.cc
        for index, change in enumerate(run.schedule):
            if isinstance(change, FlowChange) and change.flow == flow.id and index in made:
                asked = change.cc or asked
        if fact["error"]:
            yield Check("flow", False, f"{flow.name}: {fact['error']}")
        elif asked is not None:
            yield Check(
                "congestion control in use", fact["cc"] == asked, f"{flow.name}: asked {asked}, found {fact['cc']}"
            )


def _schedule(run: Run, trace: Trace, facts: Facts) -> Iterator[Check]:
    """Every change was made at its time, but for those of flows that were over by then."""
    if not run.schedule:
        return
    over_us = {fact["id"]: fact["stopped_us"] for fact in facts["flows"]}
    made, wrong, moot = _changes_made(trace), [], 0
    for index, change in enumerate(run.schedule):
        end_us = over_us[change.flow] if isinstance(change, FlowChange) else None
        if index in made:
            late_us = made[index] // 1000 - change.at_us
            wrong += [f"change {index} {late_us} us late"] if not 0 <= late_us <= _LATE_US[run.clock] else []
        elif end_us is not None and end_us <= change.at_us:
            moot += 1
        else:
            wrong.append(f"change {index} not made")
    told = f"{len(run.schedule) - moot} made at their times, {moot} of flows that were over"
    yield Check("scheduled changes", not wrong, _listed(wrong) or told)


def _changes_made(trace: Trace) -> dict[int, int]:
    """Place in the schedule -> when it was made, in nanoseconds."""
    events = trace.events[np.isin(trace.events["what"], (EVENT_PATH_CHANGE, EVENT_FLOW_CHANGE))]
    return {int(event["value"]): int(event["t_ns"]) for event in events}


def _sysctls(run: Run, facts: Facts) -> Iterator[Check]:
    found = {node["name"]: dict(node["sysctls"]) for node in facts["nodes"]}
    wrong = [
        f"{node.name} {name}: asked {value}, found {found[node.name].get(name)}"
        for node in run.nodes
        for name, value in node.sysctls
        if (found[node.name].get(name) or "").split() != value.split()
    ]
    yield Check(
        "sysctls", not wrong, _listed(wrong) or f"{sum(len(node.sysctls) for node in run.nodes)} read back as asked"
    )


def _frames(run: Run, facts: Facts) -> Iterator[Check]:
    most = run.meaning.frame_bytes
    # Sampled, a trace has not seen each frame; none can be larger where nothing makes one of many.
    seen = [link["max_frame_bytes"] for link in facts["links"] if link["max_frame_bytes"] is not None]
    largest = max(seen, default=0)
    offloads = all(device["offloads_off"] for device in facts["devices"])
    yield Check(
        "no frame above the MTU",
        largest <= most and offloads,
        f"largest {f'{largest} bytes' if seen else 'not seen'}, {most} allowed, offloads {'off' if offloads else 'ON'}",
    )


def _links(run: Run, trace: Trace) -> Iterator[Check]:
    """What holds of a queue that nobody changes."""
    for link in run.links if not any(run.device_changes) else ():
        yield from _rate(run, trace, link)
        yield from _queue_limit(run, trace, link)
        yield from _random_loss(run, trace, link)


def _at(run: Run, link: Link) -> str:
    """Which link is meant, where there are several."""
    return f"{link.name}: " if len(run.links) > 1 else ""


def _rate(run: Run, trace: Trace, link: Link) -> Iterator[Check]:
    """Whenever the queue was never empty for a while, the line must have run at its rate."""
    records = of_flow(trace.links, link.id)
    busy = records["queue_packets"] > 0
    if not busy.any():
        return
    # The longest stretch of consecutive ticks that all found a queue.
    gaps = np.diff(records["t_ns"].astype(np.int64)) > run.trace.tick_us * 1500
    breaks = np.flatnonzero(~busy | np.append(False, gaps))
    edges = np.concatenate([[-1], breaks, [len(records)]])
    longest = int(np.diff(edges).argmax())
    first, last = int(edges[longest]) + 1, int(edges[longest + 1]) - 1
    if last - first < 2:
        return
    span_ns = int(records["t_ns"][last] - records["t_ns"][first])
    sent_bits = int(records["tx_bytes"][last] - records["tx_bytes"][first]) * 8
    expected_bits = link.rate_bps * span_ns / 1e9
    # A queue seen at two ticks may have been empty between them; only an excess is an error then.
    slack_bits = (2 * run.meaning.frame_bytes + _burst_bytes(run)) * 8
    tolerance = _RATE_TOLERANCE[run.clock]
    high = sent_bits <= expected_bits * (1 + tolerance) + slack_bits
    low = sent_bits >= expected_bits * (1 - tolerance) - slack_bits
    steady = (
        int(records["queue_packets"][first : last + 1].min())
        > link.rate_bps * run.trace.tick_us / 8e6 / run.meaning.frame_bytes
    )
    yield Check(
        "bottleneck rate",
        high and (low or not steady),
        f"{_at(run, link)}{sent_bits * 1e9 / span_ns:.0f} bit/s over {span_ns / 1e9:.2f} s, {link.rate_bps} configured",
    )


def _burst_bytes(run: Run) -> int:
    """What the bottleneck may send at once by the real clock; in virtual time it is a frame."""
    limiter = _qdisc_of(run, run.links[0].node, run.links[0].dev, "tbf")
    burst = limiter.options["burst_bytes"] if limiter and run.clock == "real" else 0
    assert isinstance(burst, int)
    return burst


def _base_rtt(run: Run, trace: Trace) -> Iterator[Check]:
    """No packet is faster than the path, and one that met no queue is no slower; a schedule may change the path."""
    if any(run.device_changes):
        return
    for flow in run.flows:
        acks = of_flow(trace.acks, flow.id)
        measured = acks["rtt_us"][acks["rtt_us"] > 0]
        if flow.kind != "tcp" or not len(measured):
            continue
        base_us, jitter_us = _path_rtt_us(run, flow)
        early_us = max(base_us * _RTT_TOLERANCE, _RTT_GRACE_US["virtual"])
        tolerance_us = max(early_us, _RTT_GRACE_US[run.clock])
        least = int(measured.min())
        ok = least >= base_us - jitter_us - early_us
        if acks["retrans"][0] == 0 and _queue_empty(run, trace, flow.start_us, base_us + jitter_us):
            # The handshake met no queue: at most it waited for a frame before it and for its own to be sent.
            ok &= least <= base_us + jitter_us + tolerance_us + _frames_us(run, 2)
        yield Check("base RTT", ok, f"{flow.name}: least {least} us, path {base_us:.0f} us")


def _queue_empty(run: Run, trace: Trace, from_us: int, for_us: float) -> bool:
    """No packet waited for another one at any link in this time; a record tells of the tick before it."""
    links = trace.links
    near = (links["t_ns"] >= from_us * 1000) & (links["t_ns"] <= (from_us + for_us + run.trace.tick_us) * 1000)
    return not (links["queue_max_packets"][near] > 1).any()


def _frames_us(run: Run, count: int) -> float:
    """How long all links together need for this many full frames each."""
    return sum(count * run.meaning.frame_bytes * 8e6 / link.rate_bps for link in run.links)


def _path_rtt_us(run: Run, flow: Flow) -> tuple[float, float]:
    """The delay lines of a flow's round trip, and their jitter."""
    delay_ns = jitter_ns = 0
    devices = {end.dev: end for end in run.ends}
    for dev in (*flow.forward, *flow.back):
        for qdisc in devices[dev].qdiscs:
            delay_ns += int(qdisc.options.get("delay_ns") or 0)  # type: ignore[arg-type]
            jitter_ns += int(qdisc.options.get("jitter_ns") or 0)  # type: ignore[arg-type]
            # A packet that netem reorders goes at once.
            jitter_ns += int(qdisc.options.get("delay_ns") or 0) if qdisc.options.get("reorder_2p32") else 0  # type: ignore[arg-type]
    return delay_ns / 1000, jitter_ns / 1000


def _queue_limit(run: Run, trace: Trace, link: Link) -> Iterator[Check]:
    records = of_flow(trace.links, link.id)
    if not len(records):
        return
    if link.queue_limit_packets:
        most = int(records["queue_max_packets"].max())
        yield Check(
            "queue limit",
            most <= link.queue_limit_packets,
            f"{_at(run, link)}at most {most} packets waited, {link.queue_limit_packets} may",
        )
    elif link.queue_limit_bytes:
        most = int(records["queue_bytes"].max())
        yield Check(
            "queue limit",
            most <= link.queue_limit_bytes,
            f"{_at(run, link)}at most {most} bytes waited, {link.queue_limit_bytes} may",
        )


def _random_loss(run: Run, trace: Trace, link: Link) -> Iterator[Check]:
    """Independent random loss must stay inside its binomial interval."""
    netem = _qdisc_of(run, link.node, link.dev, "netem")
    share = int(netem.options.get("loss_2p32") or 0) / 2**32 if netem else 0.0  # type: ignore[arg-type]
    if netem and (netem.options.get("gemodel_2p32") or netem.options.get("duplicate_2p32")):
        return
    drops, records = of_flow(trace.drops, link.id), of_flow(trace.links, link.id)
    lost = int(np.count_nonzero(drops["state"] == DROP_RANDOM))
    dropped = len(drops)
    if run.clock == "real" and len(records):
        lost = int(records["losses"][-1])
        dropped = lost + int(records["drops"][-1])
    sent = int(counter(records, "tx_packets", run).value[-1])
    offered = sent + dropped
    expected, spread = offered * share, math.sqrt(offered * share * (1 - share))
    # The normal interval, with room for the skew of small counts.
    ok = abs(lost - expected) <= _SIGMAS * spread + (20 if share else 0)
    yield Check("random loss", ok, f"{_at(run, link)}{lost} of {offered} packets, {expected:.1f} expected")


def _qdisc_of(run: Run, node: str, dev: str, kind: str) -> Qdisc | None:
    return next(
        (qdisc for end in run.ends if (end.node, end.dev) == (node, dev) for qdisc in end.qdiscs if qdisc.kind == kind),
        None,
    )


def _conservation(run: Run, facts: Facts) -> Iterator[Check]:
    """At a bridge: what came in went out, was dropped by a queue, or still waits; by the real clock, but for the time of reading."""
    slack = 0.0
    if (machine := facts.get("machine")) is not None:
        reading_us = machine["snapshot_us"] + _READING_SLACK_US
        slack = _READING_PACKETS + 2 * reading_us * run.meaning.bandwidth_bps / (8e6 * run.meaning.frame_bytes)
    duplicates = any(qdisc.options.get("duplicate_2p32") for end in run.ends for qdisc in end.qdiscs)
    for node in run.nodes:
        if not node.bridge:
            continue
        devices = [device for device in facts["devices"] if device["node"] == node.name]
        came = sum(device["rx_packets"] for device in devices)
        went = sum(device["tx_packets"] for device in devices)
        roots = [qdisc for device in devices for qdisc in device["qdiscs"] if qdisc["parent"] == "root"]
        dropped, waiting = sum(root["drops"] for root in roots), sum(root["qlen"] for root in roots)
        left = went + dropped + waiting
        ok = came <= left + slack if duplicates else abs(came - left) <= slack
        yield Check("conservation", ok, f"{node.name}: {came} in = {went} out + {dropped} dropped + {waiting} waiting")


def _drops_elsewhere(run: Run, facts: Facts) -> Iterator[Check]:
    """Nothing is lost but in the queues that may lose: the bottleneck's, and delay lines with configured loss."""
    devices: tuple[End | DeviceChange, ...] = (*run.ends, *run.device_changes)
    allowed = {(one.node, one.dev) for one in devices if any(_may_drop(qdisc) for qdisc in one.qdiscs)}
    wrong = []
    for device in facts["devices"]:
        place = f"{device['node']} {device['dev']}"
        if device["rx_dropped"] or device["tx_dropped"]:
            wrong.append(f"{place}: {device['rx_dropped']} in, {device['tx_dropped']} out")
        if (device["node"], device["dev"]) not in allowed and (
            lost := sum(qdisc["drops"] for qdisc in device["qdiscs"])
        ):
            wrong.append(f"{place}: {lost} in its queue")
    for node in facts["nodes_snmp"]:
        wrong += [
            f"{node['node']} {what}: {node[what]}"
            for what in ("ip_discards", "ip_no_routes", "udp_rcvbuf_errors")
            if node[what]
        ]
    yield Check("no drop elsewhere", not wrong, _listed(wrong) or "none but where the plan has it")


def _may_drop(qdisc: Qdisc) -> bool:
    return qdisc.kind == "tbf" or bool(qdisc.options.get("loss_2p32") or qdisc.options.get("gemodel_2p32"))


def _windows(run: Run, trace: Trace) -> Iterator[Check]:
    """A window that was capped is what the sender was offered in the end, and held to all the time."""
    for flow in run.flows:
        cap, mss = flow.options.window_clamp_bytes, run.meaning.mss_bytes
        if cap and len(acks := of_flow(trace.acks, flow.id)):
            offered, flying = int(acks["snd_wnd"][-1]), int(acks["inflight"].max())
            least = run.least_mtu - run.meaning.mtu + mss
            ok = cap - mss < offered <= cap and flying * least <= max(cap, mss)
            yield Check("window", ok, f"{flow.name}: {offered} bytes offered, {cap} asked, {flying} packets in flight")


def _buffers(run: Run, facts: Facts) -> Iterator[Check]:
    """No sender was held back by a buffer, unless the experiment caps the window."""
    told = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        fact = told[flow.id]
        if flow.kind != "tcp" or flow.options.window_clamp_bytes or not fact["busy_us"]:
            continue
        limited_us = fact["rwnd_limited_us"] + fact["sndbuf_limited_us"]
        allowed_us = fact["busy_us"] * _LIMITED_SHARE + _OPENING_ROUND_TRIPS * _path_rtt_us(run, flow)[0]
        yield Check(
            "not limited by buffers",
            limited_us <= allowed_us,
            f"{flow.name}: {limited_us / fact['busy_us']:.2%} of its time",
        )
