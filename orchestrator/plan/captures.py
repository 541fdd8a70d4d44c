"""The packets that a run keeps: the devices where a guest captures them, and how each is called in the file.

    capture: {at: [bottleneck, a1], snap: 96, flows: [bulk]}   -->   Module lh_capture (kmod/lh_capture.c), at=s1-s2,a1-s1 snap=96 ports=10000

A capture only looks, so the run has the id and the trace that it has without one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from longhaul.orchestrator.plan.guests.cut import cut_run
from longhaul.orchestrator.plan.run import End, Flow, Link, Module, Run
from longhaul.orchestrator.spec.model import PROGRAM, Capture, Experiment
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

CAPTURE_MODULE = "lh_capture"
# What it writes (kmod/lh_capture.h).
BLOCKS, EVENTS = "capture.blocks", "capture.events"
CAPTURE_FILES = (BLOCKS, EVENTS)
EVERYWHERE = "all"
# LH_CAPTURE_DEVICES of kmod/lh_capture.h, and the length of the parameters of a module (orchestrator/agent/net/modules.c).
_MOST_DEVICES, _LONGEST_PARAMETERS = 64, 900
# Time zero of a guest's clock: orchestrator/agent/run/run.c. Where it is another one, the file says so.
_LEAST_EPOCH_S, _WIRES_A_SECOND = 2, 32
_LEAST_HELD, _MOST_HELD = 1024, 2**22
_MOST_NAMED = 20


@dataclass(frozen=True, slots=True)
class Interface:
    """An interface of the file: a device, and the link whose queue is at it, if the trace follows that."""

    dev: str
    node: str
    peer: str
    link: Link | None


def with_capture(run: Run, experiment: Experiment) -> Run:
    """The run with the capture of its experiment."""
    if (asked := experiment.capture) is None:
        return run
    return add_capture(run, asked)


def add_capture(run: Run, asked: Capture) -> Run:
    """The run, which captures packets as asked; PlanError if it cannot."""
    if run.script is not None:
        what = "packets are captured in runs of experiments, and this one is a script's"
        raise PlanError("compiling", "capture", what, "start tcpdump in the script")
    if run.backend != "sandbox":
        what = f"packets are captured in the sandbox, and this run is on {run.backend}"
        raise PlanError("compiling", "capture", what, "leave capture out; on hosts, tcpdump captures packets")
    if run.parts is not None and run.parts.alters:
        what = f"the run is in {run.parts.number} guests whose trace one guest does not have"
        raise PlanError("compiling", "capture", what, "leave capture out, or give all hosts one kernel and parts: 1")
    devices = list(dict.fromkeys(end.dev for name in asked.at for end in _ends_named(run, name)))
    if len(devices) > _MOST_DEVICES:
        what = f"it names {len(devices)} devices"
        raise PlanError("compiling", "capture.at", what, f"{_MOST_DEVICES} are possible")
    ends = Counter(end.node for end in run.ends)
    nodes = {end.dev: end.node for end in run.ends}
    bridges = {node.name for node in run.nodes if node.bridge}
    hosts = [str(at) for at, dev in enumerate(devices) if nodes[dev] not in bridges and ends[nodes[dev]] == 1]
    params = {
        "at": ",".join(devices),
        **({"hosts": ",".join(hosts)} if hosts else {}),
        "snap": str(asked.snap or 0),
        "epoch_ns": str(_epoch_ns(run)),
        "held": str(_count_held(run, len(devices))),
    }
    if asked.flows is not None:
        params["ports"] = _ranges(sorted({port for name in asked.flows for port in _ports_of(run, name)}))
    if sum(len(name) + len(value) + 2 for name, value in params.items()) > _LONGEST_PARAMETERS:
        what = f"the names of its {len(devices)} devices and its ports are too long together"
        raise PlanError("compiling", "capture", what, "capture at fewer devices")
    capturing = replace(run, capture=Module(CAPTURE_MODULE, params))
    # A run whose parts leave the trace as it is has the same one in a single guest.
    return capturing if run.parts and part_with_capture(capturing) is not None else replace(capturing, parts=None)


def part_with_capture(run: Run) -> int | None:
    """The part of a run in which all its captured devices are; None if there is none, or if one part cannot capture at all of them.

    In the part with the queues, the devices of wires to other parts are none: packets may come there ahead of time (kmod/lh_wire.c).
    """
    assert run.capture is not None and run.parts is not None
    cut = cut_run(replace(run, capture=None), run.parts.number)
    part_of = {node: part for part, nodes in enumerate(cut.nodes) for node in nodes}
    captured = run.capture.params["at"].split(",")
    parts = {part_of[end.node] for end in run.ends if end.dev in captured}
    if parts != {len(cut.nodes) - 1}:
        return parts.pop() if len(parts) == 1 else None
    at_the_cut = {end.dev for crossing in cut.crossings for end in crossing.wire.ends}
    return None if at_the_cut & set(captured) else len(cut.nodes) - 1


def same_packets(one: Module, other: Module) -> bool:
    """Whether two captures of a run have the same packets."""
    return all(one.params.get(name) == other.params.get(name) for name in ("at", "snap", "ports"))


def interfaces(run: Run) -> list[Interface]:
    """The interfaces of the file, in order."""
    assert run.capture is not None
    links = {link.dev: link for link in run.links}
    ends = {near.dev: (near, far) for wire in run.wires for near, far in (wire.ends, wire.ends[::-1])}
    return [
        Interface(dev, ends[dev][0].node, ends[dev][1].node, links.get(dev))
        for dev in run.capture.params["at"].split(",")
    ]


def _ends_named(run: Run, name: str) -> list[End]:
    """The devices that a name of `at` means; PlanError lists the known names."""
    links = {link.name: link.dev for link in run.links}
    hosts = [node.name for node in run.nodes if not node.bridge]
    if name == EVERYWHERE:
        found = list(run.ends)
    elif name in links:
        found = [end for end in run.ends if end.dev == links[name]]
    else:
        found = [end for end in run.ends if fnmatchcase(end.node, name)] or [
            near
            for wire in run.wires
            for near, far in (wire.ends, wire.ends[::-1])
            if name in (near.dev, f"{near.node}-{far.node}")
        ]
    if not found:
        known = [EVERYWHERE, *links, *hosts]
        more = f" and {len(known) - _MOST_NAMED} more" if len(known) > _MOST_NAMED else ""
        what = f"the run has no host, link or device {name}"
        raise PlanError("compiling", "capture.at", what, f"known: {', '.join(known[:_MOST_NAMED])}{more}")
    return found


def _ports_of(run: Run, name: str) -> Iterator[int]:
    """The ports of a flow, or of all that its entry makes, which distinguish its packets in both directions."""
    flows = [flow for flow in run.flows if flow.name == name]
    flows = flows or [flow for flow in run.flows if re.fullmatch(rf"{re.escape(name)}-\d+", flow.name)]
    if not flows:
        listed = ", ".join(flow.name for flow in run.flows[:_MOST_NAMED])
        raise PlanError("compiling", "capture.flows", f"the run has no flow {name}", f"its flows: {listed}")
    for flow in flows:
        if flow.kind == PROGRAM:
            what = f"the ports of {flow.name} are known only to its programs"
            raise PlanError("compiling", "capture.flows", what, "leave capture.flows out, and capture every packet")
        yield from _ports(flow)


def _ports(flow: Flow) -> Iterator[int]:
    yield flow.port
    if flow.client_port:
        yield flow.client_port


def _ranges(ports: Sequence[int]) -> str:
    """Sorted numbers as the kernel reads a list of them: 10000-10003,10007."""
    spans: list[list[int]] = []
    for port in ports:
        if spans and spans[-1][1] == port - 1:
            spans[-1][1] = port
        else:
            spans.append([port, port])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _epoch_ns(run: Run) -> int:
    return (_LEAST_EPOCH_S + len(run.wires) // _WIRES_A_SECOND) * 1_000_000_000


def _count_held(run: Run, devices: int) -> int:
    """The packets that the devices may have been given and not yet sent: those in queues, and those that a delay line carries."""
    frame = max(1, run.meaning.frame_bytes)
    queues = sum(link.queue_limit_packets or link.queue_limit_bytes // frame for link in run.links)
    carried = max(link.rate_bps for link in run.links) * run.meaning.rtt_us // (8_000_000 * frame)
    return min(_MOST_HELD, max(_LEAST_HELD, queues + devices * carried))
