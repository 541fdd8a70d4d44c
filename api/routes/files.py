"""The files of a kept run, to take along."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Path
from fastapi.responses import FileResponse

from api.answers import tag
from api.auth import Reader
from api.dependencies import TheLab
from api.reading import Reading
from api.routes.runs import RunId, kept_run_id
from api.turns import takes_long
from orchestrator.results.downloads import SOURCES

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

_TYPES = {
    ".json": "application/json",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
}


@router.get("/{id}/files", summary="List the files of a run", operation_id="list_files")
def files(key: RunId, lab: TheLab, caller: Reader) -> list[str]:
    """The names that can be downloaded: what is kept, and tables as CSV, made when first asked for."""
    kept_run_id(lab, key)
    return list(SOURCES)


@router.get(
    "/{id}/files/{name}",
    summary="Download a file of a run",
    operation_id="download_file",
    response_class=FileResponse,
    responses={206: {"description": "The part that `Range` asked for."}},
)
@takes_long
def download(
    key: RunId,
    name: Annotated[str, Path(max_length=64, description="One of the run's files.", examples=["flows.csv"])],
    lab: TheLab,
    caller: Reader,
) -> FileResponse:
    """Whole, or the parts that a `Range` header asks for."""
    kept_run_id(lab, key)
    file = lab.store.file(key, name)
    return FileResponse(
        file, media_type=_TYPES[file.suffix], filename=f"{key}-{name}", headers={"ETag": tag(key, name)}
    )
