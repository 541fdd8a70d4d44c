"""The types of recordings of links: those that are kept, one in numbers, and the models that make some."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from longhaul.api.schemas.experiments import TEXT, WHOLE, Wire
from longhaul.orchestrator.recorded_links.formats import FORMATS, MODELS

# The name of a file without a folder, and not hidden.
RECORDING_NAME = r"^[A-Za-z0-9][A-Za-z0-9._+@ -]{0,119}$"


class RecordingRow(Wire):
    """A recording that the service keeps."""

    reference: str = Field(description="Its name in `recording: {file: ...}` of an experiment.")
    name: str = Field(description="The name of its file, whose ending says its format.")
    bytes: int
    kept_at: datetime


class Delays(Wire):
    """Delays of a recording, in milliseconds."""

    least: float
    mean: float
    highest: float


class RecordingNumbers(Wire):
    """What a whole recording has."""

    format: Literal[FORMATS]  # type: ignore[valid-type]
    rows: int | None = Field(None, description="Rows of a table; milliseconds with opportunities of mahimahi.")
    length_s: float | None = Field(None, description="Null for a pattern of losses.")
    mean_bps: float | None = Field(None, description="Null without rates.")
    delay_ms: Delays | None = Field(None, description="Null without delays.")
    loss: float | None = Field(description="The mean share of lost packets; null without losses.")
    packets: int | None = Field(None, description="Of a pattern of losses: its length.")
    lost_packets: int | None = Field(None, description="Of a pattern of losses: those that are lost.")


class KeptRecording(RecordingNumbers, RecordingRow):
    """A recording that has just been read and is kept."""


class Outages(Wire):
    """Times without capacity: rows with a rate of 0, or more than 100 ms between opportunities."""

    count: int
    longest_s: float
    total_s: float


class ShownPart(Wire):
    """A part of a recording as means over intervals; a list is null if the recording does not have it."""

    from_s: float
    to_s: float
    every_s: float = Field(description="The length of an interval; the last one may be shorter.")
    rate_bps: list[float] | None = None
    delay_ms: list[float] | None = None
    loss: list[float] | None = Field(None, description="Shares of packets.")
    outage: list[float] | None = Field(None, description="Shares of the interval within outages.")


class RecordingShown(RecordingNumbers):
    """A recording in numbers, and a part of it to draw."""

    file: str
    highest_bps: float | None = Field(None, description="The highest rate of a row; of opportunities, over 0.1 s.")
    outages: Outages | None = Field(None, description="Null without rates.")
    shown: ShownPart | None = Field(None, description="Null for a pattern of losses, which has no times.")


class ModelParameter(Wire):
    """A parameter of a model."""

    parameter: str
    default: float
    least: float
    highest: float
    about: str


class RecordingModel(Wire):
    """A model that makes recordings."""

    model: Literal[MODELS]  # type: ignore[valid-type]
    about: str
    parameters: list[ModelParameter]


class ModelAsked(Wire):
    """What a model shall make, as in `recording: {model: ...}` of an experiment."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"parameters": {"snr_db": 15}, "length": "60 s", "seed": 1}]},
    )

    parameters: dict[Annotated[str, Field(max_length=64, pattern=TEXT)], float] = Field(
        default={}, max_length=100, description="Where it differs from its defaults."
    )
    length: Annotated[str, Field(max_length=64, pattern=TEXT)] = "60 s"
    seed: Annotated[int, Field(ge=0, lt=2**32), WHOLE] = 1
