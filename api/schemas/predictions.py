"""The types of requests and responses about predictions."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import TEXT, WHOLE, Wire
from longhaul.orchestrator.analysis.prediction.question import USUAL_WITHIN

Json = dict[str, Any]
_Name = Annotated[str, Field(max_length=64, pattern=TEXT)]


class PredictionAsked(Wire):
    """A transfer whose time is to be predicted."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"size": "40 MB", "path": "20 Mbit/s, 20 ms, buffer 1 BDP", "streams": [1], "cc": ["cubic"]}]
        },
    )

    size: Annotated[str, Field(max_length=64, pattern=TEXT)] = Field(description="How much to transfer, as in 2 TB.")
    path: Annotated[str, Field(max_length=300, pattern=TEXT)] | Json = Field(
        description="The path in one line, or the document of `longhaul hosts measure --json`."
    )
    streams: list[Annotated[int, WHOLE]] = Field(
        default=[1, 4], max_length=24, description="Numbers of parallel streams."
    )
    cc: list[_Name] = Field(
        default=["all"], max_length=24, description="Congestion controls; all: cubic, bbr and htcp."
    )
    within: float = Field(
        default=USUAL_WITHIN,
        gt=0,
        lt=1,
        description="More runs are made until the interval is this close, if they are worth it.",
    )


class Harm(Wire):
    """What one flow of CUBIC loses beside the transfer, compared with beside another flow of CUBIC."""

    share: float = Field(description="The lost share of its rate; below 0: it gains.")
    other_bps: float
    other_beside_cubic_bps: float


class PredictionRow(Wire):
    """A congestion control with a number of streams."""

    cc: str
    streams: int
    how: Literal["steady", "whole", "undecided"] = Field(
        description="Extrapolated from a steady state, measured by whole transfers, or not known."
    )
    why: str = Field(description="Why there is no extrapolation; empty if there is one.")
    seconds: float | None = Field(description="The completion time.")
    low_s: float | None = Field(description="The lower end of the 95 % interval of one transfer's time.")
    high_s: float | None
    rate_bps: float = Field(description="Goodput in the steady state.")
    startup_s: float | None = Field(description="When the steady state begins.")
    loss_epochs: int | None
    fills_line: bool
    harm: Harm | None
    buffer_bytes: int = Field(description="The largest socket buffer that one stream needs.")
    sysctls: dict[str, str]
    commands: list[str]
    experiment: Json = Field(description="The experiment of its runs.")
    runs: list[str] = Field(description="Ids of its runs.")
    cpu_s: float
    virtual_s: float


class CandidateFault(Wire):
    """A candidate whose runs failed."""

    cc: str
    streams: int
    error: Json


class CandidateName(Wire):
    """A candidate."""

    cc: str
    streams: int


class Prediction(Wire):
    """How long a transfer takes, the fastest candidate first."""

    size_bytes: int
    path: Json
    controls: list[str]
    streams: list[int]
    status: Literal["not run", "running", "done"]
    waiting: int = Field(description="Runs of the current round that have not ended; more rounds may follow.")
    payload_bps: float = Field(description="The line's rate without headers.")
    least_s: float = Field(description="The time at that rate.")
    rows: list[PredictionRow]
    faults: list[CandidateFault]
    fastest: list[CandidateName] = Field(description="The fastest candidate, and those within its interval.")
    runs: int
    cpu_s: float
