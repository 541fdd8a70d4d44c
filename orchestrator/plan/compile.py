"""Compile an experiment into Runs: every default resolved, every seed drawn, text turned into integers; the run id is their hash.

    placement.py  graph, and the hosts of the flows       qdisc_layout.py    which device does what, by which qdiscs
    link_parameters.py       the path in numbers, state by state     network.py  nodes, wires, addresses, routes

No module after this one reads the experiment's text again.
"""

from __future__ import annotations

import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from longhaul.orchestrator.modules.content import adopt, place_of
from longhaul.orchestrator.plan import lint
from longhaul.orchestrator.plan.captures import with_capture
from longhaul.orchestrator.plan.expectations import resolve
from longhaul.orchestrator.plan.guests.parts import in_parts
from longhaul.orchestrator.plan.kernel_modules import knob_path, loaded_modules, program_modules, queue_modules
from longhaul.orchestrator.plan.link_parameters import HEADER_BYTES, Path, resolve_path
from longhaul.orchestrator.plan.lint import Note
from longhaul.orchestrator.plan.meaning import Meaning, Phase
from longhaul.orchestrator.plan.network import Network, build_network, device_changes
from longhaul.orchestrator.plan.placed.recorded_table import memory_of
from longhaul.orchestrator.plan.placement import Placement, place_flows
from longhaul.orchestrator.plan.qdisc_layout import Layout, lay_out
from longhaul.orchestrator.plan.qdiscs import DUALPI2, ECT0, ECT1
from longhaul.orchestrator.plan.queues.followed import followed_links
from longhaul.orchestrator.plan.queues.policers import followed_policers
from longhaul.orchestrator.plan.recordings import lay_out_recordings
from longhaul.orchestrator.plan.run import (
    FORMAT,
    Flow,
    FlowOptions,
    Node,
    OnOff,
    Run,
    ScheduledChange,
    TraceOptions,
)
from longhaul.orchestrator.plan.run_identity import run_id
from longhaul.orchestrator.plan.schedule import flow_changes, path_changes, scheduled_controls
from longhaul.orchestrator.plan.seeds import derive_seed
from longhaul.orchestrator.plan.target import Venue, choose_venue, set_in
from longhaul.orchestrator.plan.tcp_settings import (
    Pipe,
    end_sysctls,
    kernel_sysctls,
    router_sysctls,
    window_bytes,
)
from longhaul.orchestrator.plan.traffic.pipe import count_offered, find_pipe
from longhaul.orchestrator.plan.traffic.programs import (
    FIRST_PORT,
    controls_of_programs,
    fields_of_program,
    programs_bytes,
    refuse_programs,
)
from longhaul.orchestrator.plan.traffic.requests import fields_of_requests, refuse_requests
from longhaul.orchestrator.plan.traffic.streams import fields_of_stream
from longhaul.orchestrator.spec.congestion_controls import CongestionControl, pacing_bps
from longhaul.orchestrator.spec.fields import ACCURATE, SINGLE
from longhaul.orchestrator.spec.graph import Graph
from longhaul.orchestrator.spec.iperf3 import IPERF3
from longhaul.orchestrator.spec.load import at_point
from longhaul.orchestrator.spec.model import Experiment
from longhaul.orchestrator.spec.model import Flow as WrittenFlow
from longhaul.orchestrator.spec.sections.flow_parts import dscp_number
from longhaul.orchestrator.spec.socket_options import option_text
from longhaul.orchestrator.spec.sweep import count_points, expand, point_texts
from longhaul.orchestrator.spec.user_code.user_modules import entries_of
from longhaul.orchestrator.system.errors import PlanError
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.settings import load_settings
from longhaul.orchestrator.system.units import parse_duration, parse_multiple, parse_rate, parse_size

if TYPE_CHECKING:
    from longhaul.orchestrator.plan.hosts.place_on_hosts import Places

__all__ = ["Plan", "Run", "compile_plan", "run_id"]

_TICK_US = 10_000
_UDP_HEADER_BYTES = 28
# Parts of a run that the points of a sweep often have in common.
_SHARED = ("window_us", "sysctls", "neighbours", "routes", "modules", "flows", "trace", "expect", "phases")


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in order, each point's repeats together; `notes` are about odd values, `graph` is the first run's, with its numbers."""

    experiment: Experiment
    runs: tuple[Run, ...]
    notes: tuple[Note, ...]
    graph: Graph

    @property
    def lint(self) -> tuple[str, ...]:
        """Each note in one line."""
        return tuple(lint.one_line(note) for note in self.notes)


def compile_plan(
    experiment: Experiment,
    *,
    seed: int | None = None,
    repeats: int | None = None,
    backend: str = "sandbox",
    where: str | None = None,
    clock: str | None = None,
    hosts: Sequence[str] = (),
    take: Callable[[Run], None] | None = None,
) -> Plan:
    """Every run of an experiment; SpecError for an invalid point of the sweep, PlanError. With `take`, it gets each run, and the plan has none."""
    venue = choose_venue(backend, where, clock, hosts)
    places = _places(venue)
    changes = {name: value for name, value in (("seed", seed), ("repeats", repeats)) if value is not None}
    experiment = experiment.model_copy(update=changes)
    if experiment.repeats < 1 or experiment.seed < 0 or experiment.seed + experiment.repeats > 2**32:
        raise PlanError(
            "compiling",
            experiment.experiment,
            f"seed {experiment.seed} with {experiment.repeats} repeats",
            "seeds are 0 to 2^32 - 1",
        )
    runs: list[Run] = []
    drawn: Graph | None = None
    notes: dict[str, list[dict[str, str]]] = {}
    supplied: set[pathlib.Path] = set()
    cache = load_settings().cache
    # Several runs at once need no more guests than they are.
    alone = 2 * count_points(experiment.sweep) * experiment.repeats <= len(os.sched_getaffinity(0))
    for point in expand(experiment.sweep):
        here, text = at_point(experiment, point), point_texts(point)
        named = ", ".join(f"{path}={value}" for path, value in text.items())
        try:
            placement = place_flows(here)
            path = resolve_path(here, placement, path_changes(here))
            for repeat in range(experiment.repeats):
                refuse_programs(here, venue)
                refuse_requests(here, venue)
                run = set_in(_compile(here, placement, path, experiment.seed + repeat, text, venue), venue)
                run = places.place(run, placement, here) if places else run
                run = with_capture(in_parts(run, here, alone=alone), here)
                if take is None:
                    run = _sharing(run, runs[-1]) if runs else run
                (take or runs.append)(run)
        except PlanError as error:
            raise PlanError(
                "compiling", f"{experiment.experiment} at {named}" if named else error.subject, error.what, error.hint
            ) from None
        supplied.update(place_of(entry.place, cache) for entry in entries_of(here.modules))
        drawn = drawn or path.states[0].drawn_on(placement.graph)
        for note in [*lint.notes(run, here), *(places.notes(run) if places else ())]:
            notes.setdefault(note, []).append(text)
    adopt(sorted(supplied), cache)
    assert drawn is not None, "a sweep has a point"
    return Plan(experiment, tuple(runs), tuple(Note(note, tuple(points)) for note, points in notes.items()), drawn)


def _sharing(run: Run, before: Run) -> Run:
    """The same run; parts that equal those of the run before are the same objects, so that a large sweep takes less memory."""
    parts = {name: getattr(before, name) for name in _SHARED if getattr(run, name) == getattr(before, name)}
    if len(run.nodes) == len(before.nodes):
        pairs = zip(run.nodes, before.nodes, strict=True)
        parts["nodes"] = tuple(known if known == node else node for node, known in pairs)
    return replace(run, **parts)


def _places(venue: Venue) -> Places | None:
    """The hosts of runs on real hosts; only for those is the host policy loaded."""
    if not venue.hosts:
        return None
    from longhaul.orchestrator.plan.hosts.place_on_hosts import Places
    from longhaul.orchestrator.spec.host_policy import load_policy

    return Places(load_policy(load_settings()), venue.hosts)


def _compile(
    experiment: Experiment, placement: Placement, path: Path, seed: int, point: Mapping[str, str], venue: Venue
) -> Run:
    duration_us = parse_duration(experiment.duration)
    layout = lay_out(placement, path, seed, single=_in_one(experiment, venue))
    network = build_network(placement, layout, experiment.path)
    meaning = _meaning(experiment, placement, path)
    recordings, offered = lay_out_recordings(path, layout, network, seed, duration_us)
    flows = tuple(_flows(experiment, placement, layout, network, meaning.rtt_us, seed))
    pipe = find_pipe(experiment, placement, path)
    tcp_flows = sum(flow.kind != "udp" for flow in flows)
    memory_mb = pipe.memory_mb(
        tcp_flows=tcp_flows,
        flows=len(flows),
        iperf3_flows=sum(flow.tool == IPERF3 for flow in flows),
        programs_bytes=programs_bytes(experiment),
        nodes=len(network.nodes),
        bottlenecks=len(path.bottlenecks),
        offered_packets=count_offered(flows, path, placement, duration_us),
    )
    return Run(
        format=FORMAT,
        experiment=experiment.experiment,
        backend=venue.backend,
        kernel=experiment.kernel,
        seed=seed,
        point=point,
        duration_us=duration_us,
        window_us=_window(experiment, duration_us),
        memory_mb=memory_mb + memory_of(recordings),
        sysctls=kernel_sysctls(controls_of_programs(experiment)),
        knobs=tuple((knob_path(name), str(value)) for name, value in experiment.knobs.items()),
        nodes=tuple(_nodes(network, placement, pipe, tcp_flows)),
        wires=network.wires,
        neighbours=network.neighbours,
        routes=network.routes,
        links=followed_links(path, layout, network, offered),
        modules=(
            *loaded_modules(experiment, scheduled_controls(experiment)),
            *queue_modules(network.wires),
            *program_modules(flows),
        ),
        flows=flows,
        schedule=_in_order(
            *device_changes(path, experiment.path.mtu, layout, network, placement), *flow_changes(experiment, flows)
        ),
        trace=TraceOptions(
            0 if experiment.sample == "every-ack" else parse_duration(experiment.sample),
            _TICK_US,
            departures=any(
                qdisc.kind == DUALPI2 for wire in network.wires for end in wire.ends for qdisc in end.qdiscs
            ),
            decisions=bool(layout.policers),
        ),
        expect=tuple(resolve(expected) for expected in experiment.expect),
        meaning=meaning,
        recordings=recordings,
        policers=followed_policers(layout, network),
        phases=tuple(Phase(name, *map(parse_duration, written)) for name, written in experiment.phases.items()),
    )


def _in_one(experiment: Experiment, venue: Venue) -> bool:
    """Whether plain links are one qdisc: its timers are exact in virtual time alone, and a train of segments is many packets to it."""
    return experiment.emulation == SINGLE and venue.clock == "virtual" and not experiment.path.offloads


def _flows(
    experiment: Experiment,
    placement: Placement,
    layout: Layout,
    network: Network,
    rtt_us: int,
    seed: int,
) -> list[Flow]:
    multiple = parse_multiple(experiment.start_jitter, "RTT")
    jitter_us = parse_duration(experiment.start_jitter) if multiple is None else int(multiple * rtt_us)
    made: list[Flow] = []
    for written in experiment.flows:
        control = None if written.kind == "udp" else experiment.control(written.cc)
        spread_us = parse_duration(written.spread) if written.spread is not None else 0
        open_end = written.stop is None and written.ends_by_itself
        stop_us = None if open_end else parse_duration(written.stop or experiment.duration)
        for number, (head, name) in enumerate(written.members):
            # Flows that belong together begin together.
            start_us = parse_duration(written.start) + number // written.together * spread_us
            start_us += derive_seed(seed, f"start {head}") % jitter_us if jitter_us else 0
            if start_us >= (parse_duration(experiment.duration) if stop_us is None else stop_us):
                what = f"start_jitter moves the start of {name} past its end"
                raise PlanError("compiling", "start_jitter", what, "make the flow longer or set start_jitter: 0 s")
            journey = placement.journeys[len(made)]
            flow = Flow(
                id=len(made),
                name=name,
                kind=written.kind,
                cc=None if control is None else control.name,
                variant=None if control is None else _variant(control, written.variant),
                from_node=journey.sender,
                to_node=journey.receiver,
                address=network.addresses[journey.receiver],
                port=FIRST_PORT + len(made),
                start_us=start_us,
                stop_us=stop_us,
                bytes=None if written.size is None else parse_size(written.size),
                options=FlowOptions(
                    max_pacing_bps=0 if control is None else pacing_bps(control, written.params) or 0,
                    window_clamp_bytes=0
                    if written.window is None
                    else window_bytes(written.name, written.window, experiment.path.mtu - HEADER_BYTES),
                    both_ends=control is not None and control.both_ends,
                    ect=0 if written.kind != "udp" or written.ect is None else (ECT0, ECT1)[written.ect],
                    dscp=0 if written.dscp is None else dscp_number(written.dscp),
                    sockopts=tuple(option_text(one.level, one.name, one.value) for one in written.sockopts),
                ),
                seed=derive_seed(seed, f"flow {name}"),
                forward=tuple(network.devices[hop] for hop in layout.through(journey.forward)),
                back=tuple(network.devices[hop] for hop in layout.through(journey.back)),
            )
            more = _traffic(written, experiment.path.mtu) | fields_of_program(written, flow, network.addresses, number)
            more |= fields_of_stream(written, head) | fields_of_requests(written, flow, head, network.addresses)
            made.append(replace(flow, **more))
    return made


def _variant(control: CongestionControl, written: str | None) -> str:
    """A study's name for a congestion control, or its own; with the source of one that replaces the kernel's."""
    if not control.remark:
        return written or control.name
    return f"{control.name} ({control.remark})" if written in (None, control.name) else f"{written}, {control.remark}"


def _traffic(flow: WrittenFlow, mtu: int) -> dict[str, Any]:
    """The fields of a Flow that only its kind has."""
    if flow.udp is not None or flow.on_off is not None:
        rate_bps = parse_rate(flow.udp if flow.on_off is None else flow.on_off.rate)  # type: ignore[arg-type]
        on_off = None if flow.on_off is None else OnOff(parse_duration(flow.on_off.on), parse_duration(flow.on_off.off))
        return {"rate_bps": rate_bps, "payload_bytes": mtu - _UDP_HEADER_BYTES, "on_off": on_off}
    if flow.web is not None:
        return {
            "mean_bytes": parse_size(flow.web.mean),
            "shape_milli": round(flow.web.shape * 1000),
            "think_us": parse_duration(flow.web.think),
        }
    return {}


def _window(experiment: Experiment, duration_us: int) -> tuple[int, int]:
    if experiment.window is not None:
        begin, end = experiment.window
        return parse_duration(begin), parse_duration(end)
    return parse_duration(experiment.warmup) if experiment.warmup is not None else 0, duration_us


def _nodes(network: Network, placement: Placement, pipe: Pipe, tcp_flows: int) -> Iterator[Node]:
    accurate = any(options.ecn == ACCURATE for options in placement.options.values())
    for name in network.nodes:
        if name in network.bridges:
            yield Node(name, True, ())
            continue
        routing = router_sysctls() if name in network.routers else ()
        sysctls = end_sysctls(pipe, placement.options.get(name), tcp_flows, accurate=accurate)
        yield Node(name, False, (*sysctls, *routing))


def _in_order(*changes: ScheduledChange) -> tuple[ScheduledChange, ...]:
    return tuple(sorted(changes, key=lambda change: change.at_us))


def _meaning(experiment: Experiment, placement: Placement, path: Path) -> Meaning:
    """The values of the first bottleneck, and the round trip of the first flow that crosses it."""
    mtu, state = experiment.path.mtu, path.states[0]
    lane = state.lanes[path.bottlenecks[0]]
    journey = next((one for one in placement.journeys if path.bottlenecks[0] in one.forward), placement.journeys[0])
    if lane.rate_bps is None or lane.buffer is None:
        what = f"no link between {journey.sender} and {journey.receiver} has a rate"
        raise PlanError(
            "compiling", "path.bandwidth", what, "give path.bandwidth, or a bw to one of the topology's links"
        )
    forward_us, reverse_us = state.delay_us(journey.forward), state.delay_us(journey.back)
    bdp_bytes = lane.rate_bps * (forward_us + reverse_us) // 8_000_000
    return Meaning(
        about=experiment.about,
        topology=experiment.topology,
        bandwidth_bps=lane.rate_bps,
        rtt_us=forward_us + reverse_us,
        forward_us=forward_us,
        reverse_us=reverse_us,
        mtu=mtu,
        frame_bytes=state.frame_bytes,
        mss_bytes=mtu - HEADER_BYTES,
        bdp_bytes=bdp_bytes,
        bdp_packets=round(bdp_bytes / state.frame_bytes),
        queue=lane.queue,
        buffer_text=lane.buffer.text,
        buffer_packets=lane.buffer.packets,
        buffer_bytes=lane.buffer.size_bytes,
        aggregate=experiment.aggregate,
    )
