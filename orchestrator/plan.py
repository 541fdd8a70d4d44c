"""An experiment becomes Runs: every default resolved, every seed drawn, text turned into integers; the run id is their hash.

    s1 (10.0.1.1) --- r === d (10.0.0.1)        a sender node for each set of flows that differ in round trip or host
    s2 (10.0.2.1) ---'                          options; all flows go to d through the bottleneck r-d (path.py)

Nothing after this module reads the experiment's text again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from orchestrator import lint
from orchestrator.errors import PlanError
from orchestrator.expectation import resolve
from orchestrator.experiment import Experiment, PathNumbers
from orchestrator.experiment import Flow as WrittenFlow
from orchestrator.modules import loaded_modules, pacing_bps
from orchestrator.own_modules import adopt
from orchestrator.path import (
    FRAME_HEADER_BYTES,
    HEADER_BYTES,
    PathState,
    changed_qdiscs,
    forward_qdiscs,
    path_states,
    receiver_qdiscs,
    reverse_qdiscs,
    sender_qdiscs,
)
from orchestrator.qdiscs import QUEUE
from orchestrator.run import (
    FORMAT,
    DeviceChange,
    End,
    Flow,
    FlowOptions,
    Link,
    Meaning,
    Neighbour,
    Node,
    OnOff,
    Qdisc,
    Route,
    Run,
    ScheduledChange,
    TraceOptions,
    Wire,
    run_id,
)
from orchestrator.schedule import flow_changes, path_changes, scheduled_controls
from orchestrator.seeds import derive_seed
from orchestrator.settings import load_settings
from orchestrator.spec import at_point
from orchestrator.stack import HostOptions, Pipe, bridge_sysctls, end_sysctls
from orchestrator.sweep import expand, point_text
from orchestrator.units import parse_duration, parse_multiple, parse_packets, parse_rate, parse_size
from orchestrator.venue import Venue, choose_venue, set_in

__all__ = ["Plan", "Run", "compile_plan", "run_id"]

_FIRST_PORT = 10_000
_TICK_US = 10_000
_UDP_HEADER_BYTES = 28
_MOST_SENDERS = 250
_RECEIVER, _BRIDGE = "d", "r"
_RECEIVER_ADDRESS = "10.0.0.1"


@dataclass(frozen=True, slots=True)
class Plan:
    """The runs in order, each point's repeats together; `lint` says what is odd without being wrong."""

    experiment: Experiment
    runs: tuple[Run, ...]
    lint: tuple[str, ...]


def compile_plan(
    experiment: Experiment,
    *,
    seed: int | None = None,
    repeats: int | None = None,
    backend: str = "sandbox",
    where: str | None = None,
    clock: str | None = None,
) -> Plan:
    """Every run of an experiment; SpecError for a point of the sweep that does not hold together, PlanError."""
    venue = choose_venue(backend, where, clock)
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
    notes: dict[str, list[str]] = {}
    for point in expand(experiment.sweep):
        here, text = at_point(experiment, point), point_text(point)
        where = ", ".join(f"{path}={value}" for path, value in text.items())
        try:
            runs.extend(
                set_in(_compile(here, experiment.seed + repeat, text, venue), venue)
                for repeat in range(experiment.repeats)
            )
        except PlanError as error:
            raise PlanError(
                "compiling", f"{experiment.experiment} at {where}" if where else error.subject, error.what, error.hint
            ) from None
        for note in lint.notes(runs[-1], here):
            notes.setdefault(note, []).append(where)
    adopt([Path(path) for path in experiment.modules], load_settings().cache)
    return Plan(experiment, tuple(runs), tuple(_summed_up(note, places) for note, places in notes.items()))


def _summed_up(note: str, places: Sequence[str]) -> str:
    if not places[0]:
        return note
    return f"{note} (at {places[0]}{f' and {len(places) - 1} more points' if len(places) > 1 else ''})"


def _compile(experiment: Experiment, seed: int, point: Mapping[str, str], venue: Venue) -> Run:
    duration_us = parse_duration(experiment.duration)
    hosts = [_host_options(flow, experiment) for flow in experiment.flows]
    senders = {options: f"s{number}" for number, options in enumerate(dict.fromkeys(hosts), 1)}
    if len(senders) > _MOST_SENDERS:
        raise PlanError(
            "compiling",
            "flows",
            f"{len(senders)} different round trips and host options",
            f"{_MOST_SENDERS} are possible",
        )
    changes = path_changes(experiment)
    own_rtts_us = sorted({options.rtt_us for options in senders if options.rtt_us is not None})
    states = path_states(experiment.path, [path for _, path in changes], own_rtts_us)
    flows = tuple(_flows(experiment, [senders[options] for options in hosts], states[0], seed, venue.backend))
    pipe = _pipe(states, own_rtts_us, experiment.path.mtu)
    memory_mb = pipe.memory_mb(sum(flow.kind != "udp" for flow in flows), len(flows))
    devices = _devices(states, senders, seed)
    wires = _wires(senders, devices, experiment.path.mtu)
    return Run(
        format=FORMAT,
        experiment=experiment.experiment,
        backend=venue.backend,
        kernel=experiment.kernel,
        seed=seed,
        point=point,
        duration_us=duration_us,
        window_us=_window(experiment, duration_us),
        memory_mb=memory_mb,
        nodes=(
            *(Node(name, False, end_sysctls(pipe, options)) for options, name in senders.items()),
            Node(_BRIDGE, True, bridge_sysctls(memory_mb)),
            Node(_RECEIVER, False, end_sysctls(pipe, None)),
        ),
        wires=wires,
        neighbours=_neighbours(wires),
        routes=_routes(senders),
        links=_links(states[0], devices),
        modules=loaded_modules(experiment, scheduled_controls(experiment)),
        flows=flows,
        schedule=_in_order(*_device_changes(changes, states, devices), *flow_changes(experiment, flows)),
        trace=TraceOptions(0 if experiment.sample == "every-ack" else parse_duration(experiment.sample), _TICK_US),
        expect=tuple(resolve(expected) for expected in experiment.expect),
        meaning=_meaning(experiment, states[0]),
    )


def _host_options(flow: WrittenFlow, experiment: Experiment) -> HostOptions:
    if flow.kind == "udp":
        # UDP has no round trip to keep; it shares the node of plain flows.
        return HostOptions(None, True, experiment.path.ecn, "rack", 10)
    rtt_us = None if flow.rtt is None else parse_duration(flow.rtt)
    ecn = experiment.path.ecn if flow.ecn is None else flow.ecn
    return HostOptions(rtt_us, flow.sack, ecn, flow.recovery, flow.initial_window)


def _flows(experiment: Experiment, senders: Sequence[str], state: PathState, seed: int, backend: str) -> list[Flow]:
    multiple = parse_multiple(experiment.start_jitter, "RTT")
    jitter_us = parse_duration(experiment.start_jitter) if multiple is None else int(multiple * state.rtt_us)
    made: list[Flow] = []
    for written, sender in zip(experiment.flows, senders, strict=True):
        if written.tool == "iperf3":
            raise PlanError(
                "compiling", f"flows.{written.name}.tool", f"iperf3 cannot run on the {backend} backend", "use lh-flow"
            )
        kind = written.kind
        control = None if kind == "udp" else experiment.control(written.cc)
        spread_us = parse_duration(written.spread) if written.spread is not None else 0
        # A sized transfer ends by itself.
        open_end = written.stop is None and written.size is not None
        stop_us = None if open_end else parse_duration(written.stop or experiment.duration)
        for number, name in enumerate(written.names):
            start_us = parse_duration(written.start) + number * spread_us
            start_us += derive_seed(seed, f"start {name}") % jitter_us if jitter_us else 0
            if start_us >= (parse_duration(experiment.duration) if stop_us is None else stop_us):
                what = f"start_jitter moves the start of {name} past its end"
                raise PlanError("compiling", "start_jitter", what, "make the flow longer or set start_jitter: 0 s")
            flow = Flow(
                id=len(made),
                name=name,
                kind=kind,
                cc=None if control is None else control.name,
                variant=None if control is None else written.variant or control.name,
                from_node=sender,
                to_node=_RECEIVER,
                address=_RECEIVER_ADDRESS,
                port=_FIRST_PORT + len(made),
                start_us=start_us,
                stop_us=stop_us,
                bytes=None if written.size is None else parse_size(written.size),
                options=FlowOptions(
                    max_pacing_bps=0 if control is None else pacing_bps(control, written.params) or 0,
                    window_clamp_bytes=_window_bytes(written.window, experiment.path.mtu),
                    both_ends=control is not None and control.both_ends,
                ),
                seed=derive_seed(seed, f"flow {name}"),
            )
            made.append(replace(flow, **_traffic(written, experiment.path.mtu)))
    return made


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


def _window_bytes(window: str | None, mtu: int) -> int:
    if window is None:
        return 0
    try:
        return parse_packets(window) * (mtu - HEADER_BYTES)
    except ValueError:
        return parse_size(window)


def _pipe(states: Sequence[PathState], own_rtts_us: Sequence[int], mtu: int) -> Pipe:
    packets = 0
    for state in states:
        longest_us = max(state.rtt_us, *own_rtts_us) if own_rtts_us else state.rtt_us
        frame_bytes = state.mtu + FRAME_HEADER_BYTES
        packets = max(packets, state.bandwidth_bps * longest_us // (8_000_000 * frame_bytes) + state.buffer.packets)
    return Pipe(packets, mtu)


def _window(experiment: Experiment, duration_us: int) -> tuple[int, int]:
    if experiment.window is not None:
        begin, end = experiment.window
        return parse_duration(begin), parse_duration(end)
    return parse_duration(experiment.warmup) if experiment.warmup is not None else 0, duration_us


# A device's qdiscs in each state of the path, by (node, device).
Devices = Mapping[tuple[str, str], Sequence[tuple[Qdisc, ...]]]


def _devices(states: Sequence[PathState], senders: Mapping[HostOptions, str], seed: int) -> Devices:
    devices: dict[tuple[str, str], Sequence[tuple[Qdisc, ...]]] = {(_BRIDGE, "r-d"): forward_qdiscs(states, seed)}
    for options, name in senders.items():
        devices[name, f"{name}-r"] = sender_qdiscs(states, name, seed)
        devices[_BRIDGE, f"r-{name}"] = reverse_qdiscs(states, options.rtt_us, name, seed)
    devices[_RECEIVER, "d-r"] = receiver_qdiscs(states)
    return devices


def _device_changes(
    changes: Sequence[tuple[int, PathNumbers]], states: Sequence[PathState], devices: Devices
) -> Iterator[DeviceChange]:
    for index, (at_us, _) in enumerate(changes):
        before, after = states[index : index + 2]
        for (node, dev), qdiscs in devices.items():
            changed = changed_qdiscs(qdiscs[index], qdiscs[index + 1])
            # A sender's only device: TCP asks its route, and so this device, how large a packet may be.
            mtu = after.mtu if node not in (_BRIDGE, _RECEIVER) and after.mtu != before.mtu else None
            if changed or mtu is not None:
                yield DeviceChange(at_us, node, dev, changed, mtu)


def _in_order(*changes: ScheduledChange) -> tuple[ScheduledChange, ...]:
    return tuple(sorted(changes, key=lambda change: change.at_us))


def _wires(senders: Mapping[HostOptions, str], devices: Devices, mtu: int) -> tuple[Wire, ...]:
    """One wire a host, the receiver's first: host n has 10.0.n.1, all in one network."""
    wires = []
    for number, name in enumerate((_RECEIVER, *senders.values())):
        ends = []
        for side, (node, other) in enumerate(((name, _BRIDGE), (_BRIDGE, name)), 1):
            dev = f"{node}-{other}"
            address = f"10.0.{number}.1/16" if node == name else None
            qdiscs = devices.get((node, dev), ((),))[0]
            ends.append(End(node, dev, f"02:00:00:00:{number:02x}:{side:02x}", address, mtu, qdiscs))
        wires.append(Wire((ends[0], ends[1])))
    return tuple(wires)


def _neighbours(wires: Sequence[Wire]) -> tuple[Neighbour, ...]:
    """The receiver knows every sender, and each of them the receiver."""
    receiver, *senders = (wire.ends[0] for wire in wires)
    pairs = [pair for sender in senders for pair in ((sender, receiver), (receiver, sender))]
    return tuple(
        Neighbour(end.node, end.dev, (other.address or "").partition("/")[0], other.mac) for end, other in pairs
    )


def _routes(senders: Mapping[HostOptions, str]) -> tuple[Route, ...]:
    """A route of its own to the receiver for each sender: it carries the initial window."""
    return tuple(
        Route(name, f"{_RECEIVER_ADDRESS}/32", _RECEIVER_ADDRESS, options.initial_window)
        for options, name in senders.items()
    )


def _links(state: PathState, devices: Devices) -> tuple[Link, ...]:
    buffer = state.buffer
    links = [
        Link(
            0,
            "bottleneck",
            _BRIDGE,
            "r-d",
            QUEUE,
            state.bandwidth_bps,
            state.forward_us,
            buffer.packets,
            buffer.size_bytes,
        )
    ]
    if state.reverse_bandwidth_bps is not None:
        limit = devices[_RECEIVER, "d-r"][0][-1].options["limit"]
        assert isinstance(limit, int)
        links.append(
            Link(
                1,
                "reverse",
                _RECEIVER,
                "d-r",
                QUEUE,
                state.reverse_bandwidth_bps,
                state.reverse_us(None),
                limit,
                limit * state.frame_bytes,
            )
        )
    return tuple(links)


def _meaning(experiment: Experiment, state: PathState) -> Meaning:
    mtu = experiment.path.mtu
    return Meaning(
        about=experiment.about,
        topology=experiment.topology,
        bandwidth_bps=state.bandwidth_bps,
        rtt_us=state.rtt_us,
        forward_us=state.forward_us,
        reverse_us=state.reverse_us(None),
        mtu=mtu,
        frame_bytes=state.frame_bytes,
        mss_bytes=mtu - HEADER_BYTES,
        bdp_bytes=state.bdp_bytes,
        bdp_packets=round(state.bdp_bytes / state.frame_bytes),
        queue=state.queue,
        buffer_text=state.buffer.text,
        buffer_packets=state.buffer.packets,
        buffer_bytes=state.buffer.size_bytes,
        aggregate=experiment.aggregate,
    )
