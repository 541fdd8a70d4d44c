"""Checks of L4S: the two queues of dualpi2 against the kernel's own counts, ECN codepoints, and marks at both ends of a flow.

    sender --- ECT(1)? ---> dualpi2 --- marks ---> receiver counts them --- AccECN ---> sender hears of them

Each packet that leaves dualpi2 is in the trace, so that marks are counted there flow by flow. In real time there is no such trace.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from longhaul.orchestrator.analysis.dual_queue import dual_links
from longhaul.orchestrator.analysis.series import of_flow
from longhaul.orchestrator.plan.qdiscs import CLSACT, DCF, DUALPI2, ECT0, has_rate
from longhaul.orchestrator.plan.run import Flow, Link, Qdisc, Run
from longhaul.orchestrator.trace.records import ECN_MARKED, QUEUE_CLASSIC, QUEUE_L4S, Records, Trace

Facts = dict[str, Any]
# The name of a check, whether it holds, and the found value.
Verdict = tuple[str, bool, str]

# Ethernet, IP and TCP headers with all options.
_LONGEST_ACK_BYTES = 14 + 20 + 60
# A receiver may keep an ACK back for this long.
_DELAYED_ACK_US = 200_000
# Chance changes the content or the number of packets.
_SPOILING = ("corrupt_2p32", "duplicate_2p32")
_LOSING = ("loss_2p32", "gemodel_2p32")


def judge_l4s(run: Run, trace: Trace, facts: Facts) -> Iterator[Verdict]:
    """Every check of L4S that applies to this run."""
    followed = dual_links(run)
    links = [link for link in run.links if link.id in followed]
    left = {link.id: of_flow(trace.departures, link.id) for link in links}
    spoiled = _has(run, _SPOILING)
    for link in links:
        yield "two queues", *_judge_counts(run, link, left[link.id], facts, lone=len(links) == 1 and _only_mark(run))
    for flow, fact in zip(run.flows, facts["flows"], strict=True):
        passed = [link for link in links if link.dev in flow.forward]
        # Programs choose their ports themselves, and a plan cannot name their packets by them.
        if not passed or spoiled or flow.kind == "program":
            continue
        last = max(passed, key=lambda link: flow.forward.index(link.dev))
        packets = left[last.id][
            left[last.id]["source_port" if flow.requests is not None else "destination_port"] == flow.port
        ]
        if (asked := _codepoint(run, flow)) is not None:
            yield "ECT as asked", *_judge_codepoint(flow, packets, asked)
        if flow.kind != "udp" and fact["connected_us"] is not None and fact["marks_received"] is not None:
            yield "marks", *_judge_marks(run, trace, flow, fact, last, packets)


def _judge_counts(run: Run, link: Link, left: Records, facts: Facts, *, lone: bool) -> tuple[bool, str]:
    """What came into both queues left, was dropped or still waits, and left the queue that the kernel counted it in."""
    device = next(one for one in facts["devices"] if (one["node"], one["dev"]) == (link.node, link.dev))
    found = next(one for one in device["qdiscs"] if one["kind"] == DUALPI2)
    came = found["dualpi2"]["classic_packets"], found["dualpi2"]["l4s_packets"]
    went = tuple(int(np.count_nonzero(left["state"] == queue)) for queue in (QUEUE_CLASSIC, QUEUE_L4S))
    marked = int(np.count_nonzero(left["ecn"] == ECN_MARKED))
    missing = sum(came) - sum(went) - found["qlen"]
    ok = all(out <= into for out, into in zip(went, came, strict=True)) and 0 <= missing <= found["drops"]
    # A packet that the queue has marked may still wait in it, or be dropped; one marked for the coupling and at the step counts twice.
    most = found["qlen"] + found["drops"] + found["dualpi2"]["step_marks"]
    ok &= not lone or 0 <= found["marks"] - marked <= most
    at = f"{link.name}: " if len(run.links) > 1 else ""
    counted = f"Classic {came[0]} in, {went[0]} out, L4S {came[1]} in, {went[1]} out, {found['qlen']} waiting, {found['drops']} dropped"
    return ok, f"{at}{counted}; {found['marks']} marks by the kernel's count, {marked} in the trace"


def _only_mark(run: Run) -> bool:
    """Whether no other queue of the run marks, so that all marks are those of its dualpi2."""
    kinds = [qdisc for end in run.ends for qdisc in end.qdiscs if _marks(qdisc)]
    return len(kinds) == 1


def _marks(qdisc: Qdisc) -> bool:
    return qdisc.kind in ("cake", DUALPI2) or bool(qdisc.options.get("ecn"))


def _codepoint(run: Run, flow: Flow) -> tuple[int, ...] | None:
    """The ECN fields that packets of a flow may have at a queue; None if nothing was asked."""
    if flow.kind == "udp":
        return flow.options.ect, ECN_MARKED if flow.options.ect else 0
    remarked = {end.node for end in run.ends if any(qdisc.kind == CLSACT for qdisc in end.qdiscs)}
    return tuple({0, 1, 2, 3} - {ECT0}) if flow.from_node in remarked else None


def _judge_codepoint(flow: Flow, packets: Records, asked: tuple[int, ...]) -> tuple[bool, str]:
    others = packets["ecn"][~np.isin(packets["ecn"], asked)]
    names = {0: "without ECN", 1: "with ECT(1)", 2: "with ECT(0)", 3: "marked"}
    found = [
        f"{int(count)} {names[int(bits)]}" for bits, count in zip(*np.unique(others, return_counts=True), strict=True)
    ]
    return not found, f"{flow.name}: {', '.join(found) or f'{len(packets)} packets, each as asked'}"


def _judge_marks(run: Run, trace: Trace, flow: Flow, fact: Facts, link: Link, packets: Records) -> tuple[bool, str]:
    """The receiver saw the marks that left the queue, but for those on the way; the sender of accurate ECN heard of those."""
    marked = packets[packets["ecn"] == ECN_MARKED]
    # A sender's bare ACK of its receiver's FIN comes after the receiver has counted.
    marked_us = marked["t_ns"][marked["length"] > _LONGEST_ACK_BYTES] / 1000
    behind = _qdiscs(run, flow.forward[flow.forward.index(link.dev) + 1 :])
    back = _qdiscs(run, flow.back)
    way_us = sum(_delay_us(qdisc) for qdisc in behind)
    received, reported = fact["marks_received"], fact["marks_reported"]
    made = len(marked)
    # A receiver that has a segment already may not count its second copy.
    certain = (
        0 if any(map(_loses, behind)) else int((marked_us <= run.duration_us - way_us).sum()) - fact["retransmits"]
    )
    ok = certain <= received <= made
    text = f"{flow.name}: {made} marks left {link.name}, the receiver saw {received}"
    if fact["accurate_ecn"] and not any(map(_loses, back)):
        rtts_us = of_flow(trace.acks, flow.id)["rtt_us"]
        ack_us = way_us + (int(rtts_us.max()) if len(rtts_us) else 0) + _DELAYED_ACK_US
        heard = min(received, int((marked_us <= run.duration_us - ack_us).sum()) - fact["retransmits"])
        ok &= heard <= reported <= received
        text += f", the sender heard of {reported}"
    return ok, text


def _qdiscs(run: Run, devices: tuple[str, ...]) -> list[Qdisc]:
    named = {end.dev: end for end in run.ends}
    return [qdisc for dev in devices for qdisc in named[dev].qdiscs]


def _delay_us(qdisc: Qdisc) -> float:
    delay_ns, jitter_ns = qdisc.options.get("delay_ns") or 0, qdisc.options.get("jitter_ns") or 0
    assert isinstance(delay_ns, int) and isinstance(jitter_ns, int)
    return (delay_ns + jitter_ns) / 1000


def _loses(qdisc: Qdisc) -> bool:
    """Whether packets may be lost there, or wait for a time that is not known."""
    return qdisc.kind == DCF or has_rate(qdisc) or any(qdisc.options.get(name) for name in _LOSING)


def _has(run: Run, options: tuple[str, ...]) -> bool:
    changed = [qdisc for change in run.device_changes for qdisc in change.qdiscs]
    return any(
        qdisc.options.get(name)
        for qdisc in [*_qdiscs(run, tuple(end.dev for end in run.ends)), *changed]
        for name in options
    )
