"""The experiment as a person writes it: every field of the format, with what it means; still text, nothing resolved.

    Experiment --- path: Path            the bottleneck
                |- links: Link*          other links of the topology
                |- flows: Flow*          what uses it
                |- schedule: Change*     what happens to the path and the flows on the way
                `- expect: Expected*     the gate

Rules that tie fields together are in rules.py, reading and error lines in load.py, numbers in plan/compile.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import Enum
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, PrivateAttr

from longhaul.orchestrator.spec.congestion_controls import CongestionControl, find_control
from longhaul.orchestrator.spec.fields import (
    Amount,
    BufferSize,
    Duration,
    HostName,
    Jitter,
    LineRate,
    Name,
    OneWayTime,
    PacketCount,
    ParameterValue,
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
from longhaul.orchestrator.spec.presets import ERAS, PRESETS

ORDINARY_KERNELS = ("6.12", "6.1")
# Those that watch themselves: for looking for faults, far too slow for anything else.
DEBUG_KERNELS = ("6.12-debug",)
KERNELS = (*ORDINARY_KERNELS, *DEBUG_KERNELS)
QUEUES = (
    "droptail",
    "codel",
    "fq_codel",
    "pie",
    "red",
    "cake",
    "step",
)
AGGREGATES = ("mean", "median", "trimmed_mean")
TOOLS = ("lh-flow", "iperf3")
RECOVERIES = ("rack", "dupthresh")

_LEAST_MTU, _LARGEST_MTU = 576, 9000


class Part(BaseModel):
    """Every part of an experiment: no unknown keys, no silent conversions, no changes afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class OneWay(Part):
    """The two directions of a path whose delays differ."""

    forward: OneWayTime = Field(description="delay from the senders to the receivers")
    reverse: OneWayTime = Field(description="delay of the acknowledgements")


class Burst(Part):
    """Gilbert-Elliott: a good and a bad state, drawn anew for every packet."""

    p: Share = Field(description="chance to go from good to bad")
    r: Share = Field(description="chance to go from bad to good")
    good: Share = Field(0.0, description="loss in the good state")
    bad: Share = Field(1.0, description="loss in the bad state")


class LinkNumbers(Part):
    """What a schedule may change of a link."""

    bandwidth: LineRate | None = Field(
        None, description="rate of the link, forward; frames count with their 14 bytes of Ethernet header"
    )
    rtt: RoundTrip | None = Field(None, description="base round trip over the link, half in each direction")
    one_way: OneWay | None = Field(None, description="instead of rtt: each direction's delay")
    buffer: BufferSize | None = Field(
        None, description="waiting room in front of the rate: BDP, packets, KB or ms at the line's rate"
    )
    loss: Share | None = Field(None, description="random loss a packet, forward, in front of the queue")
    reverse_loss: Share | None = Field(None, description="random loss a packet, of the acknowledgements")
    burst: Burst | None = Field(None, description="instead of loss: losses in bursts")
    jitter: Jitter | None = Field(
        None,
        description="forward delay varies by up to this, uniformly, both ways; order is kept unless reorder is given",
    )
    reorder: Share | None = Field(None, description="packets that overtake, by skipping the forward delay")
    duplicate: Share | None = Field(None, description="packets that arrive twice")
    corrupt: Share | None = Field(None, description="packets with one bit turned over")
    reverse_bandwidth: LineRate | None = Field(
        None, description="rate of the reverse direction; without it, as the topology says: of most, no limit"
    )


class PathNumbers(LinkNumbers):
    """What a schedule may change of the path."""

    mtu: int | None = Field(
        None, ge=_LEAST_MTU, le=_LARGEST_MTU, description="largest IP packet of the senders, up to that of the start"
    )


class Link(LinkNumbers):
    """One link of the topology, where it differs from what the topology says; forward is in the order of its name."""

    queue: one_of(*QUEUES) | None = Field(None, description="discipline of its queue; without it, path.queue")  # type: ignore[valid-type]
    mark_at: PacketCount | None = Field(
        None, description="of a step queue: it marks what finds this many waiting; without it, path.mark_at"
    )


class Path(PathNumbers):
    """The bottleneck, or each of them where the topology has several, and what holds everywhere."""

    buffer: BufferSize = Field(
        "1 BDP", description="waiting room in front of the rate: BDP, packets, KB or ms at the line's rate"
    )
    queue: one_of(*QUEUES) = Field("droptail", description="discipline of the queues; droptail in reverse")  # type: ignore[valid-type]
    ecn: Switch = Field(
        False, description="senders ask for ECN, and the forward queues mark instead of dropping where they can"
    )
    mark_at: PacketCount | None = Field(
        None, description="of a step queue: it marks what finds this many full packets waiting"
    )
    mtu: int = Field(1500, ge=_LEAST_MTU, le=_LARGEST_MTU, description="largest IP packet")


class OnOff(Part):
    """UDP that comes in bursts."""

    rate: Rate = Field(description="rate while on")
    on: Period = Field(description="mean time on, exponential")
    off: Period = Field(description="mean time off, exponential")


class Web(Part):
    """Objects one after the other, each on a connection of its own."""

    mean: Size = Field("100 KB", description="mean size of an object, Pareto")
    shape: float = Field(1.2, gt=1, le=10, description="shape of the Pareto distribution")
    think: Period = Field("1 s", description="mean time between objects, exponential")


@dataclass(frozen=True, slots=True)
class Traffic:
    """What a field makes of a flow: its kind in run.json, its name for people who choose, and a value to begin with."""

    kind: str
    name: str
    start: Any


# The fields of a flow that make it something else than bulk TCP.
TRAFFIC: Mapping[str, Traffic] = {
    "udp": Traffic("udp", "UDP, constant rate", "10 Mbit/s"),
    "on_off": Traffic("udp", "UDP in bursts", {"rate": "10 Mbit/s", "on": "1 s", "off": "1 s"}),
    "web": Traffic("web", "Web-like TCP", {"mean": "100 KB", "think": "1 s"}),
}


class Flow(Part):
    """One of: TCP (`cc`), constant-rate UDP (`udp`), bursts of UDP (`on_off`), web-like TCP (`web`)."""

    model_config = ConfigDict(json_schema_extra={"x-traffic": {name: asdict(one) for name, one in TRAFFIC.items()}})

    name: Name = Field(description="what tables, expectations and --set call it")
    preset: one_of(*PRESETS) | None = Field(  # type: ignore[valid-type]
        None, description="a study's name for a sender: fills the fields that are not written here"
    )
    cc: str | None = Field(
        None,
        description="congestion control of the sender; web flows use cubic unless told",
        json_schema_extra={"x-catalogue": "modules"},
    )
    variant: Name | None = Field(None, description="what a study calls this congestion control")
    params: dict[str, ParameterValue] = Field(
        default_factory=dict, description="parameters of the congestion-control module"
    )
    udp: Rate | None = Field(
        None, description="constant bit rate, with the frame's headers; packets due within 250 us leave together"
    )
    on_off: OnOff | None = Field(None, description="seeded bursts of UDP")
    web: Web | None = Field(None, description="seeded transfers with pauses")
    count: int = Field(1, ge=0, le=1000, description="identical flows, named name-1 to name-n; 0: none in this run")
    spread: Duration | None = Field(None, description="from the start of one of them to the next")
    start: Duration = Field("0 s", description="when it begins; start_jitter comes on top")
    stop: Duration | None = Field(None, description="when it ends; without it, the end of the run")
    sender: HostName | None = Field(
        None,
        description="host that sends, or a pattern as in a* whose matches are dealt out in turn; without it, the topology's pairs in turn",
    )
    receiver: HostName | None = Field(None, description="host that receives, in the same way")
    size: Size | None = Field(None, description="a transfer of this many bytes")
    tool: one_of(*TOOLS) = Field("lh-flow", description="program that makes the traffic")  # type: ignore[valid-type]
    rtt: RoundTrip | None = Field(
        None,
        description="base round trip of this flow; what the path is short of it is added behind all that is shared",
    )
    sack: Switch = Field(True, description="selective acknowledgements")
    ecn: Switch | None = Field(None, description="ask for ECN; without it, as path.ecn says")
    recovery: one_of(*RECOVERIES) = Field(  # type: ignore[valid-type]
        "rack", description="what tells a loss: time (rack) or three duplicate acknowledgements (dupthresh)"
    )
    window: WindowSize | None = Field(
        None, description="window the receiver advertises at most, in whole segments of the MTU less 52 bytes"
    )
    hystart: Switch | None = Field(None, description="hybrid slow start, where the congestion control has it")
    initial_window: int = Field(10, ge=1, le=1000, description="initial congestion window, packets")
    delayed_ack: Switch = Field(True, description="the receiver acknowledges every second segment; off: each")

    @property
    def traffic(self) -> list[str]:
        """The fields of TRAFFIC that are written; rules.py allows one."""
        return [name for name in TRAFFIC if getattr(self, name) is not None]

    @property
    def kind(self) -> str:
        """tcp, udp or web."""
        return TRAFFIC[self.traffic[0]].kind if self.traffic else "tcp"

    @property
    def names(self) -> list[str]:
        """The names of the flows that this entry stands for."""
        return [self.name] if self.count == 1 else [f"{self.name}-{number}" for number in range(1, self.count + 1)]


class FlowSettings(Part):
    """What a schedule may change of a TCP flow, on its live connection."""

    cc: str | None = Field(
        None,
        description="congestion control from now on; what the former one left, such as its window, stays",
        json_schema_extra={"x-catalogue": "modules"},
    )
    params: dict[str, ParameterValue] = Field(
        default_factory=dict, description="parameters of the congestion control, from now on"
    )


class Change(Part):
    """One moment of the schedule: any of `path`, `links` and `flows`."""

    at: Duration = Field(description="when; what changes at 0 s is how the run begins")
    path: PathNumbers | None = Field(
        None, description="the fields that change; a buffer keeps its size unless it is named"
    )
    links: dict[str, LinkNumbers] = Field(default_factory=dict, description="the same of single links, by name")
    flows: dict[str, FlowSettings] = Field(
        default_factory=dict,
        description="a flow's name (with a count: of all of them, or name-2 of one), and what changes",
    )


class Expected(Part):
    """One line of the gate: bounds on a measure."""

    measure: str = Field(description="a measure's name", json_schema_extra={"x-catalogue": "measures"})
    flow: Name | None = Field(None, description="whose, for a measure of a flow")
    phase: Name | None = Field(None, description="in which of the phases; without it, in the window")
    at_least: Amount = Field(None, description="lowest value that will do")
    at_most: Amount = Field(None, description="highest value that will do")
    within: Share | None = Field(None, description="largest deviation, as a share of `of`")
    of: Amount = Field(None, description="value that `within` is about")


class OwnCode(Enum):
    """Which programs an experiment may bring along: none, sources that were sent to this lab before, or any file of this machine."""

    NONE = 0
    SENT = 1
    ANY = 2


class Experiment(Part):
    """The whole file."""

    experiment: Name = Field(description="its name")
    about: str = Field("", description="what it shows, for a reader")
    topology: str = Field(
        "dumbbell",
        description="a name of the topology catalogue, or a Mininet Topo of your own as in ./lab.py:Lab",
        json_schema_extra={"x-catalogue": "topologies"},
    )
    params: dict[str, ParameterValue] = Field(default_factory=dict, description="parameters of the topology")
    path: Path = Field(default_factory=Path, description="the bottleneck; what is not given is as the topology has it")
    links: dict[str, Link] = Field(
        default_factory=dict, description="single links of the topology, as in s1-s2: where they differ"
    )
    flows: list[Flow] = Field(min_length=1, max_length=1000, description="what uses the path")
    modules: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="congestion controls of your own: folders with a tcp_<name>.c, or tcp_<name>.ko files, from this file's folder on",
    )
    schedule: list[Change] = Field(default_factory=list, max_length=1000, description="what changes during the run")
    duration: Period = Field(description="length of the run")
    warmup: Duration | None = Field(None, description="beginning that summaries leave out; traces keep it")
    window: list[Duration] | None = Field(
        None, min_length=2, max_length=2, description="instead of warmup: from when to when summaries look"
    )
    phases: dict[Name, list[Duration]] = Field(
        default_factory=dict,
        max_length=20,
        description="parts of the run by name, each [from, to]: every measure is taken of each of them too",
    )
    repeats: int = Field(1, ge=1, le=1000, description="runs of each point, each with the next seed")
    aggregate: one_of(*AGGREGATES) = Field("mean", description="how repeats are summed up")  # type: ignore[valid-type]
    seed: int = Field(1, ge=0, le=2**32 - 1, description="where all randomness of the first repeat comes from")
    sample: Sample = Field("every-ack", description="how often the trace holds the state of a sender")
    kernel: one_of(*KERNELS) = Field("6.12", description="kernel of the sandbox, in quotes")  # type: ignore[valid-type]
    cc_era: one_of(*ERAS) | None = Field(  # type: ignore[valid-type]
        None, description="defaults of the flows are those of this kernel, in quotes, where they are not written"
    )
    start_jitter: StartJitter = Field(
        "1 RTT",
        description="each flow starts up to this much later, drawn from the seed, so that equal flows are not locked in step",
    )
    sweep: Sweep = Field(None, description="fields and the values they take: every combination, or a list of points")
    expect: list[Expected] = Field(default_factory=list, max_length=1000, description="what must hold for exit code 0")

    # The data this was read from: a point of a sweep is that data with some fields replaced, read again.
    _data: dict[str, Any] = PrivateAttr(default_factory=dict)
    # Which programs it may bring along, at every point of its sweep too.
    _own_code: OwnCode = PrivateAttr(default=OwnCode.ANY)
    # Points of its sweep that were read when it was loaded, by their JSON: no point is validated twice.
    _points: dict[str, Experiment] = PrivateAttr(default_factory=dict)
    # What `modules` brings along, by name.
    _own: Mapping[str, CongestionControl] = PrivateAttr(default_factory=dict)

    def control(self, name: str | None) -> CongestionControl:
        """A flow's congestion control by the name written there; web flows may name none. ValueError says what is known."""
        return find_control(name or "cubic", self._own)
