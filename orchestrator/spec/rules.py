"""Rules between the fields of an experiment: each rule yields (location, value read, what is allowed).

The rules of a schedule are in schedule_rules.py, which shares some rules with this module.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from longhaul.orchestrator.spec.amounts import read_amount
from longhaul.orchestrator.spec.congestion_controls import CongestionControl
from longhaul.orchestrator.spec.fields import ACCURATE
from longhaul.orchestrator.spec.iperf3 import IPERF3, refusals
from longhaul.orchestrator.spec.iperf3 import MOST_FLOWS as MOST_IPERF3_FLOWS
from longhaul.orchestrator.spec.kernel_versions import KERNELS_WITHOUT_L4S
from longhaul.orchestrator.spec.measures import MEASURES, OF_TOTALS, known_measure
from longhaul.orchestrator.spec.model import TRAFFIC, Expected, Experiment, Flow
from longhaul.orchestrator.spec.presets import PRESETS
from longhaul.orchestrator.spec.recordings import recording_breaches
from longhaul.orchestrator.spec.sections.path_model import Link, LinkNumbers, Path
from longhaul.orchestrator.spec.socket_options import option_number
from longhaul.orchestrator.spec.topology import own_topology, parameter_problems
from longhaul.orchestrator.spec.traffic.refusals import (
    refusals_of_dscp,
    refusals_of_programs,
    refusals_of_requests,
    refusals_of_streams,
)
from longhaul.orchestrator.spec.yaml_text import Location
from longhaul.orchestrator.system.errors import Allowed, UnknownName, allowed_instead
from longhaul.orchestrator.system.units import parse_duration, parse_share
from longhaul.topologies import CATALOG

# The field's location, its value (None: do not show it), and what is allowed.
Breach = tuple[Location, object, Allowed | str]

# netem's probabilities are 32 bits wide.
SMALLEST_SHARE = 2.0**-32

# The trace follows this many (LH_MAX_FLOWS of kmod/lh_trace.c); others would not be measured.
MOST_FLOWS = 4096

DUALPI2 = "dualpi2"

_TCP_FIELDS = (
    "preset",
    "cc",
    "variant",
    "params",
    "size",
    "sack",
    "ecn",
    "recovery",
    "window",
    "hystart",
    "initial_window",
    "delayed_ack",
    "rtt",
)
# Each has processes in the guest, each of which is a process of this machine too.
_MOST_PROGRAM_FLOWS = 50
_SHARES = ("loss", "reverse_loss", "reorder", "duplicate", "corrupt")
_KNOB = re.compile(r"/(?:proc|sys)(?:/[\w.+-]{1,64}){1,10}|[a-z]\w{0,63}(?:\.[\w-]{1,64}){1,10}", re.ASCII)
_KNOB_VALUE = re.compile(r"[ -~]{1,127}")
# A path may lose all packets, from its start or for a while.
_BLACKOUTS = ("loss", "reverse_loss")


def breaches(experiment: Experiment, *, own_topologies: bool = True) -> Iterator[Breach]:
    """Every broken rule, in the order of the fields; without `own_topologies` they are not offered either."""
    if sum(len(flow.names) for flow in experiment.flows) > MOST_FLOWS:
        # Each flow has a name: checking the other rules could take very long.
        yield ("flows",), None, f"more than {MOST_FLOWS} flows in all"
        return
    yield from _topology(experiment, own_topologies=own_topologies)
    yield from path_breaches(experiment.path, ("path",))
    for name, link in experiment.links.items():
        yield from path_breaches(link, ("links", name))
    yield from recording_breaches(experiment)
    yield from _marking(experiment)
    yield from _l4s(experiment)
    duration_us = parse_duration(experiment.duration)
    for position, flow in enumerate(experiment.flows):
        yield from _flow(experiment, flow, ("flows", position), duration_us)
    yield from _names(experiment)
    if not any(flow.count for flow in experiment.flows):
        yield ("flows",), None, "at least one with a count above 0"
    if sum(flow.count for flow in experiment.flows if flow.tool == IPERF3) > MOST_IPERF3_FLOWS:
        yield ("flows",), None, f"more than {MOST_IPERF3_FLOWS} flows of iperf3 in all"
    if sum(flow.command is not None for flow in experiment.flows) > _MOST_PROGRAM_FLOWS:
        yield ("flows",), None, f"more than {_MOST_PROGRAM_FLOWS} flows with a command in all"
    yield from _knobs(experiment)
    yield from _window(experiment, duration_us)
    yield from _phases(experiment, duration_us)
    names = {name for flow in experiment.flows for name in flow.names}
    totals = {name for flow in experiment.flows for name in flow.totals}
    for position, expected in enumerate(experiment.expect):
        yield from _expected(expected, ("expect", position), names | totals, sorted(experiment.phases))
        if expected.flow in totals and expected.measure in MEASURES and expected.measure not in OF_TOTALS:
            allowed = f"of several flows together one of {', '.join(OF_TOTALS)}; a single one has the others"
            yield ("expect", position, "measure"), expected.measure, allowed


def _topology(experiment: Experiment, *, own_topologies: bool) -> Iterator[Breach]:
    written, path = experiment.topology, experiment.path
    if own_topology(written) is None and written not in CATALOG:
        own = ", or a file and its class, as in ./lab.py:Lab" if own_topologies else ""
        yield ("topology",), written, allowed_instead(f"one of {', '.join(CATALOG)}{own}", written, CATALOG)
        return
    for name, read, allowed in parameter_problems(written, experiment.params):
        yield ("params", name), read, allowed
    # Only the dumbbell is described by its path alone; every other topology has numbers of its own.
    if written == "dumbbell":
        if "path" not in experiment.model_fields_set and not experiment.params:
            yield ("path",), None, "missing; needed: the bottleneck"
            return
        if path.bandwidth is None and path.recording is None and "bw" not in experiment.params:
            yield ("path", "bandwidth"), None, "missing; needed: rate of the bottleneck"
        if path.rtt is None and path.one_way is None and "rtt" not in experiment.params:
            yield ("path",), None, "one of rtt and one_way is needed"


def _marking(experiment: Experiment) -> Iterator[Breach]:
    """A step queue without its threshold."""
    path = experiment.path
    places: list[tuple[Location, Path | Link]] = [(("path",), path)]
    places += [(("links", name), link) for name, link in experiment.links.items()]
    for at, one in places:
        if one.queue == "step" and one.mark_at is None and path.mark_at is None:
            yield (*at, "mark_at"), None, "missing; needed: the waiting packets or bytes from which a step queue marks"


def _l4s(experiment: Experiment) -> Iterator[Breach]:
    """Parts of L4S that the kernel lacks, or that do not fit each other."""
    path, kernel = experiment.path, experiment.kernel
    asked: list[tuple[Location, str]] = []
    if path.queue == DUALPI2:
        asked.append((("path", "queue"), DUALPI2))
    asked += [(("links", name, "queue"), DUALPI2) for name, link in experiment.links.items() if link.queue == DUALPI2]
    if path.ecn == ACCURATE:
        asked.append((("path", "ecn"), ACCURATE))
    asked += [
        (("flows", place, "ecn"), ACCURATE) for place, flow in enumerate(experiment.flows) if flow.ecn == ACCURATE
    ]
    if kernel in KERNELS_WITHOUT_L4S:
        yield from (
            (at, value, f'on kernel "7.3" or one of your own: {kernel} does not have it') for at, value in asked
        )
    places: list[tuple[Location, Path | Link]] = [(("path",), path)]
    places += [(("links", name), link) for name, link in experiment.links.items()]
    for at, one in places:
        if one.dualpi2 is not None and round(parse_share(one.dualpi2.classic_protection) * 10_000) % 100:
            allowed = "a share in whole percent: the kernel has no finer step"
            yield (*at, "dualpi2", "classic_protection"), one.dualpi2.classic_protection, allowed


def path_breaches(path: LinkNumbers, at: Location) -> Iterator[Breach]:
    """Broken rules in the numbers of a path."""
    if path.rtt is not None and path.one_way is not None:
        yield (*at, "one_way"), None, "rtt and one_way exclude each other"
    if path.loss is not None and path.burst is not None:
        yield (*at, "burst"), None, "loss and burst exclude each other"
    for name in _SHARES:
        written = getattr(path, name)
        share = 0.0 if written is None else parse_share(written)
        if 0 < share < SMALLEST_SHARE or (share == 1 and name not in _BLACKOUTS):
            most = "1" if name in _BLACKOUTS else "below 1"
            yield (*at, name), written, f"0, or from {SMALLEST_SHARE:.1e} (the kernel's smallest step) to {most}"


def _flow(experiment: Experiment, flow: Flow, at: Location, duration_us: int) -> Iterator[Breach]:
    if len(flow.traffic) > 1:
        yield (*at, flow.traffic[1]), None, f"{' and '.join(flow.traffic)} exclude each other"
    if flow.kind == "udp":
        for name in _TCP_FIELDS:
            if getattr(flow, name) != Flow.model_fields[name].get_default(call_default_factory=True):
                yield (*at, name), None, "only for a TCP flow, this one is UDP"
    elif flow.kind == "tcp" and flow.cc is None:
        *others, last = TRAFFIC
        yield at, None, f"one of {', '.join(['cc', 'command', *others])} and {last} is needed"
    else:
        yield from _control(experiment, flow, at)
    if flow.ect == 1 and flow.kind != "udp" and not _asks_for_ecn(experiment, flow):
        yield (*at, "ect"), flow.ect, "1 only with ecn: on or accurate: without ECN the packets of TCP stay as they are"
    if flow.size is not None and flow.web is not None:
        yield (*at, "size"), flow.size, "not with web, which draws its sizes"
    if flow.command is not None or flow.tool == IPERF3:
        yield from (((*at, name), written, allowed) for name, written, allowed in _refusals(experiment, flow))
    if flow.requests is not None:
        yield from (((*at, name), written, allowed) for name, written, allowed in refusals_of_requests(flow))
    if flow.streams > 1:
        yield from (((*at, name), written, allowed) for name, written, allowed in refusals_of_streams(flow))
    if flow.dscp is not None:
        yield from (((*at, name), written, allowed) for name, written, allowed in refusals_of_dscp(flow))
    yield from _sockopts(flow, at)
    yield from _times(flow, at, duration_us)


def _sockopts(flow: Flow, at: Location) -> Iterator[Breach]:
    seen = set()
    for place, option in enumerate(flow.sockopts):
        try:
            numbers = option_number(option.level, option.name)
        except ValueError as error:
            yield (*at, "sockopts", place), f"{option.level}, {option.name}", str(error)
            continue
        if numbers in seen:
            yield (*at, "sockopts", place), option.name, "each option once"
        seen.add(numbers)
    if flow.sockopts and flow.tool == IPERF3 and flow.command is None:
        yield (*at, "sockopts"), None, "only with tool lh-flow: iperf3 sets its sockets itself"


def _knobs(experiment: Experiment) -> Iterator[Breach]:
    if experiment.knobs and not experiment.modules:
        yield ("knobs",), None, "only with `modules`, which make these files"
    for name, value in experiment.knobs.items():
        if not _KNOB.fullmatch(name) or ".." in name.split("/"):
            yield (
                ("knobs", name),
                name,
                "a path below /proc/ or /sys/, or the name of a sysctl, as in net.ipv4.mine_gain",
            )
        if not _KNOB_VALUE.fullmatch(str(value)):
            yield ("knobs", name), value, "a number or a text of one line, up to 127 letters"


def _asks_for_ecn(experiment: Experiment, flow: Flow) -> bool:
    try:
        both_ends = experiment.control(flow.cc).both_ends
    except UnknownName:
        both_ends = True
    return both_ends or bool(experiment.path.ecn if flow.ecn is None else flow.ecn)


def _refusals(experiment: Experiment, flow: Flow) -> Iterator[tuple[str, object, str]]:
    try:
        control = None if flow.kind == "udp" else experiment.control(flow.cc)
    except ValueError:
        # Reported already, with the known names.
        control = None
    if flow.command is not None:
        yield from refusals_of_programs(experiment, flow, control)
    else:
        yield from refusals(flow, control)


def _control(experiment: Experiment, flow: Flow, at: Location) -> Iterator[Breach]:
    try:
        control = experiment.control(flow.cc)
    except UnknownName as error:
        yield (*at, "cc"), flow.cc, error.allowed
        return
    if flow.preset is not None and flow.cc != PRESETS[flow.preset].fields["cc"]:
        yield (*at, "cc"), flow.cc, f"no other value: {flow.preset} sets it"
    yield from parameter_breaches(control, flow.params, at)
    if flow.hystart is not None and control.hystart is None:
        of_user = (
            f"the user-supplied {control.name} has no parameter that switches"
            if control.source
            else f"{control.name} has no"
        )
        yield (*at, "hystart"), None, f"only for cubic and cdg: {of_user} hybrid slow start"
    if flow.hystart is not None and control.hystart is not None and control.hystart[0] in flow.params:
        yield (*at, "hystart"), None, f"hystart and params.{control.hystart[0]} exclude each other"


def parameter_breaches(control: CongestionControl, params: Mapping[str, object], at: Location) -> Iterator[Breach]:
    """Broken rules in the `params` of a flow."""
    known = [parameter.name for parameter in control.parameters]
    for name, written in params.items():
        parameter = control.parameter(name)
        if parameter is None:
            takes = f"{control.name} takes {', '.join(known) or 'no parameters'}"
            yield (*at, "params", name), None, allowed_instead(takes, name, known)
            continue
        try:
            parameter.read(written)
        except ValueError as error:
            yield (*at, "params", name), written, str(error)


def _times(flow: Flow, at: Location, duration_us: int) -> Iterator[Breach]:
    spread_us = parse_duration(flow.spread) if flow.spread is not None else 0
    if flow.spread is not None and flow.count == 1:
        yield (*at, "spread"), flow.spread, "only with a count above 1"
    start_us = parse_duration(flow.start)
    stop_us = duration_us if flow.stop is None else parse_duration(flow.stop)
    if stop_us > duration_us:
        yield (*at, "stop"), flow.stop, "not after the end of the run"
    elif start_us >= stop_us:
        yield (*at, "start"), flow.start, "before the flow's end"
    elif start_us + spread_us * (flow.count - 1) >= stop_us:
        yield (*at, "spread"), flow.spread, "small enough for the last of them to start before its end"


def _names(experiment: Experiment) -> Iterator[Breach]:
    seen: set[str] = set()
    for position, flow in enumerate(experiment.flows):
        names = {flow.name, *flow.names, *flow.totals}
        for name in sorted(names & seen)[:1]:
            yield ("flows", position, "name"), name, "a name that no other flow has"
        seen |= names


def _window(experiment: Experiment, duration_us: int) -> Iterator[Breach]:
    if experiment.warmup is not None and experiment.window is not None:
        yield ("window",), None, "warmup and window exclude each other"
    if experiment.warmup is not None and parse_duration(experiment.warmup) >= duration_us:
        yield ("warmup",), experiment.warmup, f"shorter than the run, {experiment.duration}"
    if experiment.window is not None:
        begin_us, end_us = map(parse_duration, experiment.window)
        if not begin_us < end_us <= duration_us:
            yield (
                ("window",),
                experiment.window,
                f"[from, to] with from before to, and to not after {experiment.duration}",
            )


def _phases(experiment: Experiment, duration_us: int) -> Iterator[Breach]:
    for name, written in experiment.phases.items():
        times_us = [parse_duration(time) for time in written]
        if len(times_us) != 2 or not times_us[0] < times_us[1] <= duration_us:
            allowed = f"[from, to] with from before to, and to not after {experiment.duration}"
            yield ("phases", name), written, allowed


def _expected(expected: Expected, at: Location, names: set[str], phases: Sequence[str]) -> Iterator[Breach]:
    try:
        known_measure(expected.measure)
    except UnknownName as error:
        yield (*at, "measure"), expected.measure, error.allowed
        return
    scope = MEASURES[expected.measure].of
    if scope == "flow" and expected.flow is None:
        yield (
            (*at, "flow"),
            None,
            f"{expected.measure} is a measure of a flow: one of {', '.join(sorted(names))} is needed",
        )
    elif scope in ("path", "run") and expected.flow is not None:
        yield (*at, "flow"), None, f"{expected.measure} is a measure of the whole {scope}"
    elif expected.flow is not None and expected.flow not in names:
        flows = sorted(names)
        yield (*at, "flow"), expected.flow, allowed_instead(f"one of {', '.join(flows)}", expected.flow, flows)
    if expected.phase is not None and not MEASURES[expected.measure].phased:
        yield (*at, "phase"), expected.phase, f"no value: {expected.measure} covers the whole run"
    elif expected.phase is not None and expected.phase not in phases:
        listed = f"one of {', '.join(phases)}" if phases else "no value: the experiment has no phases"
        yield (*at, "phase"), expected.phase, allowed_instead(listed, expected.phase, phases)
    if (expected.within is None) != (expected.of is None):
        yield (
            (*at, "of" if expected.of is None else "within"),
            None,
            "within and of come together, as in within: 2 %, of: 256 Mbit/s",
        )
    elif (expected.within is None) == (expected.at_least is None and expected.at_most is None):
        yield at, None, "either at_least or at_most or both, or within and of are needed"
    for name in ("at_least", "at_most", "of"):
        written = getattr(expected, name)
        try:
            if written is not None:
                read_amount(expected.measure, written)
        except ValueError as error:
            yield (*at, name), written, str(error)
