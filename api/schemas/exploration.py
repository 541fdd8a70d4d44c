"""The types of responses with which a sweep or a run is explored: importance, points, bands, pairs of values, states, sequences."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from longhaul.api.schemas.experiments import Wire
from longhaul.api.schemas.pictures import MeasuredPlace

SECONDS = "Seconds from the start."


class ImportanceLevel(Wire):
    """A value of a field."""

    value: str
    mean: float = Field(description="The mean of the measure over the points with this value.")
    runs: int


class FieldImportance(Wire):
    """A swept field, or several that always change together."""

    fields: list[str]
    share: float = Field(description="The share of the variance of the measure that its main effect explains, 0 to 1.")
    levels: list[ImportanceLevel]


class Importance(Wire):
    """How much of the variance of a measure each swept field explains."""

    measure: str
    flow: str | None
    method: str = Field(description="The method in words.")
    runs: int = Field(description="The number of runs with a value.")
    points: int = Field(description="The number of points with a value.")
    missing: int = Field(description="The number of points of the full grid without a value.")
    mean: float | None = Field(description="The mean over the points; null without values.")
    deviation: float | None = Field(description="The standard deviation over all runs; null without values.")
    fields: list[FieldImportance] = Field(description="The most important first.")
    interactions: float = Field(
        description="The share of what fields do only together; without repeats, noise is part of it."
    )
    noise: float | None = Field(description="The share of the differences between repeats; null without repeats.")
    notes: list[str]
    measures: list[MeasuredPlace] = Field(description="All measures of the runs.")


class RepeatedValue(Wire):
    """The mean of a measure over the repeats of a point."""

    value: float
    low: float | None = Field(description="The lower end of the 95 % interval; null of a single run.")
    high: float | None
    runs: int


class SweepPoint(Wire):
    """A point of a sweep."""

    point: dict[str, str]
    runs: list[str]
    values: list[RepeatedValue | None] = Field(description="Each measure in the order of `of`; null without a value.")


class PointValues(Wire):
    """Some measures of every point of an experiment."""

    of: list[MeasuredPlace]
    points: list[SweepPoint] = Field(description="The points in the order of the sweep.")
    measures: list[MeasuredPlace] = Field(description="All measures of the runs.")


class Band(Wire):
    """The mean of a series over the repeats of a point, with its 95 % band."""

    point: dict[str, str]
    measure: str
    of: str = Field(description="The flow or link.")
    unit: str
    runs: list[str] = Field(description="The repeats.")
    left_out: int = Field(description="The number of further repeats that were not read.")
    t_s: list[float] = Field(description=SECONDS)
    mean: list[float | None] = Field(description="Null where no run has a value.")
    low: list[float | None] = Field(description="Null where fewer than two runs have a value.")
    high: list[float | None]
    count: list[int] = Field(description="The number of runs with a value.")


class PhasePlot(Wire):
    """Pairs of values of a flow, ACK by ACK."""

    run: str
    flow: str
    link: str = Field(description="The bottleneck of the flow, whose queue is meant.")
    x: str
    y: str
    x_unit: str
    y_unit: str
    of_values: int = Field(description="The number of pairs in the trace.")
    t_s: list[float] = Field(description=SECONDS)
    x_values: list[float]
    y_values: list[float]


class LinkOccupancy(Wire):
    """One queue over time, in packets."""

    link: str
    limit_packets: int = Field(description="Its limit; 0 if it is limited in bytes.")
    mean: list[float]
    greatest: list[float]


class QueueOccupancy(Wire):
    """How full the queues of a run are over time."""

    run: str
    link: str = Field(description="The link of the distribution.")
    edges_s: list[float] = Field(description="The edges of the stretches of time.")
    edges_packets: list[int] = Field(description="The edges of the classes; a class ends before the next edge.")
    shares: list[list[float]] = Field(
        description="For each stretch, the share of it that the queue had so many packets."
    )
    links: list[LinkOccupancy]


class StateStretch(Wire):
    """A part of the run in one state."""

    begin_s: float
    end_s: float
    state: str


class StateSeries(Wire):
    """States one after the other."""

    name: Literal["TCP", "BBR"]
    stretches: list[StateStretch]
    seconds: dict[str, float] = Field(description="The time in each state, exactly.")
    changes: int
    thinned: bool = Field(description="Whether stretches are left out: each part then shows its longest state.")


class OriginPoint(Wire):
    """CUBIC's origin point from a time on."""

    t_s: float
    packets: float | None = Field(description="Null where it is not known, or TCP repairs losses.")


class FlowStates(Wire):
    """The states of a flow's congestion control."""

    run: str
    flow: str
    cc: str | None
    about: str = Field(description="Where the congestion control's own state comes from, or why there is none.")
    tcp: StateSeries
    own: StateSeries | None = Field(description="BBR's phase; null of others.")
    origin: list[OriginPoint] | None = Field(description="CUBIC's origin point; null of others, or if it is unknown.")


class TraceSequence(Wire):
    """A sequence as the trace has it."""

    t_s: list[float] = Field(description=SECONDS)
    acked_bytes: list[float]
    sent_bytes: list[float] = Field(description="Acknowledged, and in flight.")
    retransmit_t_s: list[float] = Field(description="The times of ACKs that found more retransmissions than before.")
    retransmit_bytes: list[float] = Field(description="What was acknowledged then.")
    retransmitted: list[int]
    drop_t_s: list[float] = Field(description="The times at which queues dropped packets of the flow, or chance did.")
    of_values: int


class CapturedSequence(Wire):
    """A sequence as captured packets have it."""

    place: str = Field(description="The interface that saw the packets.")
    segment_t_s: list[float] = Field(description=SECONDS)
    segment_from: list[float] = Field(description="Bytes from the first one captured.")
    segment_to: list[float]
    again: list[bool] = Field(description="Whether a segment is sent again.")
    ack_t_s: list[float]
    acked_bytes: list[float]
    sack_t_s: list[float]
    sack_from: list[float]
    sack_to: list[float]
    of_segments: int = Field(description="The number of segments in the part.")
    retransmissions: int
    of_sacks: int


class SequenceDiagram(Wire):
    """The time-sequence diagram of a flow: of captured packets if the run has them, else of the trace."""

    run: str
    flow: str
    trace: TraceSequence | None
    packets: CapturedSequence | None
    captured: bool = Field(description="Whether the run has captured packets.")
    sender: str = Field(description="The host that sends the flow, where its packets are captured best.")
