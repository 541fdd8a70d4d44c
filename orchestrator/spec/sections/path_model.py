"""The path of an experiment as a user writes it: the bottleneck, other links, their queues; for model.py."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import Field

from longhaul.orchestrator.recorded_links.formats import FORMATS, MODELS
from longhaul.orchestrator.spec.fields import (
    BucketSize,
    BufferSize,
    Ecn,
    Jitter,
    LineRate,
    MarkThreshold,
    OneWayTime,
    Period,
    RecordingOffset,
    RoundTrip,
    Share,
    Switch,
    one_of,
)
from longhaul.orchestrator.spec.sections.queue_parameters import Cake, DualPI2, Part, Shaper

QUEUES = (
    "droptail",
    "codel",
    "fq_codel",
    "pie",
    "red",
    "cake",
    "step",
    "dualpi2",
)
# Of acknowledgements: those that need no marks.
REVERSE_QUEUES = ("droptail", "codel", "fq_codel", "pie", "red", "cake")
BETWEEN = ("steps", "line")
AT_END = ("wrap", "cut")

_LEAST_MTU, _LARGEST_MTU = 576, 9000


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


class Police(Part):
    """A policer: a token bucket in front of the link; a frame that finds enough tokens passes at once, any other is dropped."""

    rate: LineRate = Field(
        description="rate at which the bucket fills; frames count with their 14 bytes of Ethernet header"
    )
    burst: BucketSize = Field(description="what the bucket holds: this much passes at once after a pause")


class Recording(Part):
    """A recorded link: what it could carry, its delay and its losses at every instant, from a file or a model."""

    file: str | None = Field(None, description="its file: a path, or sha256: and the hash of one that was imported")
    model: one_of(*MODELS) | None = Field(  # type: ignore[valid-type]
        None, description="instead of a file: a model of a cellular (lte) or a satellite link (leo)"
    )
    parameters: Mapping[str, float] | None = Field(
        None, description="of a model: where it differs from its defaults, such as {snr_db: 15}"
    )
    length: Period = Field("60 s", description="of a model: how much of it is made")
    seed: int = Field(1, ge=0, lt=2**32, description="of a model: the seed of its draws")
    format: one_of(*FORMATS) | None = Field(  # type: ignore[valid-type]
        None,
        description="mahimahi: a line is the millisecond at which one IP packet of 1500 bytes may leave; table: CSV or Parquet; losses: 0 and 1, a packet each; without it, table for .csv and .parquet, mahimahi for every other file",
    )
    columns: Mapping[str, str] | None = Field(
        None, description='of a table: names of its columns time, rate, delay and loss, such as {rate: "dl in Mbit/s"}'
    )
    step: Period | None = Field(None, description="of a table without times: how long each row lasts")
    between: one_of(*BETWEEN) = Field(  # type: ignore[valid-type]
        "steps", description="of a table: a row holds until the next, or rates and delays change in a straight line"
    )
    at_end: one_of(*AT_END) = Field(  # type: ignore[valid-type]
        "wrap", description="where the run is longer: begin the recording again, or refuse the run (cut)"
    )
    offset: RecordingOffset = Field(
        "0 s", description="where in the recording the run begins: a time, or drawn, from the run's seed"
    )
    scale: float = Field(1.0, gt=0, le=1000, description="factor of all rates and opportunities")


class LinkNumbers(Part):
    """The numbers of a link that a schedule may change."""

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
    police: Police | None = Field(
        None,
        description="policer in front of everything else of the link, forward: what exceeds its rate and burst is dropped at once, without a queue",
    )
    jitter: Jitter | None = Field(
        None,
        description="forward delay varies by up to this, uniformly, in both directions; order is kept unless reorder is given",
    )
    reorder: Share | None = Field(None, description="packets that overtake, by skipping the forward delay")
    duplicate: Share | None = Field(None, description="packets that arrive twice")
    corrupt: Share | None = Field(None, description="packets with one flipped bit")
    reverse_bandwidth: LineRate | None = Field(
        None, description="rate of the reverse direction; without it, the topology's: of most, no limit"
    )


class PathNumbers(LinkNumbers):
    """The numbers of the path that a schedule may change."""

    mtu: int | None = Field(
        None, ge=_LEAST_MTU, le=_LARGEST_MTU, description="largest IP packet of the senders, up to that of the start"
    )


class Link(LinkNumbers):
    """One link of the topology, where it differs from the topology; forward is in the order of its name."""

    queue: one_of(*QUEUES) | None = Field(None, description="discipline of its queue; without it, path.queue")  # type: ignore[valid-type]
    mark_at: MarkThreshold | None = Field(
        None, description="of a step queue: it marks packets that find this much waiting; without it, path.mark_at"
    )
    dualpi2: DualPI2 | None = Field(None, description="parameters of a dualpi2 queue; without it, path.dualpi2")
    cake: Cake | None = Field(None, description="parameters of a cake queue; without it, path.cake")
    shaper: Shaper | None = Field(None, description="bucket of its rate, forward; without it, path.shaper")
    reverse_queue: one_of(*REVERSE_QUEUES) | None = Field(  # type: ignore[valid-type]
        None, description="discipline of its queue in reverse, where it has a rate; without it, path.reverse_queue"
    )
    reverse_cake: Cake | None = Field(
        None, description="parameters of a cake queue in reverse; without it, path.reverse_cake"
    )
    recording: Recording | None = Field(
        None, description="a recorded link, forward: rate, delay or losses of its file, in place of bandwidth and loss"
    )
    reverse_recording: Recording | None = Field(None, description="the same in reverse")


class Path(PathNumbers):
    """The bottleneck, or each of them where the topology has several, and settings of all queues."""

    buffer: BufferSize = Field(
        "1 BDP", description="waiting room in front of the rate: BDP, packets, KB or ms at the line's rate"
    )
    queue: one_of(*QUEUES) = Field("droptail", description="discipline of the queues, forward")  # type: ignore[valid-type]
    reverse_queue: one_of(*REVERSE_QUEUES) = Field(  # type: ignore[valid-type]
        "droptail", description="discipline of the queues in reverse, where there is a rate"
    )
    ecn: Ecn = Field(
        False,
        description="senders ask for ECN, and the forward queues mark instead of dropping where they can; accurate: with a count of the marks in each ACK (AccECN)",
    )
    mark_at: MarkThreshold | None = Field(
        None, description="of a step queue: it marks packets that find so many full packets, or bytes, waiting"
    )
    dualpi2: DualPI2 | None = Field(
        None, description="parameters of a dualpi2 queue; without it, the kernel's defaults"
    )
    cake: Cake | None = Field(None, description="parameters of a cake queue; without it, the kernel's defaults")
    shaper: Shaper | None = Field(
        None, description="bucket of the bottleneck's rate, forward: a burst that passes at once; without it, one frame"
    )
    reverse_cake: Cake | None = Field(
        None, description="parameters of a cake queue in reverse; without it, the kernel's defaults"
    )
    recording: Recording | None = Field(
        None,
        description="a recorded link at the bottleneck, forward: rate, delay or losses of its file, in place of bandwidth and loss",
    )
    reverse_recording: Recording | None = Field(None, description="the same in reverse")
    mtu: int = Field(1500, ge=_LEAST_MTU, le=_LARGEST_MTU, description="largest IP packet")
    offloads: Switch = Field(
        False,
        description="hosts hand TCP segments to their devices in trains, as with TSO, and join those that arrive together, as with GRO; each is a frame of its own on the path",
    )
