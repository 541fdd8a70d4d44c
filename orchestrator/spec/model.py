"""The experiment as a user writes it: every field of the format, with its meaning; still text, nothing resolved.

    Experiment --- path: Path            the bottleneck
                |- links: Link*          other links of the topology
                |- flows: Flow*          its traffic
                |- schedule: Change*     changes of the path and the flows during the run
                `- expect: Expected*     bounds on its measures

Rules between fields are in rules.py, reading and error lines in load.py, numbers in plan/compile.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from enum import Enum
from typing import Any

from pydantic import ConfigDict, Field, PrivateAttr

from longhaul.orchestrator.spec.congestion_controls import CongestionControl, find_control
from longhaul.orchestrator.spec.fields import (
    EMULATIONS,
    Amount,
    Duration,
    Ecn,
    Ect,
    HostName,
    ModuleEntry,
    Name,
    ParameterValue,
    PartCount,
    Period,
    Rate,
    RoundTrip,
    Sample,
    Share,
    Size,
    StartJitter,
    Sweep,
    Switch,
    WindowSize,
    one_of,
)
from longhaul.orchestrator.spec.kernel_versions import KernelName
from longhaul.orchestrator.spec.presets import ERAS, PRESETS
from longhaul.orchestrator.spec.sections.flow_parts import Command, Dscp, Requests, SocketOption
from longhaul.orchestrator.spec.sections.path_model import Link, LinkNumbers, Path, PathNumbers
from longhaul.orchestrator.spec.sections.queue_parameters import Part
from longhaul.orchestrator.system.lazy_dataclasses import dataclass

AGGREGATES = ("mean", "median", "trimmed_mean")
TOOLS = ("lh-flow", "iperf3")
# The kind of a flow whose traffic programs make.
PROGRAM = "program"
RECOVERIES = ("rack", "dupthresh")


class OnOff(Part):
    """Bursts of UDP."""

    rate: Rate = Field(description="rate while on")
    on: Period = Field(description="mean time on, exponential")
    off: Period = Field(description="mean time off, exponential")


class Web(Part):
    """Objects one after the other, each on its own connection."""

    mean: Size = Field("100 KB", description="mean size of an object, Pareto")
    shape: float = Field(1.2, gt=1, le=10, description="shape of the Pareto distribution")
    think: Period = Field("1 s", description="mean time between objects, exponential")


@dataclass(frozen=True, slots=True)
class Traffic:
    """A field that determines the kind of a flow: the kind in run.json, its label in menus, and an initial value."""

    kind: str
    name: str
    start: Any


# The fields of a flow that make it something other than bulk TCP.
TRAFFIC: Mapping[str, Traffic] = {
    "udp": Traffic("udp", "UDP, constant rate", "10 Mbit/s"),
    "on_off": Traffic("udp", "UDP in bursts", {"rate": "10 Mbit/s", "on": "1 s", "off": "1 s"}),
    "web": Traffic("web", "Web-like TCP", {"mean": "100 KB", "think": "1 s"}),
    "requests": Traffic("requests", "Requests and responses", {"response": "10 KB", "think": "10 ms"}),
}


class Flow(Part):
    """One of: TCP (`cc`), constant-rate UDP (`udp`), bursts of UDP (`on_off`), web-like TCP (`web`), requests and responses (`requests`), programs (`command`)."""

    model_config = ConfigDict(json_schema_extra={"x-traffic": {name: asdict(one) for name, one in TRAFFIC.items()}})

    name: Name = Field(description="its name in tables, expectations and --set")
    preset: one_of(*PRESETS) | None = Field(  # type: ignore[valid-type]
        None, description="a study's name for a sender: fills the fields that are not written here"
    )
    cc: str | None = Field(
        None,
        description="congestion control of the sender; for web flows, requests and programs cubic by default",
        json_schema_extra={"x-catalogue": "modules"},
    )
    variant: Name | None = Field(None, description="a study's name for this congestion control")
    params: dict[str, ParameterValue] = Field(
        default_factory=dict, description="parameters of the congestion-control module"
    )
    udp: Rate | None = Field(
        None, description="constant bit rate, with the frame's headers; packets due within 250 us leave together"
    )
    on_off: OnOff | None = Field(None, description="seeded bursts of UDP")
    web: Web | None = Field(None, description="seeded transfers with pauses")
    requests: Requests | None = Field(None, description="requests and responses, each of which is timed")
    command: Command | None = Field(None, description="programs of this machine that make the traffic")
    count: int = Field(1, ge=0, le=1000, description="identical flows, named name-1 to name-n; 0: none in this run")
    spread: Duration | None = Field(None, description="from the start of one of them to the next")
    start: Duration = Field("0 s", description="when it begins; start_jitter is added")
    stop: Duration | None = Field(None, description="when it ends; without it, the end of the run")
    sender: HostName | None = Field(
        None,
        description="host that sends, or a pattern as in a* whose matches are used in turn; without it, the topology's pairs in turn",
    )
    receiver: HostName | None = Field(None, description="host that receives, in the same way")
    size: Size | None = Field(None, description="a transfer of this many bytes")
    streams: int = Field(
        1,
        ge=1,
        le=100,
        description="connections that share one transfer of `size`: each takes the next block as it sends; above 1 they are named name-1 to name-n, and name is their total",
    )
    tool: one_of(*TOOLS) = Field("lh-flow", description="program that makes the traffic")  # type: ignore[valid-type]
    rtt: RoundTrip | None = Field(
        None,
        description="base round trip of this flow; where the path's is shorter, the difference is added behind all shared links",
    )
    sack: Switch = Field(True, description="selective acknowledgements")
    ecn: Ecn | None = Field(None, description="ask for ECN, or for accurate ECN; without it, path.ecn")
    ect: Ect | None = Field(
        None,
        description="its packets carry ECT(0) or ECT(1), which L4S queues take for scalable traffic; for TCP, 1 is a re-mark at the sender's device",
    )
    dscp: Dscp | None = Field(
        None,
        description="class of its packets in both directions, for queues that look at it, such as cake: a name as in EF or CS1, or a number; the ECN field stays its own",
    )
    recovery: one_of(*RECOVERIES) = Field(  # type: ignore[valid-type]
        "rack", description="how a loss is detected: by time (rack) or by three duplicate acknowledgements (dupthresh)"
    )
    window: WindowSize | None = Field(
        None, description="largest window that the receiver advertises, in whole segments of the MTU less 52 bytes"
    )
    hystart: Switch | None = Field(None, description="hybrid slow start, where the congestion control has it")
    initial_window: int = Field(10, ge=1, le=1000, description="initial congestion window, packets")
    delayed_ack: Switch = Field(True, description="the receiver acknowledges every second segment; off: each")

    sockopts: list[SocketOption] = Field(
        default_factory=list, max_length=20, description="more options of the sender's sockets"
    )

    @property
    def traffic(self) -> list[str]:
        """The fields of TRAFFIC that are present; rules.py allows one."""
        return [name for name in TRAFFIC if getattr(self, name) is not None]

    @property
    def kind(self) -> str:
        """tcp, udp, web, requests or program."""
        if self.command is not None:
            return PROGRAM
        if self.requests is not None and self.requests.over == "udp":
            return "udp"
        return TRAFFIC[self.traffic[0]].kind if self.traffic else "tcp"

    @property
    def ends_by_itself(self) -> bool:
        """Whether it has an end of its own: a sized transfer, a number of requests, a program."""
        counted = self.requests is not None and self.requests.count is not None
        return self.size is not None or counted or self.command is not None

    @property
    def together(self) -> int:
        """How many flows belong together: the streams of a transfer, the connections of programs or of requests."""
        several = self.command or self.requests
        return self.streams if several is None else several.connections

    @property
    def of_one_sender(self) -> int:
        """How many of those that belong together have the same sender: all, but at a barrier each has its own turn."""
        return 1 if self.requests is not None and self.requests.barrier else self.together

    @property
    def groups(self) -> list[tuple[str, list[str]]]:
        """Its flows by name: those that belong together, as the streams of a transfer, with their common name."""
        heads = [self.name] if self.count == 1 else _numbered(self.name, self.count)
        return [(head, [head] if self.together == 1 else _numbered(head, self.together)) for head in heads]

    @property
    def members(self) -> list[tuple[str, str]]:
        """Each flow of this entry, after the common name of those that belong together."""
        return [(head, name) for head, members in self.groups for name in members]

    @property
    def names(self) -> list[str]:
        """The names of the flows of this entry."""
        return [name for _, name in self.members]

    @property
    def totals(self) -> list[str]:
        """The names of several flows together, which have measures of their own: streams of a transfer, connections of requests."""
        return [head for head, _ in self.groups] if self.together > 1 and self.command is None else []


def _numbered(name: str, number: int) -> list[str]:
    return [f"{name}-{place}" for place in range(1, number + 1)]


class FlowSettings(Part):
    """The settings of a TCP flow that a schedule may change, on its live connection."""

    cc: str | None = Field(
        None,
        description="congestion control from now on; state of the former one, such as its window, stays",
        json_schema_extra={"x-catalogue": "modules"},
    )
    params: dict[str, ParameterValue] = Field(
        default_factory=dict, description="parameters of the congestion control, from now on"
    )


class Change(Part):
    """One moment of the schedule: any of `path`, `links` and `flows`."""

    at: Duration = Field(description="when; what changes at 0 s is how the run begins")
    path: PathNumbers | None = Field(
        None, description="the fields that change; a buffer keeps its size unless it is given"
    )
    links: dict[str, LinkNumbers] = Field(default_factory=dict, description="the same of single links, by name")
    flows: dict[str, FlowSettings] = Field(
        default_factory=dict,
        description="a flow's name (with a count: of all of them, or name-2 of one), and what changes",
    )


class Expected(Part):
    """One expectation: bounds on a measure."""

    measure: str = Field(description="a measure's name", json_schema_extra={"x-catalogue": "measures"})
    flow: Name | None = Field(None, description="the flow, for a measure of a flow")
    phase: Name | None = Field(None, description="the phase; without it, the window")
    at_least: Amount = Field(None, description="lowest allowed value")
    at_most: Amount = Field(None, description="highest allowed value")
    within: Share | None = Field(None, description="largest deviation, as a share of `of`")
    of: Amount = Field(None, description="reference value of `within`")


class Capture(Part):
    """Packets of a run in virtual time, as a pcapng file; they change neither its numbers nor its id."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"at": ["bottleneck", "a1"], "snap": 128}]})

    at: list[str] = Field(
        min_length=1,
        max_length=50,
        description="where: bottleneck, reverse, a host or a pattern as in a* (all its devices), a link as in s1-s2 (the device of s1), or all",
    )
    snap: int | None = Field(
        None,
        ge=42,
        le=65535,
        description="bytes of each packet that are kept; without it, the headers of TCP and UDP, and 96 bytes of other packets",
    )
    flows: list[Name] | None = Field(
        None, min_length=1, max_length=100, description="only packets of these flows; without it, every packet"
    )


class OwnCode(Enum):
    """Which user code an experiment may contain: none, sources that were uploaded to this lab before, or any file of this machine.

    TEXT: any file, of which only the text is read, because another machine builds its modules.
    """

    NONE = 0
    SENT = 1
    ANY = 2
    TEXT = 3

    @property
    def reads_files(self) -> bool:
        """Whether paths may be named."""
        return self in (OwnCode.ANY, OwnCode.TEXT)


class Node(Part):
    """A host of the topology where it differs from the others."""

    kernel: KernelName | None = Field(
        None,
        description="kernel of its guest, where it is not the experiment's",
        json_schema_extra={"x-catalogue": "kernels"},
    )


class Experiment(Part):
    """A whole experiment."""

    experiment: Name = Field(description="its name")
    about: str = Field("", description="what it shows, for a reader")
    topology: str = Field(
        "dumbbell",
        description="a name of the topology catalogue, or a Mininet Topo of your own as in ./lab.py:Lab",
        json_schema_extra={"x-catalogue": "topologies"},
    )
    params: dict[str, ParameterValue] = Field(default_factory=dict, description="parameters of the topology")
    path: Path = Field(default_factory=Path, description="the bottleneck; other values are the topology's")
    links: dict[str, Link] = Field(
        default_factory=dict, description="single links of the topology, as in s1-s2, where they differ"
    )
    flows: list[Flow] = Field(min_length=1, max_length=1000, description="the traffic")
    modules: list[ModuleEntry] = Field(
        default_factory=list,
        max_length=20,
        description="user-supplied congestion controls: folders, archives or git+URLs of sources, or objects (.ko), relative to this file's folder; a source that registers cubic replaces cubic, {from: ./mycubic, as: mine} adds mine",
    )
    knobs: dict[str, str | int] = Field(
        default_factory=dict,
        max_length=50,
        description="files below /proc or /sys that the modules make, or names of their sysctls, and the values that are written there before the flows start",
    )
    schedule: list[Change] = Field(default_factory=list, max_length=1000, description="what changes during the run")
    duration: Period = Field(description="length of the run")
    warmup: Duration | None = Field(None, description="beginning that measures leave out; traces keep it")
    window: list[Duration] | None = Field(
        None, min_length=2, max_length=2, description="instead of warmup: the part that measures cover, [from, to]"
    )
    phases: dict[Name, list[Duration]] = Field(
        default_factory=dict,
        max_length=20,
        description="parts of the run by name, each [from, to]; each has every measure too",
    )
    repeats: int = Field(1, ge=1, le=1000, description="runs of each point, each with the next seed")
    aggregate: one_of(*AGGREGATES) = Field("mean", description="how repeats are summarised")  # type: ignore[valid-type]
    seed: int = Field(1, ge=0, le=2**32 - 1, description="source of all randomness of the first repeat")
    sample: Sample = Field("every-ack", description="how often the trace records the state of a sender")
    kernel: KernelName = Field(
        "6.12",
        description="kernel of the guest: a version, in quotes, or the name of a kernel of your own",
        json_schema_extra={"x-catalogue": "kernels"},
    )
    nodes: dict[HostName, Node] = Field(
        default_factory=dict,
        max_length=1000,
        description='hosts with a kernel of their own, by name or pattern: {a1: {kernel: "6.1"}}',
    )
    cc_era: one_of(*ERAS) | None = Field(  # type: ignore[valid-type]
        None, description="kernel whose defaults the flows have where they have no value, in quotes"
    )
    emulation: one_of(*EMULATIONS) = Field(  # type: ignore[valid-type]
        "single",
        description="plain links in virtual time (delay, jitter, loss, rate, droptail): as one qdisc each, or as the kernel's netem, tbf and fifo; the times of packets are the same",
    )
    parts: PartCount = Field(
        "auto",
        description="guests that the run is cut into, each on a processor of its own: a number, or auto for as many as make it faster; the numbers are the same",
    )
    start_jitter: StartJitter = Field(
        "1 RTT",
        description="each flow starts up to this much later, drawn from the seed, so that equal flows are not locked in step",
    )
    sweep: Sweep = Field(None, description="fields and their values: every combination, or a list of points")
    capture: Capture | None = Field(None, description="packets to keep, for Wireshark and others")
    expect: list[Expected] = Field(default_factory=list, max_length=1000, description="what must hold for exit code 0")

    # The data it was read from: a point of a sweep is that data with some fields replaced, validated again.
    _data: dict[str, Any] = PrivateAttr(default_factory=dict)
    # Which user code it may contain, at every point of its sweep too.
    _own_code: OwnCode = PrivateAttr(default=OwnCode.ANY)
    # Points of its sweep that were validated when it was loaded, by their JSON: none is validated twice.
    _points: dict[str, Experiment] = PrivateAttr(default_factory=dict)
    # The controls in `modules`, by name.
    _own: Mapping[str, CongestionControl] = PrivateAttr(default_factory=dict)

    def control(self, name: str | None) -> CongestionControl:
        """A flow's congestion control by its name; web flows may have none. ValueError lists the known ones."""
        return find_control(name or "cubic", self._own)
