"""Checks of a run's devices: configured as planned, no frame too large, and every packet accounted for. For checks.py.

A flipped bit (`corrupt`) in a header makes a bridge or a host drop the frame: up to the number of corrupted frames may be missing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from longhaul.orchestrator.plan.guests.cut import cut_run
from longhaul.orchestrator.plan.qdiscs import DCF, LINK, has_rate
from longhaul.orchestrator.plan.queues.policers import is_policer
from longhaul.orchestrator.plan.run import DeviceChange, End, Option, Qdisc, Run
from longhaul.orchestrator.trace.records import Trace

Facts = dict[str, Any]
# The name of a check, whether it holds, and the found value.
Verdict = tuple[str, bool, str]

# Counters advance while they are read: allowance for the duration of the reading, and for packets that are in no queue then.
_READING_SLACK_US = 4000
_READING_PACKETS = 10
# Standard deviations, and room for the skew of small counts: a sound run is outside less than once in a billion.
_SIGMAS, _FEW = 6.2, 20
# Options that the kernel does not report.
_UNREADABLE = frozenset({"stab"})
# Options that the transmitters of a channel share.
_OF_A_CHANNEL = ("rate_bps", "basic_rate_bps", "rts")
# Of many similar errors, the first few are listed.
_MOST_LISTED = 10


def judge_devices(run: Run, trace: Trace, facts: Facts) -> Iterator[Verdict]:
    """Every check of the devices."""
    if parts := facts.get("parts"):
        # The delay of a wire between two guests is not in a queue of either.
        run = cut_run(run, len(parts["guests"])).run
    yield _settings(run, facts)
    slack, corrupted = _reading_slack(run, facts), _most_corrupted(run, facts)
    yield _frames(run, trace, facts, slack)
    yield from _conservation(run, facts, slack, corrupted)
    yield _drops_elsewhere(run, facts, corrupted)


def listed(wrong: list[str]) -> str:
    """The first errors, and the number of the others."""
    rest = len(wrong) - _MOST_LISTED
    return "; ".join([*wrong[:_MOST_LISTED], *([f"and {rest} more"] if rest > 0 else [])])


def _settings(run: Run, facts: Facts) -> Verdict:
    """MTU and queueing disciplines, read back at the end, equal the plan's at that time."""
    read_back = {(device["node"], device["dev"]): device for device in facts["devices"]}
    wrong = [text for end in run.ends for text in _differences(run, end, read_back.get((end.node, end.dev)))]
    count = sum(len(end.qdiscs) for end in run.ends)
    return (
        "devices as asked",
        not wrong,
        listed(wrong) or f"{len(read_back)} devices, {count} queueing disciplines read back",
    )


def _differences(run: Run, end: End, found: Facts | None) -> Iterator[str]:
    place = f"{end.node} {end.dev}"
    if found is None:
        yield f"{place}: missing"
        return
    changes = [change for change in run.device_changes if (change.node, change.dev) == (end.node, end.dev)]
    mtu = next((change.mtu for change in reversed(changes) if change.mtu is not None), end.mtu)
    if found["mtu"] != mtu:
        yield f"{place}: an MTU of {mtu} asked, {found['mtu']} found"
    states: tuple[End | DeviceChange, ...] = (end, *changes)
    asked = {qdisc.handle: _on_its_channel(run, qdisc) for one in states for qdisc in one.qdiscs}
    # A device without a queue in the plan has the kernel's own, in which no packet ever waits.
    rooted = any(qdisc.parent == "root" for qdisc in asked.values())
    have = {one["handle"]: one for one in found["qdiscs"] if asked and (rooted or one["parent"] != "root")}
    for handle in sorted(asked.keys() | have.keys()):
        if handle not in asked or handle not in have:
            yield f"{place}: {'no ' if handle in asked else ''}queueing discipline {handle}"
            continue
        options: dict[str, Option] = have[handle]["options"]
        for name, value in _expected_options(asked[handle]).items():
            if _plain(options.get(name)) != _plain(value):
                yield f"{place} {asked[handle].kind}: {name} {value} asked, {options.get(name)} found"


def _on_its_channel(run: Run, qdisc: Qdisc) -> Qdisc:
    """With the options that a channel's transmitters share: a change at one of them changes all."""
    if qdisc.kind != DCF:
        return qdisc
    changed = [one for change in run.device_changes for one in change.qdiscs if one.kind == DCF]
    last = next((one for one in reversed(changed) if one.options["medium"] == qdisc.options["medium"]), qdisc)
    return replace(qdisc, options={**qdisc.options, **{name: last.options[name] for name in _OF_A_CHANNEL}})


def _expected_options(qdisc: Qdisc) -> dict[str, Option]:
    return {name: value for name, value in qdisc.options.items() if name not in _UNREADABLE}


def _plain(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value


def _frames(run: Run, trace: Trace, facts: Facts, slack: float) -> Verdict:
    """The largest frame that a bottleneck sent or dropped fits; the segments that sockets count equal the frames that their hosts' devices count."""
    most = run.meaning.frame_bytes
    # A sampled trace does not contain each frame; none can be larger without segmentation offload.
    seen = [link["max_frame_bytes"] for link in facts["links"] if link["max_frame_bytes"] is not None]
    if len(trace.drops):
        seen.append(int(trace.drops["length"].max()))
    largest = max(seen, default=0)
    joining = {(end.node, end.dev) for end in run.ends if end.offloads}
    offloads = all(
        device["offloads_off"] != ((device["node"], device["dev"]) in joining) for device in facts["devices"]
    )
    wrong = [*_segments_without_a_frame(run, facts, slack)]
    largest_text = f"largest {f'{largest} bytes' if seen else 'not seen'}, {most} allowed, offloads {'NOT ' if not offloads else ''}{'on at hosts' if joining else 'off'}"
    return "no frame above the MTU", largest <= most and offloads and not wrong, "; ".join([largest_text, *wrong])


def _segments_without_a_frame(run: Run, facts: Facts, slack: float) -> Iterator[str]:
    sent: dict[str, int] = {}
    for flow, fact in zip(run.flows, facts["flows"], strict=True):
        sent[flow.from_node] = sent.get(flow.from_node, 0) + fact["packets_sent"]
    left = dict.fromkeys(sent, 0)
    for device in facts["devices"]:
        if device["node"] in left:
            roots = [qdisc for qdisc in device["qdiscs"] if qdisc["parent"] == "root"]
            left[device["node"]] += device["tx_packets"] + sum(root["qlen"] + root["drops"] for root in roots)
    for node, segments in sent.items():
        if segments > left[node] + slack:
            yield f"{node}: {segments} segments sent in {left[node]} frames"


def _most_corrupted(run: Run, facts: Facts) -> float:
    """The most frames in which chance may have flipped a bit."""
    shares: dict[tuple[str, str], float] = {}
    devices: tuple[End | DeviceChange, ...] = (*run.ends, *run.device_changes)
    for one in devices:
        for qdisc in one.qdiscs:
            share = int(qdisc.options.get("corrupt_2p32") or 0) / 2**32  # type: ignore[arg-type]
            shares[one.node, one.dev] = max(share, shares.get((one.node, one.dev), 0.0))
    most = 0.0
    for device in facts["devices"]:
        if share := shares.get((device["node"], device["dev"]), 0.0):
            frames = sum(qdisc["packets"] + qdisc["drops"] for qdisc in device["qdiscs"] if qdisc["parent"] == "root")
            most += frames * share + _SIGMAS * math.sqrt(frames * share * (1 - share)) + _FEW
    return most


def _reading_slack(run: Run, facts: Facts) -> float:
    """In real time, the packets that move while counters are read."""
    if (machine := facts.get("machine")) is None:
        return 0.0
    reading_us = machine["snapshot_us"] + _READING_SLACK_US
    return float(_READING_PACKETS + 2 * reading_us * run.meaning.bandwidth_bps / (8e6 * run.meaning.frame_bytes))


def _conservation(run: Run, facts: Facts, slack: float, corrupted: float) -> Iterator[Verdict]:
    """At a bridge: incoming packets left, were dropped by a queue, or still wait; on its wires from other guests, none got lost."""
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
        ok = came <= left + slack + corrupted and (duplicates or left - came <= slack)
        counted = f"{node.name}: {came} in = {went} out + {dropped} dropped + {waiting} waiting"
        lost = list(_lost_between_guests(run, facts, node.name))
        about = counted + (f", at most {corrupted:.0f} corrupted" if corrupted else "")
        yield "conservation", ok and not lost, "; ".join([about, *lost])


def _lost_between_guests(run: Run, facts: Facts, bridge: str) -> Iterator[str]:
    """The wires to a bridge from another guest on which a packet that one end sent neither arrived at the other nor is on the way."""
    if (parts := facts.get("parts")) is None:
        return
    devices = {device["dev"]: device for device in facts["devices"]}
    for wire in run.wires:
        if bridge not in [end.node for end in wire.ends]:
            continue
        for near, far in (wire.ends, wire.ends[::-1]):
            if (waiting := parts["on_the_way"].get(near.dev)) is None:
                continue
            sent, came = devices[near.dev]["tx_packets"], devices[far.dev]["rx_packets"]
            if sent != came + devices[far.dev]["rx_dropped"] + waiting:
                yield f"between guests, {near.dev} sent {sent}, {came} arrived and {waiting} are on the way"


def _drops_elsewhere(run: Run, facts: Facts, corrupted: float) -> Verdict:
    """No packet is lost except in the queues that may drop: the bottleneck's, and delay lines with configured loss."""
    devices: tuple[End | DeviceChange, ...] = (*run.ends, *run.device_changes)
    allowed = {(one.node, one.dev) for one in devices if any(_may_drop(qdisc) for qdisc in one.qdiscs)}
    wrong, refused, spoiled = [], [], 0
    for device in facts["devices"]:
        place = f"{device['node']} {device['dev']}"
        if device["rx_dropped"] or device["tx_dropped"]:
            refused.append(f"{place}: {device['rx_dropped']} in, {device['tx_dropped']} out")
            spoiled += device["rx_dropped"] + device["tx_dropped"]
        if (device["node"], device["dev"]) not in allowed and (
            lost := sum(qdisc["drops"] for qdisc in device["qdiscs"])
        ):
            wrong.append(f"{place}: {lost} in its queue")
        links = [qdisc for qdisc in device["qdiscs"] if qdisc["kind"] == LINK]
        explained = ("losses", "refused", "policed_packets")
        if lost := sum(one["drops"] - sum(one["link"].get(name, 0) for name in explained) for one in links):
            wrong.append(f"{place}: {lost} for which its queue had no memory")
    for node in facts["nodes_snmp"]:
        for what in ("ip_discards", "ip_no_routes"):
            if node[what]:
                refused.append(f"{node['node']} {what}: {node[what]}")
                spoiled += node[what]
        if node["udp_rcvbuf_errors"]:
            wrong.append(f"{node['node']} udp_rcvbuf_errors: {node['udp_rcvbuf_errors']}")
    if spoiled > corrupted:
        wrong += refused
    refusals = f"{spoiled} frames that hosts refused, of at most {corrupted:.0f} corrupted" if spoiled else ""
    return "no drop elsewhere", not wrong, listed(wrong) or refusals or "none but where the plan has it"


def _may_drop(qdisc: Qdisc) -> bool:
    return (
        qdisc.kind == DCF
        or has_rate(qdisc)
        or is_policer(qdisc)
        or bool(qdisc.options.get("loss_2p32") or qdisc.options.get("gemodel_2p32"))
    )
