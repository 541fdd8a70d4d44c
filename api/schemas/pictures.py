"""The types of responses that pages draw: series, distributions, outlines, one measure of many runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from longhaul.api.schemas.experiments import Status, Wire


class NamedSeries(Wire):
    """One of many series."""

    measure: str
    of: str = Field(description="The name of the flow or link.")
    kind: Literal["flow", "link"]
    unit: str
    of_values: int = Field(description="The number of values in the trace.")
    t_s: list[float]
    value: list[float]


class Timelines(Wire):
    """Many series of a run."""

    run: str
    series: list[NamedSeries]


class Curve(Wire):
    """The distribution of a quantity of one flow or link."""

    of: str
    value: list[float] = Field(description="Values in the unit of the distribution, in ascending order.")
    share: list[float] = Field(description="The share of all values that are at most this value, from 0 to 1.")


class Distribution(Wire):
    """The distribution of a quantity in the window of a run."""

    run: str
    measure: str
    unit: str
    curves: list[Curve]


class TraceMoment(Wire):
    """Something that happened in a run."""

    t_s: float = Field(description="Seconds from the start.")
    kind: str = Field(description="A kind of moment in the catalogue.")
    of: str | None = Field(description="The flow or link; null for a change of the schedule.")
    text: str


class TraceMoments(Wire):
    """Some moments of a part of a run, in the order of time."""

    run: str
    total: int = Field(description="The number of moments in the part.")
    skipped: int = Field(description="The number of moments before those listed.")
    moments: list[TraceMoment]


class DrawnFlow(Wire):
    """A flow of a run."""

    name: str
    kind: str
    cc: str | None
    start_s: float
    stop_s: float | None
    bytes: int | None


class DrawnRate(Wire):
    """The rate of a queue from a time on."""

    t_s: float
    bps: int


class DrawnLink(Wire):
    """A queue of a run."""

    name: str
    queue: str
    rate_bps: int
    limit_packets: int = Field(description="Its limit; 0 if it is limited in bytes.")
    rates: list[DrawnRate] = Field(default=[], description="Its rate over time, which a schedule may change.")
    recorded: bool = Field(False, description="Whether it replays a recording: `rate_bps` is then the mean.")


class Moment(Wire):
    """An event during a run."""

    t_s: float
    kind: Literal["start", "stop", "change"]
    text: str
    flow: str | None


class Outline(Wire):
    """The outline of a run: what can be drawn of it."""

    experiment: str
    backend: str
    clock: Literal["virtual", "real"]
    duration_s: float
    partial_s: float | None = Field(None, description="The end of the trace of a cancelled run, which is not a result.")
    window_s: list[float] = Field(description="The window that measures cover, from and to.")
    rtt_ms: float = Field(description="The round-trip time of the path without queues.")
    bdp_packets: int | None = Field(
        None, description="The bandwidth-delay product at the start; null if the delay changes during the run."
    )
    buffer_packets: int | None = Field(
        None, description="The limit of the first bottleneck's queue, in full-sized packets."
    )
    flows: list[DrawnFlow]
    links: list[DrawnLink] = Field(description="The links, the first bottleneck first.")
    moments: list[Moment]


class MeasuredPlace(Wire):
    """A measure of the runs."""

    flow: str | None = Field(description="Null for a measure of the path or the run.")
    measure: str


class RunValue(Wire):
    """The measure of one run."""

    run: str
    point: dict[str, str]
    seed: int
    status: Status
    value: float | None


class Values(Wire):
    """One measure of the runs of an experiment, and a list of all measures."""

    flow: str | None
    measure: str
    measures: list[MeasuredPlace]
    values: list[RunValue]
