"""What pages draw goes over the wire as: series, distributions, what there is to draw, one measure of many runs."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from longhaul.api.schemas.experiments import Status, Wire


class NamedSeries(Wire):
    """One of many series."""

    measure: str
    of: str = Field(description="The flow or the link.")
    kind: Literal["flow", "link"]
    unit: str
    of_values: int = Field(description="How many values the trace has there.")
    t_s: list[float]
    value: list[float]


class Timelines(Wire):
    """Many series of a run."""

    run: str
    series: list[NamedSeries]


class Curve(Wire):
    """How a quantity of one flow or link is spread."""

    of: str
    value: list[float] = Field(description="In the unit of the distribution; it never falls.")
    share: list[float] = Field(description="So much of all values is at most that: from 0 to 1.")


class Distribution(Wire):
    """How a quantity is spread over the window of a run."""

    run: str
    measure: str
    unit: str
    curves: list[Curve]


class DrawnFlow(Wire):
    """A flow of a run."""

    name: str
    kind: str
    cc: str | None
    start_s: float
    stop_s: float | None
    bytes: int | None


class DrawnRate(Wire):
    """The bandwidth of a queue from a time on."""

    t_s: float
    bps: int


class DrawnLink(Wire):
    """A queue of a run."""

    name: str
    queue: str
    rate_bps: int
    limit_packets: int = Field(description="What it holds; 0 where it counts bytes.")
    rates: list[DrawnRate] = Field(default=[], description="Its bandwidth over time, which a schedule may change.")


class Moment(Wire):
    """Something that happens during a run."""

    t_s: float
    kind: Literal["start", "stop", "change"]
    text: str
    flow: str | None


class Outline(Wire):
    """What there is to draw of a run."""

    experiment: str
    backend: str
    clock: Literal["virtual", "real"]
    duration_s: float
    partial_s: float | None = Field(
        None, description="Up to when there is a trace of it, where it was cancelled: it is no result."
    )
    window_s: list[float] = Field(description="What measures are taken over, from and to.")
    rtt_ms: float = Field(description="Of the path, without queues.")
    bdp_packets: int | None = Field(
        None, description="Bandwidth times round trip, at the start; null where the delay changes during the run."
    )
    buffer_packets: int | None = Field(
        None, description="What the queue of the first bottleneck holds, in full packets."
    )
    flows: list[DrawnFlow]
    links: list[DrawnLink] = Field(description="The first bottleneck first.")
    moments: list[Moment]


class MeasuredPlace(Wire):
    """A number that runs have."""

    flow: str | None = Field(description="Null where it is the path's or the run's.")
    measure: str


class RunValue(Wire):
    """A number of one run."""

    run: str
    point: dict[str, str]
    seed: int
    status: Status
    value: float | None


class Values(Wire):
    """One measure over the runs of an experiment, and which others there are."""

    flow: str | None
    measure: str
    measures: list[MeasuredPlace]
    values: list[RunValue]
