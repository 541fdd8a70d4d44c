"""Fidelity: what must hold of every run before anyone is shown a number of it.

Each check says what was expected and what was found. A run with one broken check has no result. The tolerances are those of
docs/fidelity.md; random shares are held to an interval that a sound run leaves less than once in a billion runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from orchestrator.analysis.budget import over_budget, told
from orchestrator.analysis.links import judge_limit, judge_losses, judge_rate
from orchestrator.analysis.real_paths import judge_hosts
from orchestrator.analysis.series import of_flow
from orchestrator.analysis.wireless import is_wireless, judge_media
from orchestrator.iperf3 import IPERF3
from orchestrator.qdiscs import DCF
from orchestrator.run import DeviceChange, End, Flow, FlowChange, Qdisc, Run
from orchestrator.trace import EVENT_END, EVENT_FLOW_CHANGE, EVENT_PATH_CHANGE, Trace

Facts = dict[str, Any]

# By the clock: real timers are late, within the budget (budget.py).
_RTT_TOLERANCE = 0.001
_RTT_GRACE_US = {"virtual": 20, "real": 2000}
_LIMITED_SHARE = 0.01
_SYN_AGAIN_US = 1_000_000
_LATE_US = {"virtual": 100, "real": 10_000}
# Counters go on while they are read: at most this much longer than it took, and what is in no queue at the moment.
_READING_SLACK_US = 4000
_READING_PACKETS = 10
# A connection's first window is 64 KB whatever the receiver's memory (the SYN's window is not scaled); it then opens within this.
_OPENING_ROUND_TRIPS = 3
# Of many things that are wrong in the same way, the first few tell.
_MOST_LISTED = 10


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
    if run.hosts:
        return [
            *_complete(trace, facts),
            *_congestion_controls(run, trace, facts),
            *_schedule(run, trace, facts),
            *(Check(*verdict) for verdict in judge_hosts(run, trace, facts)),
        ]
    return [
        *_complete(trace, facts),
        *_budget(facts),
        *_congestion_controls(run, trace, facts),
        *_ecn(run, facts),
        *_schedule(run, trace, facts),
        *_sysctls(run, facts),
        *_frames(run, facts),
        *_links(run, trace),
        *_base_rtt(run, trace, facts),
        *(Check("air time", ok, text) for ok, text in judge_media(run, facts)),
        *_conservation(run, facts),
        *_drops_elsewhere(run, facts),
        *_windows(run, trace),
        *_buffers(run, facts),
        *_iperf3(run, facts),
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


def _ecn(run: Run, facts: Facts) -> Iterator[Check]:
    """A connection has ECN exactly where its sender asks for it: a receiver that refuses does so without a word."""
    asks = {node.name: dict(node.sysctls).get("net/ipv4/tcp_ecn") == "1" for node in run.nodes}
    told = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        fact, asked = told[flow.id], asks[flow.from_node]
        # A dctcp connection has it whatever the host says.
        if flow.kind != "tcp" or fact["connected_us"] is None or flow.options.both_ends:
            continue
        # A SYN that is sent again asks for none (RFC 3168, section 6.1.1.1).
        if fact["connected_us"] - flow.start_us >= _SYN_AGAIN_US:
            continue
        if fact["ecn"] != asked:
            words = ("without", "with")
            yield Check("ECN as asked", False, f"{flow.name}: asked {words[asked]}, found {words[fact['ecn']]}")


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
        if verdict := judge_rate(run, trace, link):
            yield Check("bottleneck rate", *verdict)
        if verdict := judge_limit(run, trace, link):
            yield Check("queue limit", *verdict)
        if verdict := judge_losses(run, trace, link):
            yield Check("random loss", *verdict)


def _base_rtt(run: Run, trace: Trace, facts: Facts) -> Iterator[Check]:
    """No packet is faster than the path, and one that met no queue is no slower; a schedule may change the path."""
    if any(run.device_changes):
        return
    connected_us = {fact["id"]: fact["connected_us"] for fact in facts["flows"]}
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
        # iperf3 has said on another connection what is to come before it makes that of the data.
        begun_us = flow.start_us if flow.tool != IPERF3 else connected_us[flow.id] - base_us - jitter_us
        if acks["retrans"][0] == 0 and not is_wireless(run) and _queue_empty(run, trace, begun_us, base_us + jitter_us):
            # The handshake met no queue: at most it waited for a frame before it and for its own to be sent.
            ok &= least <= base_us + jitter_us + tolerance_us + _frames_us(run, 2)
        yield Check("base RTT", ok, f"{flow.name}: least {least} us, path {base_us:.0f} us")


def _queue_empty(run: Run, trace: Trace, from_us: float, for_us: float) -> bool:
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
    return qdisc.kind in ("tbf", DCF) or bool(qdisc.options.get("loss_2p32") or qdisc.options.get("gemodel_2p32"))


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


def _iperf3(run: Run, facts: Facts) -> Iterator[Check]:
    """iperf3 is a second witness: it did what it was told, and what it counted is what the kernel counted."""
    told = {fact["id"]: fact for fact in facts["flows"]}
    for flow in run.flows:
        if flow.tool == IPERF3 and not told[flow.id]["error"]:
            wrong = [*_contradictions(run, flow, told[flow.id])]
            said = told[flow.id]["iperf3"]
            told_bytes = (
                f"{said['bytes_sent']} bytes sent, {said['bytes_received']} received, {said['retransmits']} sent again"
            )
            yield Check("iperf3 agrees", not wrong, f"{flow.name}: {'; '.join(wrong) or told_bytes}")


def _contradictions(run: Run, flow: Flow, fact: Facts) -> Iterator[str]:
    said = fact["iperf3"]
    if missing := [name for name, value in said.items() if value is None]:
        yield f"its JSON has no {', '.join(missing)}"
        return
    if said["block_bytes"] != flow.block_bytes:
        yield f"blocks of {said['block_bytes']} bytes, asked {flow.block_bytes}"
    # It reads them as it makes its connection; a schedule may have been before.
    controls = {flow.cc, *(change.cc for change in run.changes_of(flow))}
    for end in ("sender_cc", "receiver_cc"):
        if said[end] not in controls:
            yield f"{end} {said[end]}, asked {flow.cc}"
    if said["bytes_sent"] != said["bytes_given"]:
        yield f"{said['bytes_sent']} bytes sent, its socket got {said['bytes_given']}"
    # Its server is told of the end on another connection, and reads no more then.
    lacking = fact["bytes_received"] - said["bytes_received"]
    if abs(lacking) > said["bytes_under_way"]:
        yield f"{said['bytes_received']} bytes received, {fact['bytes_received']} arrived, {said['bytes_under_way']} were under way at its end"
    # What is lost after the last byte of a size was given away it does not see.
    again = fact["retransmits"]
    if said["retransmits"] > again or (flow.bytes is None and said["retransmits"] != again):
        yield f"{said['retransmits']} segments sent again, the kernel counted {again}"
