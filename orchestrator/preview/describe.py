"""A plan as text: every resolved number, the place of each impairment, the qdiscs as tc commands, cost and notes."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from typing import TYPE_CHECKING

from longhaul.orchestrator.plan.cost import data_packets, memory_estimate_mb, packets_per_second, wall_estimate_s
from longhaul.orchestrator.plan.guests.cut import cut_run
from longhaul.orchestrator.plan.kernel_names import replaced
from longhaul.orchestrator.plan.qdiscs import CLSACT, DCF, DELAYS, LINK, counts_bytes, has_rate
from longhaul.orchestrator.plan.queues.policers import is_policer, policer_text
from longhaul.orchestrator.plan.queues.tc_words import tc_command
from longhaul.orchestrator.plan.run import (
    DeviceChange,
    End,
    Flow,
    FlowChange,
    Module,
    ModuleChange,
    Parts,
    Qdisc,
    Run,
)
from longhaul.orchestrator.preview.flow_text import control_text, requests_text
from longhaul.orchestrator.preview.topology_picture import as_text, picture_of
from longhaul.orchestrator.spec.congestion_controls import USER_SUPPLIED
from longhaul.orchestrator.spec.sections.flow_parts import dscp_text
from longhaul.orchestrator.system.installation import KMOD
from longhaul.orchestrator.system.units import format_duration, format_rate, format_size

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.compile import Plan

_MOST_POINTS = 20
_MOST_PATHS = 8


def describe_plan(plan: Plan) -> str:
    """The whole plan: the first run in full, the differences of the others."""
    title, *details = describe_run(plan.runs[0])
    drawn = as_text(picture_of(plan.graph)).splitlines()
    lines = [title, "", *(f"  {line}" for line in drawn), *details]
    if len(plan.runs) > 1:
        total_s = sum(wall_estimate_s(run) for run in plan.runs)
        lines += ["", f"{len(plan.runs)} runs, about {_seconds(total_s)} of wall time one after the other"]
        lines += [f"  {run.title}" for run in plan.runs[:_MOST_POINTS]]
        lines += [f"  and {len(plan.runs) - _MOST_POINTS} more"] if len(plan.runs) > _MOST_POINTS else []
    lines += [f"note: {note}" for note in plan.lint]
    return "\n".join(lines)


def describe_run(run: Run) -> Iterator[str]:
    """One run, line by line."""
    yield run.title + (f": {run.meaning.about}" if run.meaning.about else "")
    yield ""
    yield from _picture(run)
    yield ""
    yield from _numbers(run)
    yield ""
    for flow in run.flows:
        yield f"  {flow.name}: {_flow_text(run, flow)}"
    for module in run.modules:
        if module.replaces:
            yield f"  {module.replaces}: {module.file} of user-supplied source {module.source}, in place of {_kernels_own(module.replaces)}; {module.registers} in the guest"
        elif module.source:
            file = f"{module.file} of " if module.file else ""
            yield f"  {module.name.removeprefix('tcp_')}: {file}user-supplied source {module.source}"
        if module.params:
            yield f"  {module.name}: {' '.join(f'{name}={value}' for name, value in module.params.items())}"
    for name, value in run.knobs:
        yield f"  {name}: {value}"
    if run.capture is not None:
        yield f"  packets: {_capture_text(run.capture)}"
    yield ""
    for end in run.ends:
        yield from (f"  {end.node}: {tc_command(end.dev, qdisc)}" for qdisc in end.qdiscs)
    for change in run.schedule:
        lines = _device_text(change) if isinstance(change, DeviceChange) else [change_text(run, change)]
        yield from (f"  at {format_duration(change.at_us)} {line}" for line in lines)


def _capture_text(capture: Module) -> str:
    snap, ports = capture.params["snap"], capture.params.get("ports")
    bytes_each = "their headers" if snap == "0" else f"{snap} bytes of each"
    return f"{bytes_each} at {capture.params['at'].replace(',', ', ')}{f', of ports {ports}' if ports else ''}"


def change_text(run: Run, change: ModuleChange | FlowChange) -> str:
    """A schedule's change of a flow or of a module, as in bic: cc reno."""
    if isinstance(change, ModuleChange):
        return f"{change.module}: {' '.join(f'{name}={value}' for name, value in change.params.items())}"
    changes = [] if change.cc is None else [f"cc {_control_of(run, change.cc)}"]
    if change.max_pacing_bps is not None:
        changes.append(f"rate {format_rate(change.max_pacing_bps)}" if change.max_pacing_bps else "no rate")
    return f"{run.flows[change.flow].name}: {', '.join(changes)}"


def _control_of(run: Run, cc: str) -> str:
    """A control to which a flow is switched."""
    own = replaced(run).get(cc)
    return cc if own is None else f"{cc} ({USER_SUPPLIED}{own.source[:8]})"


def _kernels_own(cc: str) -> str:
    return "the project's" if (KMOD / f"tcp_{cc}.c").is_file() else "the kernel's"


def _device_text(change: DeviceChange) -> Iterator[str]:
    for qdisc in change.qdiscs:
        yield f"{change.node}: {tc_command(change.dev, qdisc).replace(' add ', ' change ', 1)}"
    if change.mtu is not None:
        yield f"{change.node}: ip link set dev {change.dev} mtu {change.mtu}"


def _picture(run: Run) -> Iterator[str]:
    """Each path of flows, with what happens to packets in each direction."""
    paths = dict.fromkeys((flow.from_node, flow.to_node, flow.forward, flow.back) for flow in run.flows)
    devices = {end.dev: end for end in run.ends}
    for sender, receiver, forward, back in list(paths)[:_MOST_PATHS]:
        there = [text for dev in forward if (text := _device_picture(devices[dev]))]
        yield f"  {' ----> '.join([sender, *there, receiver])}"
        returning = [text for dev in reversed(back) if (text := _device_picture(devices[dev]))]
        yield f"  {' <---- '.join([sender, *returning, receiver])}"
    if len(paths) > _MOST_PATHS:
        yield f"  and {len(paths) - _MOST_PATHS} more paths"


def _channel_text(qdisc: Qdisc) -> str:
    if not qdisc.options.get("ht"):
        return "802.11 channel"
    return f"aggregates of up to {_number(qdisc, 'aggregate')} frames on 802.11n channel"


def _device_picture(end: End) -> str:
    """The work of a device's qdiscs, in the order in which a packet meets them; empty without qdiscs."""
    parts = [policer_text(qdisc) for qdisc in end.qdiscs if is_policer(qdisc)]
    parts += [_delay_text(qdisc) for qdisc in end.qdiscs if qdisc.kind in DELAYS and not is_policer(qdisc)]
    parts += [format_rate(_number(qdisc, "rate_bps")) for qdisc in end.qdiscs if has_rate(qdisc)]
    parts += [
        f"{_channel_text(qdisc)} {_number(qdisc, 'medium')} at {format_rate(_number(qdisc, 'rate_bps'))}"
        for qdisc in end.qdiscs
        if qdisc.kind == DCF
    ]
    parts += ["ECT(0) becomes ECT(1)" for qdisc in end.qdiscs if qdisc.kind == CLSACT]
    queues = [
        qdisc
        for qdisc in end.qdiscs
        if qdisc.kind not in ("netem", "tbf", CLSACT) and (qdisc.kind != LINK or has_rate(qdisc))
    ]
    droptail = ("pfifo", "bfifo", DCF, LINK)
    parts += [f"{'droptail' if one.kind in droptail else one.kind} of {_room(one)}" for one in queues]
    return f"{end.node}: {' -> '.join(parts)}" if parts else ""


def _delay_text(delay: Qdisc) -> str:
    parts = [f"delay {format_duration(_number(delay, 'delay_ns') // 1000)} one way"]
    if _number(delay, "jitter_ns"):
        in_order = delay.kind == LINK or delay.options["keep_order"]
        parts.append(f"jitter {format_duration(_number(delay, 'jitter_ns') // 1000)}{' in order' if in_order else ''}")
    parts += [
        f"{name} {_number(delay, f'{name}_2p32') / 2**32:.3g}"
        for name in ("loss", "duplicate", "corrupt", "reorder")
        if delay.options.get(f"{name}_2p32")
    ]
    if model := delay.options["gemodel_2p32"]:
        assert isinstance(model, tuple)
        p, r, h, k = (part / 2**32 for part in model)
        parts.append(f"bursts p {p:.3g} r {r:.3g} loss {k:.3g} (good) {1 - h:.3g} (bad)")
    return ", ".join(parts)


def _room(qdisc: Qdisc) -> str:
    if "limit" not in qdisc.options:
        return f"{format_size(_number(qdisc, 'memory_bytes'))} of kernel memory"
    limit = _number(qdisc, "limit")
    return format_size(limit) if counts_bytes(qdisc) else f"{limit} packets"


def _number(qdisc: Qdisc, name: str) -> int:
    value = qdisc.options[name]
    assert isinstance(value, int)
    return value


def _numbers(run: Run) -> Iterator[str]:
    meaning = run.meaning
    yield f"  base round trip  {format_duration(meaning.rtt_us)} = {format_duration(meaning.forward_us)} forward + {format_duration(meaning.reverse_us)} reverse"
    yield f"  BDP              {meaning.bdp_packets} packets, {format_size(meaning.bdp_bytes)} (frames of {meaning.frame_bytes} bytes, MSS {meaning.mss_bytes})"
    share = meaning.buffer_packets / meaning.bdp_packets if meaning.bdp_packets else 0
    full_us = meaning.buffer_bytes * 8_000_000 // meaning.bandwidth_bps
    yield f"  buffer           {meaning.buffer_text} = {meaning.buffer_packets} packets, {format_size(meaning.buffer_bytes)}, {share:.3g} BDP, {format_duration(full_us)} when full"
    for table in run.recordings:
        link = next((one for one in run.links if one.dev == table.dev and one.offered_bytes), None)
        mean = f", mean {format_rate(link.rate_bps)}" if link and table.kind in ("rates", "opportunities") else ""
        yield f"  recorded         {table.dev}: {table.kind.replace('_', ' ')} in {table.rows} rows{mean}"
    begin_us, end_us = run.window_us
    yield f"  duration         {format_duration(run.duration_us)}, summaries from {format_duration(begin_us)} to {format_duration(end_us)}"
    if run.phases:
        phases = (f"{one.name} {format_duration(one.begin_us)} to {format_duration(one.end_us)}" for one in run.phases)
        yield f"  phases           {', '.join(phases)}"
    yield f"  packets          {packets_per_second(run):.0f} a second, {data_packets(run)} at most"
    yield f"  cost             about {_seconds(wall_estimate_s(run))} of wall time{_unknown(run)}, {memory_estimate_mb(run):.0f} MB of a guest of {run.memory_mb} MB, kernel {run.kernel}"
    if run.parts is not None:
        yield f"  parts            {_parts_text(run, run.parts)}"


def _unknown(run: Run) -> str:
    """What a cost does not contain."""
    return " and what its programs compute" if any(flow.program is not None for flow in run.flows) else ""


def _flow_text(run: Run, flow: Flow) -> str:
    marked = f", DSCP {dscp_text(flow.options.dscp)}" if flow.options.dscp else ""
    return f"{_traffic_text(run, flow)}{marked}"


def _traffic_text(run: Run, flow: Flow) -> str:
    stop = "" if flow.stop_us is None else f", stops at {format_duration(flow.stop_us)}"
    when = f"{flow.from_node} -> {flow.to_node}, starts at {format_duration(flow.start_us)}{stop}"
    if flow.requests is not None:
        return f"{requests_text(flow.requests)} over {control_text(flow.cc, flow.variant)}, {when}"
    if flow.kind == "udp":
        pattern = (
            ""
            if flow.on_off is None
            else f" on {format_duration(flow.on_off.on_us)} off {format_duration(flow.on_off.off_us)}"
        )
        return f"udp {format_rate(flow.rate_bps)}{pattern}, {when}"
    if flow.kind == "web":
        return f"web over {control_text(flow.cc, flow.variant)}, objects of {format_size(flow.mean_bytes)}, pauses of {format_duration(flow.think_us)}, {when}"
    if flow.kind == "program":
        return f"{_programs_text(flow)} over {control_text(flow.cc, flow.variant)}, {when}"
    size = "" if flow.bytes is None else f" {format_size(flow.bytes)}"
    if flow.group is not None:
        size += f" shared by {flow.group.flows} streams of {flow.group.name}"
    window = (
        ""
        if not flow.options.window_clamp_bytes
        else f", window {flow.options.window_clamp_bytes // run.meaning.mss_bytes} packets"
    )
    rate = f", rate {format_rate(flow.options.max_pacing_bps)}" if flow.options.max_pacing_bps else ""
    return f"tcp {control_text(flow.cc, flow.variant)}{size}{rate}, {when}{window}{_sockopts_text(flow)}"


def _programs_text(flow: Flow) -> str:
    if flow.program is None:
        return "another connection of the programs"
    server, client = (shlex.join(words) for words in (flow.program.server, flow.program.client))
    sends = "server" if flow.program.server_sends else "client"
    return f"programs, data of the {sends}: `{server}` and `{client}`"


def _sockopts_text(flow: Flow) -> str:
    options = (f"{level}/{name}={value}" for level, name, value in flow.options.sockopts)
    return f", socket options {' '.join(options)}" if flow.options.sockopts else ""


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def _parts_text(run: Run, parts: Parts) -> str:
    """Its guests, and how long before the others each of them may run."""
    cut = cut_run(run, parts.number)
    several = len(run.kernels) > 1
    guests = [
        " ".join(node.name for node in run.nodes if node.name in names)
        + (f" (kernel {cut.kernel(part)})" if several else "")
        for part, names in enumerate(cut.nodes)
    ]
    few = ", if as many processors are free" if parts.auto else ""
    wait = format_duration(max(1, cut.window_ns // 1000))
    return f"{parts.number} guests{few}: {' | '.join(guests)}; they wait for each other every {wait}"
