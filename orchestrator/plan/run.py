"""The Run: everything that determines one run, as frozen integers; `as_json` is exactly run.json of docs/run-directory.md.
    Run --- Node*            network namespaces
         |- Wire* - End*     veth pairs; each End has its Qdisc*
         |- Neighbour* Route* Link* Module* Flow* Expectation*
         |- schedule         DeviceChange, ModuleChange or FlowChange, in the order of time
         `- Meaning          the origin of the numbers, for tables and reports; no code below the plan computes with text

Field names equal the keys of run.json, except `from_node` and `to_node` of a flow (`from` and `to` there).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from longhaul.orchestrator.plan.meaning import Group, Meaning, Phase, Programs, Requests, Script
from longhaul.orchestrator.plan.placed.host import PlacedHost
from longhaul.orchestrator.plan.placed.policer import Policer
from longhaul.orchestrator.plan.placed.recorded_table import RecordedTable, offered_rates
from longhaul.orchestrator.system.dataclass_json import BESIDE, SELDOM, decode, encode, key
from longhaul.orchestrator.system.lazy_dataclasses import dataclass
from longhaul.orchestrator.system.units import spell_number

# Called with the nanoseconds since the start of a run, on its clock; it may raise to end the run.
Progress = Callable[[int], None]

FORMAT = 1

Option = int | bool | None | tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Qdisc:
    """One queueing discipline; its options are next to `kind` in run.json."""

    kind: str
    handle: str
    parent: str
    options: Mapping[str, Option] = field(metadata=BESIDE)


@dataclass(frozen=True, slots=True)
class Node:
    """A network namespace, a host or a bridge; `kernel` where it is not the run's."""

    name: str
    bridge: bool
    sysctls: tuple[tuple[str, str], ...]
    kernel: str = field(default="", metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class End:
    """One end of a veth pair; without qdiscs it gets noqueue. Ends on a bridge have no address, but hosts `behind` them.

    With `offloads` its host gives it trains of segments, and it joins those that arrive together.
    """

    node: str
    dev: str
    mac: str
    address: str | None
    mtu: int
    qdiscs: tuple[Qdisc, ...] = ()
    behind: tuple[str, ...] = field(default=(), metadata=SELDOM)
    offloads: bool = field(default=False, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Wire:
    """A veth pair."""

    ends: tuple[End, End]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """The Ethernet address of an IP address, so that ARP is not needed."""

    node: str
    dev: str
    address: str
    mac: str


@dataclass(frozen=True, slots=True)
class Route:
    """`initcwnd` 0 leaves the kernel's default; `cwnd_clamp` is the largest window, with `quickack` each segment is acknowledged at once."""

    node: str
    to: str
    via: str
    initcwnd: int = 0
    cwnd_clamp: int = field(default=0, metadata=SELDOM)
    quickack: bool = field(default=False, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Link:
    """A queue that the trace follows; `one_way_us` is the propagation delay in front of it.

    Of a recorded link, `rate_bps` is the mean, and `offered_bytes` are those that it could carry in each interval of `offered_every_us`.
    """

    id: int
    name: str
    node: str
    dev: str
    queue: str
    rate_bps: int
    one_way_us: int
    queue_limit_packets: int
    queue_limit_bytes: int
    offered_every_us: int = field(default=0, metadata=SELDOM)
    offered_bytes: tuple[int, ...] = field(default=(), metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Module:
    """Of a congestion control or a kind of queue. `builtin`: its parameters are set through /sys/module; `source`: the hash of a
    user-supplied one, its folder in $LONGHAUL_CACHE/own; kernel_names.py describes the fields after it."""

    name: str
    params: Mapping[str, str]
    builtin: bool = field(default=False, metadata=SELDOM)
    source: str = field(default="", metadata=SELDOM)
    file: str = field(default="", metadata=SELDOM)
    registers: str = field(default="", metadata=SELDOM)
    replaces: str = field(default="", metadata=SELDOM)
    control: str = field(default="", metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class FlowOptions:
    """Socket options; 0 leaves the kernel's default. The clamp is the receiver's; `both_ends` gives it the congestion control too.

    `ect` has the ECN bits of UDP packets, `dscp` the other six of all packets of the flow, `sockopts` level, name and value of each further option as text.
    """

    max_pacing_bps: int = 0
    window_clamp_bytes: int = 0
    both_ends: bool = False
    ect: int = field(default=0, metadata=SELDOM)
    dscp: int = field(default=0, metadata=SELDOM)
    sockopts: tuple[tuple[str, str, str], ...] = field(default=(), metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class OnOff:
    """Means of the exponential times."""

    on_us: int
    off_us: int


@dataclass(frozen=True, slots=True)
class Flow:
    """`kind` is tcp, udp, web, requests or program; the fields of other kinds and tools keep their defaults and are omitted from run.json.

    `forward` and `back` are the devices that its packets leave from on the path to the receiver, and back. iperf3 has its data connection from
    `client_port` and writes blocks of `block_bytes`. A further connection of programs has the number of the `first`. A `group` shares its `bytes`.
    """

    id: int
    name: str
    kind: str
    cc: str | None
    variant: str | None
    from_node: str = field(metadata=key("from"))
    to_node: str = field(metadata=key("to"))
    address: str
    port: int
    start_us: int
    stop_us: int | None
    bytes: int | None
    options: FlowOptions
    seed: int
    forward: tuple[str, ...]
    back: tuple[str, ...]
    # udp
    rate_bps: int = field(default=0, metadata=SELDOM)
    payload_bytes: int = field(default=0, metadata=SELDOM)
    on_off: OnOff | None = field(default=None, metadata=SELDOM)
    mean_bytes: int = field(default=0, metadata=SELDOM)
    shape_milli: int = field(default=0, metadata=SELDOM)
    think_us: int = field(default=0, metadata=SELDOM)
    tool: str = field(default="lh-flow", metadata=SELDOM)
    client_port: int = field(default=0, metadata=SELDOM)
    block_bytes: int = field(default=0, metadata=SELDOM)
    program: Programs | None = field(default=None, metadata=SELDOM)
    first: int | None = field(default=None, metadata=SELDOM)
    group: Group | None = field(default=None, metadata=SELDOM)
    requests: Requests | None = field(default=None, metadata=SELDOM)

    @property
    def share_bytes(self) -> int | None:
        """Its size; of a stream, an even share of the transfer's, rounded up."""
        return self.bytes if self.bytes is None or self.group is None else -(-self.bytes // self.group.flows)


@dataclass(frozen=True, slots=True)
class DeviceChange:
    """One device, changed in place: qdiscs keep their handles and get new options; an MTU of None stays as it is."""

    at_us: int
    node: str
    dev: str
    qdiscs: tuple[Qdisc, ...] = ()
    mtu: int | None = None


@dataclass(frozen=True, slots=True)
class ModuleChange:
    """Parameters of a module, loaded or built in, and thus of all its flows."""

    at_us: int
    module: str
    params: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FlowChange:
    """The sending socket of a flow; None leaves a value as it is, and a pacing of 0 removes the limit."""

    at_us: int
    flow: int
    cc: str | None = None
    max_pacing_bps: int | None = None


ScheduledChange = DeviceChange | ModuleChange | FlowChange


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """`ack_us` 0 records every ACK; `departures` each packet that leaves a link with two queues, `decisions` each that comes to a policer."""

    ack_us: int
    tick_us: int
    departures: bool = field(default=False, metadata=SELDOM)
    decisions: bool = field(default=False, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class BoxEnd:
    """A device of a middle box, and its queues during a run."""

    dev: str
    qdiscs: tuple[Qdisc, ...]


@dataclass(frozen=True, slots=True)
class MiddleBox:
    """A real host that forwards between the others, and emulates the experiment's path between them."""

    host: PlacedHost
    ends: tuple[BoxEnd, ...]


@dataclass(frozen=True, slots=True)
class Expectation:
    """A measure in its unit, and its bounds; None leaves that side open, or means the run's window."""

    measure: str
    flow: str | None
    low: float | None
    high: float | None
    text: str
    phase: str | None = field(default=None, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Parts:
    """Guests that run it together (parts.py): with `auto`, one if processors are not free. If it `alters` the trace, it is part of the run's id."""

    number: int
    auto: bool = field(default=False, metadata=SELDOM)
    alters: bool = field(default=False, metadata=SELDOM)


@dataclass(frozen=True, slots=True)
class Run:
    """One run: same Run, same programs, same trace. `sysctls` are those that a kernel has only once, `knobs` files of user's modules.

    `capture` (captures.py) changes nothing in the trace, so it is no part of the id or of a kept run. A `script` is of the user's; what it did was observed.
    """

    format: int
    experiment: str
    backend: str
    kernel: str
    seed: int
    point: Mapping[str, str]
    duration_us: int
    window_us: tuple[int, int]
    memory_mb: int
    sysctls: tuple[tuple[str, str], ...]
    nodes: tuple[Node, ...]
    wires: tuple[Wire, ...]
    neighbours: tuple[Neighbour, ...]
    routes: tuple[Route, ...]
    links: tuple[Link, ...]
    modules: tuple[Module, ...]
    flows: tuple[Flow, ...]
    schedule: tuple[ScheduledChange, ...]
    trace: TraceOptions
    expect: tuple[Expectation, ...]
    meaning: Meaning
    where: str = "guest"
    clock: str = "virtual"
    phases: tuple[Phase, ...] = field(default=(), metadata=SELDOM)
    # On real hosts; a real path differs every time, so a run has the time of its request.
    hosts: tuple[PlacedHost, ...] = field(default=(), metadata=SELDOM)
    asked_at: str = field(default="", metadata=SELDOM)
    box: MiddleBox | None = field(default=None, metadata=SELDOM)
    parts: Parts | None = field(default=None, metadata=SELDOM)
    knobs: tuple[tuple[str, str], ...] = field(default=(), metadata=SELDOM)
    capture: Module | None = field(default=None, metadata=SELDOM)
    script: Script | None = field(default=None, metadata=SELDOM)
    recordings: tuple[RecordedTable, ...] = field(default=(), metadata=SELDOM)
    policers: tuple[Policer, ...] = field(default=(), metadata=SELDOM)

    @property
    def title(self) -> str:
        """A short name for progress lines and charts."""
        return " ".join(filter(None, [self.experiment, point_text(self.point, " "), f"seed {self.seed}"]))

    @property
    def kernels(self) -> list[str]:
        """The kernels of its guests, the run's own first."""
        return list(dict.fromkeys([self.kernel, *(node.kernel or self.kernel for node in self.nodes)]))

    @property
    def machines(self) -> tuple[PlacedHost, ...]:
        """Every real host of the run, the middle box last."""
        return (*self.hosts, self.box.host) if self.box else self.hosts

    @property
    def device_changes(self) -> Iterator[DeviceChange]:
        """The schedule's changes of the path."""
        yield from (change for change in self.schedule if isinstance(change, DeviceChange))

    def changes_of(self, flow: Flow) -> Iterator[FlowChange]:
        """The schedule's changes of one flow's socket."""
        yield from (change for change in self.schedule if isinstance(change, FlowChange) and change.flow == flow.id)

    @property
    def least_mtu(self) -> int:
        """The smallest MTU that a sender ever has."""
        return min([self.meaning.mtu, *(change.mtu for change in self.device_changes if change.mtu is not None)])

    @property
    def ends(self) -> Iterator[End]:
        """Every device of the run; no two have the same name."""
        yield from (end for wire in self.wires for end in wire.ends)

    def link_rates(self, link: Link) -> list[tuple[int, int, int]]:
        """(from, to, bit/s) of a link, in microseconds, between its changes: those of the schedule, or of its recording."""
        if link.offered_bytes:
            return offered_rates(link.offered_bytes, link.offered_every_us, self.duration_us)
        changes = [(0, link.rate_bps)]
        for change in self.device_changes:
            for qdisc in change.qdiscs if change.dev == link.dev else ():
                rate_bps = qdisc.options.get("rate_bps")
                if isinstance(rate_bps, int):
                    changes.append((change.at_us, rate_bps))
        return self._spans(changes)

    def pacing_rates(self, flow: Flow) -> list[tuple[int, int, int]]:
        """(from, to, bit/s) of the rate of a flow's socket, between its scheduled changes; 0: none."""
        changes = [(0, flow.options.max_pacing_bps)]
        changes += [(one.at_us, one.max_pacing_bps) for one in self.changes_of(flow) if one.max_pacing_bps is not None]
        return self._spans(changes)

    def _spans(self, changes: Sequence[tuple[int, int]]) -> list[tuple[int, int, int]]:
        ends_us = [*(at_us for at_us, _ in changes[1:]), self.duration_us]
        return [(begin_us, end_us, bps) for (begin_us, bps), end_us in zip(changes, ends_us, strict=True)]

    def as_json(self) -> dict[str, Any]:
        """run.json as plain data."""
        return dict(encode(self))

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Run:
        """The Run of a run.json; ValueError for another format."""
        if data.get("format") != FORMAT:
            raise ValueError(f"run.json of format {data.get('format')!r}, this version reads {FORMAT}")
        run: Run = decode(Run, data)
        return run


def point_text(point: Mapping[str, str], between: str = ", ") -> str:
    """A point of a sweep as tables, titles and messages write it."""
    return between.join(
        f"{name.removeprefix('flows.').removeprefix('path.')}={spell_number(text)}" for name, text in point.items()
    )
