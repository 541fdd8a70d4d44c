"""Notes on a run that is valid but odd: one sentence each, with the number that makes it odd and the field to change."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from longhaul.orchestrator.plan.cost import wall_estimate_s
from longhaul.orchestrator.plan.qdiscs import CLSACT, DELAYS, DUALPI2, ECT1, marks
from longhaul.orchestrator.plan.queues.cake import cake_notes
from longhaul.orchestrator.plan.queues.policers import policing_notes
from longhaul.orchestrator.plan.run import Flow, Run
from longhaul.orchestrator.plan.tcp_settings import largest_window_bytes
from longhaul.orchestrator.plan.traffic.programs import programs_note
from longhaul.orchestrator.spec.congestion_controls import ALIASES, CONGESTION_CONTROLS
from longhaul.orchestrator.spec.kernel_versions import KERNELS_WITHOUT_DUPTHRESH, WIDE_KERNELS
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import format_duration, format_rate, format_size, parse_share

# A tenth of a BDP starves most controls; with sixteen, most of the delay is standing queue.
_LEAST_BDP, _MOST_BDP = 0.1, 16
_LEAST_RTT_US = 1000
_LONG_WALL_S = 600
# More long flows than this desynchronise each other, and a single one matters little.
_MOST_IN_PHASE = 8
# After so many losses a window no longer depends on where slow start left it.
_SETTLING_LOSSES = 5
_MAKE_ROOM = "a longer duration or a smaller size gives a completion time"


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence, and the points that it is about: one without values if nothing is swept."""

    text: str
    points: tuple[Mapping[str, str], ...]


def notes(run: Run, experiment: Experiment) -> Iterator[str]:
    """Every note about a run."""
    yield from _buffer(run)
    yield from _slow_start(run, experiment)
    yield from _windows(run)
    yield from _unlimited(run)
    yield from _loss(run, experiment)
    yield from _phases(run)
    yield from _transfers(run, experiment)
    yield from policing_notes(run)
    yield from cake_notes(run)
    yield from _ecn(run, experiment)
    yield from _recovery(run, experiment)
    yield from _controls(experiment)
    yield from _unbuilt(run, experiment)
    yield from _fragments(run)
    if note := programs_note([flow.name for flow in run.flows if flow.program is not None]):
        yield note
    if run.clock == "real":
        yield f"in real time connections are sampled every {format_duration(run.trace.ack_us)}, not at every ACK: round trips are smoothed, and it is unknown which flow lost a packet"
    if run.meaning.rtt_us < _LEAST_RTT_US:
        yield f"path.rtt {format_duration(run.meaning.rtt_us)} is below the 1 ms of TCP timestamps: some controls measure only noise"
    udp_bps = sum(flow.rate_bps for flow in run.flows if flow.on_off is None)
    if udp_bps >= run.meaning.bandwidth_bps:
        yield f"UDP flows send {format_rate(udp_bps)}, all of path.bandwidth or more"
    if (wall_s := wall_estimate_s(run)) > _LONG_WALL_S:
        yield f"one run will take about {wall_s / 60:.0f} min of wall time: a shorter duration or a lower bandwidth is cheaper"


def _unbuilt(run: Run, experiment: Experiment) -> Iterator[str]:
    if run.kernel in WIDE_KERNELS and experiment.modules:
        yield f"kernel {run.kernel} is {WIDE_KERNELS[run.kernel]} with room for a control of `modules` whose private area is larger than 104 bytes"
    for name in dict.fromkeys(flow.cc for flow in run.flows if flow.cc is not None):
        control = experiment.control(name)
        if control.problem:
            yield f"{name} of `modules` does not build for {run.kernel}: {control.problem}"


def slow_start_us(run: Run) -> int:
    """Approximate time in which slow start fills the path: a doubling each round trip, from the initial windows of the TCP flows."""
    tcp = [flow for flow in run.flows if flow.kind != "udp"]
    initial = sum(route.initcwnd for flow in tcp for route in run.routes if route.node == flow.from_node)
    pipe = run.meaning.bdp_packets + run.meaning.buffer_packets
    return math.ceil(math.log2(max(pipe / initial, 1)) + 1) * run.meaning.rtt_us if initial else 0


def _buffer(run: Run) -> Iterator[str]:
    meaning = run.meaning
    if meaning.bdp_packets < 1:
        return
    share = meaning.buffer_packets / meaning.bdp_packets
    if share < _LEAST_BDP:
        yield f"path.buffer {meaning.buffer_text} is {share:.2g} BDP: below {_LEAST_BDP} BDP a single flow cannot fill the path"
    if share > _MOST_BDP:
        yield f"path.buffer {meaning.buffer_text} is {share:.3g} BDP: above {_MOST_BDP} BDP delay is mostly queue"


def _slow_start(run: Run, experiment: Experiment) -> Iterator[str]:
    takes_us = slow_start_us(run)
    bulk = [
        flow for flow in run.flows if flow.kind == "tcp" and flow.bytes is None and not flow.options.window_clamp_bytes
    ]
    short = [flow for flow in bulk if (flow.stop_us or run.duration_us) - flow.start_us < 2 * takes_us]
    if short:
        length_us = (short[0].stop_us or run.duration_us) - short[0].start_us
        yield f"flow {short[0].name} lasts {length_us / 1e6:.3g} s, and slow start alone takes about {takes_us / 1e6:.2g} s: its measures will be mostly slow start"
    elif bulk and run.window_us[0] < takes_us + min(flow.start_us for flow in bulk) and experiment.window is None:
        yield f"summaries begin at {format_duration(run.window_us[0])}, inside slow start (about {takes_us / 1e6:.2g} s): a longer warmup leaves it out"
    same = {(flow.cc, flow.from_node, flow.start_us) for flow in bulk}
    if len(same) < len(bulk):
        yield "equal flows start at the same instant: without start_jitter they stay in step, and all seeds give the same result"


def _phases(run: Run) -> Iterator[str]:
    """Floyd and Jacobson 1992: without randomness, the ratio of round trips decides whose packet meets the full queue."""
    long = [flow for flow in run.flows if flow.kind == "tcp" and flow.bytes is None]
    if len(long) > _MOST_IN_PHASE or len(long) < len([flow for flow in run.flows if flow.kind != "udp" or flow.on_off]):
        return
    ways = {end.dev: one.options for wire in run.wires for end in wire.ends for one in end.qdiscs if one.kind in DELAYS}
    met = [[ways[dev] for dev in (*flow.forward, *flow.back) if dev in ways] for flow in long]
    random = ("jitter_ns", "loss_2p32", "gemodel_2p32")
    if run.meaning.queue != "droptail" or any(bool(one[name]) for way in met for one in way for name in random):
        return
    delays = {sum(ns for one in way if isinstance(ns := one["delay_ns"], int)) for way in met}
    if len(delays) > 1:
        yield "flows of different round trips meet a drop-tail queue and no delay varies: which of them loses is a matter of phase, alike for every seed; path.jitter of a packet's time on the line or more, or background traffic, ends it (docs/fidelity.md)"


def _windows(run: Run) -> Iterator[str]:
    meaning = run.meaning
    for flow in run.flows:
        window = flow.options.window_clamp_bytes
        if 0 < window < meaning.bdp_packets * meaning.mss_bytes:
            yield f"flow {flow.name} has a window of {window // meaning.mss_bytes} packets, below the BDP of {meaning.bdp_packets}: the window limits it, not the path"
    tcp = sum(flow.kind != "udp" for flow in run.flows)
    held_bytes = (meaning.bdp_packets + meaning.buffer_packets) * meaning.mss_bytes
    most_bytes = largest_window_bytes(meaning.mtu, meaning.mss_bytes)
    # A window that recovers from a loss spans twice what it had in flight.
    if tcp and held_bytes > tcp * most_bytes / 2:
        yield (
            f"the path and its buffer hold {held_bytes / 2**20:.0f} MiB, and TCP spans at most {most_bytes / 2**20:.0f} MiB (window and socket buffers, path.mtu {meaning.mtu}): "
            f"this may limit {'the flow' if tcp == 1 else f'each of the {tcp} flows'}, above half of it while lost packets are sent again; path.bandwidth, path.rtt or path.buffer make the path hold less"
        )


def _unlimited(run: Run) -> Iterator[str]:
    """Endless flows whose way has no rate: a control that measures the rate finds ever higher ones."""
    rated = {link.dev for link in run.links if any(bps for _, _, bps in run.link_rates(link))}
    for flow in run.flows:
        limited = flow.bytes or flow.options.max_pacing_bps or flow.options.window_clamp_bytes
        if flow.kind == "tcp" and not limited and rated.isdisjoint(flow.forward):
            yield (
                f"no link from {flow.from_node} to {flow.to_node} has a bandwidth, so only its window limits flow {flow.name}: a control that measures the rate, such as bbr, "
                "may send more and more and never end; give a link of its way a bandwidth"
            )


def _loss(run: Run, experiment: Experiment) -> Iterator[str]:
    loss = parse_share(experiment.path.loss or 0)
    rtt_s = run.meaning.rtt_us / 1e6
    if loss in (0, 1) or rtt_s == 0:
        return
    flows = [flow for flow in run.flows if flow.kind == "tcp"]
    bounds = [loss_bound_packets(flow, loss, rtt_s) for flow in flows]
    if not flows or None in bounds:
        return
    reach_bps = sum(bound for bound in bounds if bound) * run.meaning.frame_bytes * 8 / rtt_s
    if reach_bps < 0.9 * run.meaning.bandwidth_bps:
        # At its bound a flow loses one packet in 1 / loss of them.
        settled_s = _SETTLING_LOSSES * max(rtt_s / (loss * bound) for bound in bounds if bound)
        yield (
            f"path.loss {experiment.path.loss} limits these flows to about {format_rate(float(reach_bps))} in all in the long run, "
            f"which begins after about {settled_s:.2g} s ({_SETTLING_LOSSES} losses of each); until then slow start can carry them above it"
        )


def _transfers(run: Run, experiment: Experiment) -> Iterator[str]:
    """Flows with a size that cannot end within the run at the full rate of a link, and those that a random loss makes too slow."""
    meaning = run.meaning
    sized = [flow for flow in run.flows if flow.bytes]
    reported: set[str] = set()
    for link in run.links:
        payload_bps = max(bps for _, _, bps in run.link_rates(link)) * meaning.mss_bytes / meaning.frame_bytes
        over = [flow for flow in sized if link.dev in flow.forward and flow.name not in reported]
        # Each alone first: a flow that is too large needs no others to miss the end.
        transfers = _transfers_of(over)
        groups = [one for one in transfers if (one[0].bytes or 0) * 8 / payload_bps > _time_s(run, one)]
        size_bytes = sum(one[0].bytes or 0 for one in transfers)
        if not groups and size_bytes * 8 / payload_bps > _time_s(run, over):
            groups = [over]
        for group in groups[:1]:
            parts = _transfers_of(group)
            size_bytes = sum(one[0].bytes or 0 for one in parts)
            among = f"flow {_name_of(group[0])}" if len(parts) == 1 else f"{len(parts)} flows over {link.name} together"
            alike = f" (nor can {len(groups) - 1} more)" if len(groups) > 1 else ""
            yield (
                f"{among} cannot end in this run: {format_size(size_bytes)} take {_long(size_bytes * 8 / payload_bps)} at the full rate of "
                f"{link.name}, and the run has {_long(_time_s(run, group))}{alike}; {_MAKE_ROOM}"
            )
        reported |= {flow.name for group in groups for flow in group}
    loss, rtt_s = parse_share(experiment.path.loss or 0), meaning.rtt_us / 1e6
    slow = []
    for flow in sized if loss and rtt_s else ():
        bound = loss_bound_packets(flow, loss, rtt_s)
        if (
            bound
            and flow.share_bytes
            and (takes_s := flow.share_bytes * rtt_s / (bound * meaning.mss_bytes)) > _time_s(run, [flow])
        ):
            slow.append((flow, takes_s))
    if slow and slow[0][0].name not in reported:
        flow, takes_s = slow[0]
        alike = f" (nor will {len(slow) - 1} more)" if len(slow) > 1 else ""
        yield (
            f"flow {flow.name} will hardly end in this run: with path.loss {experiment.path.loss} {format_size(flow.share_bytes or 0)} take about "
            f"{_long(takes_s)}, and the run has {_long(_time_s(run, [flow]))}{alike}; {_MAKE_ROOM}"
        )


def _transfers_of(flows: Sequence[Flow]) -> list[list[Flow]]:
    """Flows with a size; the streams of one transfer are together."""
    found: dict[str, list[Flow]] = {}
    for flow in flows:
        found.setdefault(_name_of(flow), []).append(flow)
    return list(found.values())


def _name_of(flow: Flow) -> str:
    return flow.name if flow.group is None else flow.group.name


def _time_s(run: Run, flows: Sequence[Flow]) -> float:
    """From the first start to the last end of some flows."""
    if not flows:
        return math.inf
    ends_us = max(run.duration_us if flow.stop_us is None else flow.stop_us for flow in flows)
    return (ends_us - min(flow.start_us for flow in flows)) / 1e6


def _long(seconds: float) -> str:
    """A time in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def loss_bound_packets(flow: Flow, loss: float, rtt_s: float) -> float | None:
    """Mean window at a random loss: Mathis et al. 1997, RFC 9438 section 5, RFC 3649, Kelly 2003; None for controls without such a law."""
    reno = 1.22 / math.sqrt(loss)
    match flow.cc:
        case "reno" | "veno":
            return reno
        case "cubic":
            return max(reno, 1.054 * math.pow(rtt_s / loss, 0.75))
        case "highspeed":
            return max(reno, 0.12 / math.pow(loss, 0.835))
        case "scalable":
            return max(reno, 0.08 / loss)
    return None


def _ecn(run: Run, experiment: Experiment) -> Iterator[str]:
    if run.meaning.queue == DUALPI2 and not any(_scalable(run, flow) for flow in run.flows):
        yield "no flow is for the L4S queue of dualpi2: ect: 1 puts one there, or a control that sends ECT(1) itself with ecn: accurate"
    marked = experiment.path.ecn and marks(run.meaning.queue)
    if experiment.path.ecn and not marked:
        yield f"path.ecn is on, but a {run.meaning.queue} queue never marks"
    if not marked and any(flow.cc == "dctcp" for flow in run.flows):
        yield "dctcp without marks is Reno: it needs path.ecn: on and a queue that marks"


def _scalable(run: Run, flow: Flow) -> bool:
    """Whether packets of a flow may carry ECT(1): a control of the user's may send it."""
    remarked = {end.node for end in run.ends if any(qdisc.kind == CLSACT for qdisc in end.qdiscs)}
    return flow.options.ect == ECT1 or flow.from_node in remarked or any(module.source for module in run.modules)


def _recovery(run: Run, experiment: Experiment) -> Iterator[str]:
    for flow in experiment.flows:
        if run.kernel in KERNELS_WITHOUT_DUPTHRESH and flow.recovery == "dupthresh" and flow.sack:
            yield f"flow {flow.name}: recovery: dupthresh is the same as rack on kernel {run.kernel}, which counts no duplicates where SACK is on (docs/kernels.md); kernel 6.12 counts them"


def _controls(experiment: Experiment) -> Iterator[str]:
    named = [(flow.name, flow.cc) for flow in experiment.flows]
    named += [(name, settings.cc) for change in experiment.schedule for name, settings in change.flows.items()]
    for name, cc in named:
        if cc is not None and cc in ALIASES:
            control = CONGESTION_CONTROLS[ALIASES[cc]]
            yield f"flow {name}: {cc} is {control.name} here ({control.about})"
    for flow in experiment.flows:
        if flow.cc == "cubic" and "beta" in flow.params:
            yield f"flow {flow.name}: cubic's beta changes the back-off only; its Reno-friendly region stays that of 717"
        if flow.delayed_ack and (flow.name, "lp") in named:
            yield f"flow {flow.name}: lp takes an ACK that its receiver delays for a queue, and may stay at a packet or two on an empty path: delayed_ack: off prevents it"


def _fragments(run: Run) -> Iterator[str]:
    udp = next((flow for flow in run.flows if flow.kind == "udp"), None)
    if udp is not None and run.least_mtu < run.meaning.mtu:
        yield f"flow {udp.name} sends datagrams for an MTU of {run.meaning.mtu}: IP fragments them while the schedule has it at {run.least_mtu}, and the headers add to its rate"


def one_line(note: Note) -> str:
    """A note with the points of a sweep that it is about."""
    if not any(note.points):
        return note.text
    first = ", ".join(f"{path}={value}" for path, value in note.points[0].items())
    more = len(note.points) - 1
    return f"{note.text} (at {first}{f' and {more} more points' if more else ''})"
