"""Recordings of links: users send files once, and experiments name them by the hash of their content. Models need no file.

A file is written to disk as it arrives, read as a whole, and kept only if it is a recording. Nothing in it is ever run.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Path, Query, Request, Response
from fastapi.responses import FileResponse

from longhaul.api.auth import Admin, Reader, Runner
from longhaul.api.dependencies import TheLab
from longhaul.api.http.request_body import OCTETS, Reading, file_body, require_octets, write_body
from longhaul.api.http.responses import MADE, ROOT, tag
from longhaul.api.http.threads import in_long_thread, takes_long
from longhaul.api.routes.files import SentFile
from longhaul.api.schemas.recordings import (
    RECORDING_NAME,
    KeptRecording,
    ModelAsked,
    ModelParameter,
    RecordingModel,
    RecordingRow,
    RecordingShown,
)
from longhaul.orchestrator.execution import recording_library as library
from longhaul.orchestrator.recorded_links.formats import FORMATS, MODELS
from longhaul.orchestrator.recorded_links.generators import GENERATORS
from longhaul.orchestrator.spec.recordings import recording_file

router = APIRouter(route_class=Reading, tags=["recordings"])

_FULL: dict[int | str, dict[str, Any]] = {
    507: {"description": "The disk of the service has too little space."},
}
Sha256 = Annotated[
    str,
    Path(
        pattern=r"^[0-9a-f]{64}$",
        description="The SHA-256 of the file.",
        examples=["32a0ec06738f7c80a57bb061ffbd69f828e42edce36afb063a1b58d1118f88fb"],
    ),
]
Format = Annotated[
    str | None,
    Query(
        alias="format",
        pattern=f"^({'|'.join(FORMATS)})$",
        description="How it is read; by default a .csv file is a table, and every other one is mahimahi's.",
        examples=["table"],
    ),
]
Time = Annotated[str | None, Query(max_length=32, description="A time, as in 90s.", examples=["1s"])]


def _column(kind: str, example: str) -> Any:
    about = f"Of a table: its column of {kind}, with its unit, as in `{example}` or `NAME in UNIT`."
    return Query(max_length=200, description=about, examples=[example])


TimeColumn = Annotated[str | None, _column("times", "time_s")]
RateColumn = Annotated[str | None, _column("rates", "rate_mbps")]
DelayColumn = Annotated[str | None, _column("delays", "delay_ms")]
LossColumn = Annotated[str | None, _column("losses", "loss")]


class _Asked(NamedTuple):
    """How a file is read: its format, the names of the columns of a table by their kinds, and the time of each row without one."""

    kind: str | None
    columns: dict[str, str]
    step_ns: int | None


async def _how_read(
    kind: Format = None,
    step: Time = None,
    time: TimeColumn = None,
    rate: RateColumn = None,
    delay: DelayColumn = None,
    loss: LossColumn = None,
) -> _Asked:
    given = {"time": time, "rate": rate, "delay": delay, "loss": loss}
    columns = {column: name for column, name in given.items() if name is not None}
    return _Asked(kind, columns, None if step is None else library.duration_ns(step, "step"))


Asked = Annotated[_Asked, Depends(_how_read)]


@router.get("/recordings", summary="List recordings", operation_id="list_recordings")
@takes_long
def list_recordings(lab: TheLab, caller: Reader) -> list[RecordingRow]:
    """The recordings that are kept, in the order of their names."""
    rows = [one.as_dict() for one in library.kept_recordings(lab.settings)]
    return [RecordingRow(**row) for row in rows]


@router.post(
    "/recordings",
    status_code=201,
    summary="Send a recording",
    operation_id="send_recording",
    openapi_extra=file_body("time_s,rate_mbps,delay_ms,loss\n0,8,20,0\n1,24,40,0.1\n", "The file, uncompressed."),
    responses={**MADE, **_FULL},
)
async def send(
    request: Request,
    lab: TheLab,
    caller: Runner,
    response: Response,
    name: Annotated[
        str,
        Query(
            pattern=RECORDING_NAME,
            description="The name of its file, whose ending says its format.",
            examples=["link.csv"],
        ),
    ],
    asked: Asked,
) -> KeptRecording:
    """Keep a recording under the hash of its content, with its numbers; a malformed file is refused with line and column. Sending it twice changes nothing."""
    settings = lab.settings
    require_octets(request)
    with library.receiving(settings, name) as (file, path):
        await write_body(request, file)
        kept = await in_long_thread(library.keep_received, settings, path, *asked)
    response.headers["Location"] = f"{ROOT}/recordings/{kept.reference.removeprefix('sha256:')}"
    return KeptRecording(**kept.as_dict())


@router.get("/recordings/{sha256}", summary="Show a recording", operation_id="show_recording")
@takes_long
def show(
    sha256: Sha256,
    lab: TheLab,
    caller: Reader,
    asked: Asked,
    begin: Annotated[
        str, Query(alias="from", max_length=32, description="Where the shown part begins.", examples=["0s"])
    ] = "0s",
    length: Annotated[
        str | None,
        Query(
            alias="for",
            max_length=32,
            description="How long it is; by default the rest, at most an hour.",
            examples=["60s"],
        ),
    ] = None,
) -> RecordingShown:
    """Its length, rates, outages, delays and losses, and means over at most 400 intervals of a part of it."""
    found = library.described(
        lab.settings,
        f"sha256:{sha256}",
        *asked,
        library.duration_ns(begin, "from"),
        None if length is None else library.duration_ns(length, "for"),
    )
    return RecordingShown(**found)


@router.get(
    "/recordings/{sha256}/file",
    summary="Download a recording",
    operation_id="download_recording",
    response_class=FileResponse,
    responses={200: {"content": {OCTETS: {"schema": {"type": "string", "format": "binary"}}}}},
)
def download(sha256: Sha256, lab: TheLab, caller: Reader, request: Request) -> FileResponse:
    """Its file, as it was sent."""
    kept = library.kept_recording(lab.settings, f"sha256:{sha256}")
    file = recording_file(kept.reference, lab.settings.cache)
    return SentFile(file, request, media_type=OCTETS, filename=kept.name, headers={"ETag": tag(sha256)})


@router.delete("/recordings/{sha256}", status_code=204, summary="Delete a recording", operation_id="delete_recording")
def delete(sha256: Sha256, lab: TheLab, caller: Admin) -> None:
    """Delete a recording. Runs that replayed it stay, and can be rerun; experiments that name it are refused until it is sent again."""
    library.remove(lab.settings, f"sha256:{sha256}")


@router.get("/recording-models", summary="List models of recordings", operation_id="list_recording_models")
def list_models(caller: Reader) -> list[RecordingModel]:
    """The models that `recording: {model: ...}` may name, with their parameters."""
    return [
        RecordingModel(
            model=name,
            about=(one.parameters.__doc__ or "").partition("\n")[0],
            parameters=[
                ModelParameter(parameter=part.name, default=part.default, **part.metadata)
                for part in fields(one.parameters)
            ],
        )
        for name, one in GENERATORS.items()
    ]


@router.post("/recording-models/{model}", summary="Show a recording of a model", operation_id="show_recording_model")
def show_model(
    model: Annotated[
        str, Path(pattern=f"^({'|'.join(MODELS)})$", description="The name of a model.", examples=["lte"])
    ],
    asked: ModelAsked,
    lab: TheLab,
    caller: Reader,
) -> RecordingShown:
    """What a model makes, in numbers and to draw: its first five minutes if it is longer. Nothing is kept."""
    parameters = tuple(sorted(asked.parameters.items()))
    length_ns = library.duration_ns(asked.length, "length")
    return RecordingShown(**library.described_model(lab.settings, model, parameters, length_ns, asked.seed))
