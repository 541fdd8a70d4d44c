"""The report and the files of a kept run, or the log of a failed one."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Request, Response
from fastapi import Path as Name
from fastapi.responses import FileResponse, HTMLResponse
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from longhaul.api.auth import Reader
from longhaul.api.dependencies import TheLab
from longhaul.api.http.reports import report_answer
from longhaul.api.http.request_body import Reading
from longhaul.api.http.responses import tag
from longhaul.api.http.threads import takes_long
from longhaul.api.routes.runs import RunId, kept_run_id
from longhaul.orchestrator.analysis.formats.tables import FLENT_FILE, flent_content
from longhaul.orchestrator.results.guest_logs import LOG
from longhaul.orchestrator.results.packets import PACKETS
from longhaul.orchestrator.results.partial_runs import partial_stamp

router = APIRouter(route_class=Reading, prefix="/runs", tags=["runs"])

# From one byte to another, from one to the end, or a number of bytes at the end.
_RANGE = re.compile(r"(?=[0-9-]*[0-9])([0-9]{0,18})-([0-9]{0,18})")
_TYPES = {
    ".json": "application/json",
    ".txt": "text/plain",
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".zst": "application/zstd",
}


@router.get(
    "/{id}/report",
    summary="Read the report of a run",
    operation_id="report_of_run",
    response_class=HTMLResponse,
)
@takes_long
def report(key: RunId, lab: TheLab, caller: Reader) -> HTMLResponse:
    """A self-contained HTML page of a kept run: charts, measures, fidelity."""
    return report_answer(lab, [kept_run_id(lab, key)], {})


@router.get("/{id}/files", summary="List the files of a run", operation_id="list_files")
def files(key: RunId, lab: TheLab, caller: Reader) -> list[str]:
    """The names of files to download: the kept files, tables as CSV, written at the first request, the run as a data file of flent, and the packets of a run that captured some. For a failed run: its log, if there is one."""
    if lab.store.has_failed_log(key):
        return [LOG]
    key = kept_run_id(lab, key, whole=False)
    names = lab.store.file_names(key)
    return [*names, FLENT_FILE] if lab.store.is_kept(key) else names


@router.get(
    "/{id}/files/{name}",
    summary="Download a file of a run",
    operation_id="download_file",
    response_class=FileResponse,
    responses={206: {"description": "The parts in the `Range` header."}},
)
@takes_long
def download(
    key: RunId,
    name: Annotated[str, Name(max_length=64, description="One of the run's files.", examples=["flows.csv"])],
    lab: TheLab,
    caller: Reader,
    request: Request,
) -> Response:
    """Download a file, or the parts in a `Range` header; flent's data file is made for each request, as a whole."""
    if lab.store.has_failed_log(key):
        # A later attempt may write another log: no tag.
        if name != LOG:
            kept_run_id(lab, key)
        return FileResponse(lab.store.file(key, name), media_type=_TYPES[".txt"], filename=f"{key}-{name}")
    key = kept_run_id(lab, key, whole=False)
    if name == FLENT_FILE and lab.store.is_kept(key):
        held = {"Content-Disposition": f'attachment; filename="{key}-{name}"'}
        return Response(flent_content(lab.store, key), media_type="application/gzip", headers=held)
    file = lab.store.file(key, name)
    stamp = "" if lab.store.is_kept(key) else str(partial_stamp(lab.store.home, key))
    if name == PACKETS:
        # Those of another capture take its place.
        stamp = str(file.stat().st_mtime_ns)
    return SentFile(
        file,
        request,
        media_type=_TYPES[file.suffix],
        filename=f"{key}-{name}",
        headers={"ETag": tag(key, name, stamp)},
    )


class SentFile(FileResponse):
    """A file, or those parts of a request's Range header that exist."""

    def __init__(self, path: Path, request: Request, **more: Any) -> None:
        super().__init__(path, **more)
        self._wanted = _wanted(request.headers.get("range", ""), path.stat().st_size)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts."""
        headers = [(name, value) for name, value in scope["headers"] if name != b"range"]
        if self._wanted:
            headers.append((b"range", self._wanted.encode()))
        await super().__call__({**scope, "headers": headers}, receive, send)


def _wanted(asked: str, length: int) -> str:
    """The existing parts of a file that a Range header requests; empty, for the whole file, if the header is not valid.

    RFC 9110, 14.2: a header with other units or with a mistake is ignored; 416 is for a header of which no part exists.
    """
    unit, _, listed = asked.partition("=")
    parts = [part.strip() for part in listed.split(",") if part.strip()]
    ranges = [_RANGE.fullmatch(part) for part in parts]
    if unit.strip().lower() != "bytes" or not parts or not all(ranges):
        return ""
    there = []
    for first, last in (match.groups() for match in ranges if match):
        if first and last and int(first) > int(last):
            return ""
        if (first and int(first) < length) or (not first and int(last) and length):
            there.append(f"{first}-{last}")
    if not there:
        raise HTTPException(416, f"the file has {length} bytes", {"Content-Range": f"bytes */{length}"})
    return f"bytes={','.join(there)}"
